"""Bugs out of a project's history: commits that change source and tests, the tests failing before and passing after.

A clone is read by git and never changed; what a bug needs is unpacked into a folder of its own.
"""

from __future__ import annotations

import ast
import difflib
import io
import json
import os
import posixpath
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from tools.repair.localize.coverage_spectrum import is_test_file

SAYS_FIX = re.compile(
    r"\b(fix\w*|bug\w*|regression|crash\w*|wrong\w*|incorrect\w*|correct\w*|broken|fail\w*|issue|closes?|resolves?)\b",
    re.IGNORECASE,
)
# Beyond these a commit is a rewrite, not a fix.
MOST_FILES, MOST_TEST_FILES = 5, 4
# Seconds for the tests that a fix changes; those that take longer make no benchmark.
TESTS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A fix in a project's history, to be found again from the tests that came with it.

    sources, tests: files that the fix changes; the tests are given to the engine as they are after it
    failing: ids of the tests that fail before and pass after
    edits: lines that the fix adds, removes or replaces, of programs written one statement a line without comments,
        annotations and docstrings
    sampled: one of those drawn from fixes of any size; the others were taken for being small
    """

    project: str
    clone: str
    commit: str
    subject: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    failing: tuple[str, ...]
    edits: int
    sampled: bool

    @property
    def name(self) -> str:
        return f"{self.project}@{self.commit[:10]}"

    @property
    def half(self) -> str:
        return half_of(self.commit)

    @property
    def in_reach(self) -> bool:
        """The fix is one or two single-line edits."""
        return self.edits in (1, 2)

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    @staticmethod
    def read(line: str) -> Bug:
        data: dict[str, Any] = json.loads(line)
        return Bug(**{key: tuple(v) if isinstance(v, list) else v for key, v in data.items()})


def half_of(commit: str) -> str:
    return "development" if sha256(commit.encode()).digest()[0] % 2 else "held-out"


def mine(
    clone: Path, python: Path, *, newest: int, sample: int, small: int, attempts: int, half: str = "both"
) -> Iterator[Bug]:
    """Bugs of one clone: the first `sample` of any size in the order of their hashes, then `small` ones in reach.

    newest: how many commits are looked at
    attempts: commits whose tests are run at most
    half: development, held-out or both
    """
    of_half = (each for each in _fixes(clone, newest) if half in ("both", half_of(each[0])))
    found = sorted(of_half, key=lambda each: sha256(each[0].encode()).hexdigest())
    left = attempts
    taken: set[str] = set()
    for sampled, most in ((True, sample), (False, small)):
        share = left // 2 if sampled else left
        made = 0
        for commit, subject, sources, tests in found:
            if made == most or not share or commit in taken:
                if made == most or not share:
                    break
                continue
            edits = fix_size(clone, commit, sources)
            if not edits or (not sampled and edits > 2):
                continue
            taken.add(commit)
            share, left = share - 1, left - 1
            failing = failing_tests(clone, python, commit, sources, tests)
            if failing:
                made += 1
                yield Bug(
                    project=clone.name if clone.name != "repo" else clone.parent.name.split("+")[-1],
                    clone=str(clone),
                    commit=commit,
                    subject=subject,
                    sources=tuple(sources),
                    tests=tuple(tests),
                    failing=failing,
                    edits=edits,
                    sampled=sampled,
                )


def unpack(bug: Bug, folder: Path) -> None:
    """The project as it was before the fix, with the tests that came with it."""
    unpacked(Path(bug.clone), f"{bug.commit}^", folder)
    for path in bug.tests:
        _write(folder / path, blob(Path(bug.clone), bug.commit, path))


def fix_size(clone: Path, commit: str, sources: Sequence[str]) -> int:
    """Lines of plain programs that a commit adds, removes or replaces; 0 when it changes comments and the like."""
    edits = 0
    for path in sources:
        before = plain(blob(clone, f"{commit}^", path).decode("utf-8", "replace")).split("\n")
        after = plain(blob(clone, commit, path).decode("utf-8", "replace")).split("\n")
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        edits += sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")
    return edits


def plain(text: str) -> str:
    """A program one statement a line, without comments, annotations and docstrings; "" when it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # written for another Python
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.Lambda):
            kept = [each for each in body if not _is_text(each)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(tree))


def outcomes(folder: Path, python: Path, targets: Sequence[str], seconds: float = TESTS) -> dict[str, str]:
    """Test id → passed, failed, skipped or not-collected, by a plain run of pytest; empty when it does not end."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "outcomes.json"
        source = os.pathsep.join([str(folder / "src"), str(Path(__file__).parent)])
        environment = {**os.environ, "PYTHONPATH": source, "OUTCOMES": str(report), "PYTHONHASHSEED": "0"}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # most of the time is theirs
        options = ("-q", "--tb=no", "-p", "outcomes_plugin", "-p", "no:cacheprovider", *_plugins(python))
        # The same names, whichever files are named: without settings pytest takes their folder for the root.
        options = (*options, f"--rootdir={folder}", "--continue-on-collection-errors")
        command = [str(python), "-m", "pytest", *options, *targets]
        try:
            subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=seconds, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}
        found: dict[str, str] = json.loads(report.read_text()) if report.exists() else {}
        return found


@cache
def _plugins(python: Path) -> tuple[str, ...]:
    """Options for the plugins that many projects' tests cannot do without."""
    asked = subprocess.run([str(python), "-c", "import pytest_mock"], capture_output=True, check=False)
    return ("-p", "pytest_mock") if asked.returncode == 0 else ()


def blob(clone: Path, commit: str, path: str) -> bytes:
    """A file's bytes at a commit, empty if it was not there."""
    done = subprocess.run(
        ["git", "-C", clone, "cat-file", "blob", f"{commit}:{path}"], capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else b""


def _fixes(clone: Path, newest: int) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """(commit, subject, sources, tests) of commits that say that they mend something and change both."""
    log = subprocess.run(
        ["git", "-C", clone, "log", "--no-merges", f"-{newest}", "--name-status", "--no-renames",
         "--format=%x00%H%x01%s%x01%b%x02"],
        capture_output=True, check=True, encoding="utf-8", errors="replace",
    ).stdout  # fmt: skip
    for record in log.split("\0")[1:]:
        head, _, files = record.partition("\x02")
        commit, subject, body = head.split("\x01")
        if not SAYS_FIX.search(f"{subject}\n{body}"):
            continue
        named = [line.split("\t") for line in files.strip().splitlines() if "\t" in line]
        programs = {path: status for status, path in named if path.endswith(".py")}
        tests = [path for path in programs if is_test_file(path) and programs[path] in "AM"]
        sources = [path for path in programs if not is_test_file(path)]
        changed = all(programs[path] == "M" for path in sources)
        data = [
            p
            for s, p in named
            if not p.endswith(".py") and s in "AM" and is_test_file(str(Path(p).with_suffix(".py")))
        ]
        if 0 < len(sources) <= MOST_FILES and 0 < len(tests) <= MOST_TEST_FILES and changed:
            yield commit, subject, sources, tests + data


def failing_tests(
    clone: Path, python: Path, commit: str, sources: Sequence[str], tests: Sequence[str]
) -> tuple[str, ...]:
    """Tests that fail without the fix and pass with it; none unless all that were collected after it were before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        unpacked(clone, f"{commit}^", folder)
        for path in tests:
            _write(folder / path, blob(clone, commit, path))
        targets = [path for path in tests if path.endswith(".py") and not path.endswith("conftest.py")]
        before = outcomes(folder, python, targets)
        failed = {test for test, outcome in before.items() if outcome == "failed"}
        if not failed or "not-collected" in before.values():
            return ()
        for path in sources:
            _write(folder / path, blob(clone, commit, path))
        after = outcomes(folder, python, targets)
        return tuple(sorted(test for test in failed if after.get(test) == "passed"))


def unpacked(clone: Path, commit: str, folder: Path) -> None:
    archive = subprocess.run(
        ["git", "-C", clone, "archive", "--format=tar", commit], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        extract(tar, folder)


def extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract what lies inside of `folder` and leads nowhere else. Raises tarfile.TarError for all else.

    Python's own filter does that from 3.11.4 on; before, the members are checked here.
    """
    if hasattr(tarfile, "data_filter"):
        tar.extractall(folder, filter="data")
        return
    for member in tar.getmembers():
        check_member(member)
    tar.extractall(folder)


def check_member(member: tarfile.TarInfo) -> None:
    """Raise tarfile.TarError for a device, or for a path or a link that leads out of the folder."""
    paths = [member.name]
    if member.issym():
        paths.append(posixpath.join(posixpath.dirname(member.name), member.linkname))
    elif member.islnk():
        paths.append(member.linkname)
    elif not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"{member.name!r} is no file, folder or link")
    for path in map(posixpath.normpath, paths):
        if path.startswith("/") or path.split("/")[0] == "..":
            raise tarfile.TarError(f"{member.name!r} leads out of the folder")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _is_text(statement: Any) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def load(path: Path) -> list[Bug]:
    return [Bug.read(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def halves(bugs: Sequence[Bug]) -> Mapping[str, list[Bug]]:
    return {half: [each for each in bugs if each.half == half] for half in ("development", "held-out")}
