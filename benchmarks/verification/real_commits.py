"""Real commits, read from the git folders of public repositories. Nothing of them is run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tools.lint.honesty.file_changes import FileChange, find_role

MOST_FILES = 60
"""Files of a commit: larger ones are imports of code and renamings of everything."""

LARGEST = 400_000
"""Bytes of a file that is read."""

MOST_OTHERS = 6
"""Unchanged test files that are read with a commit, as the verifier does with a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit. files: path, blob before, blob after ("" for none)"""

    repository: str
    name: str
    message: str
    files: tuple[tuple[str, str, str], ...]


def describe_commit(message: str) -> str:
    """Return what a commit's message asks for: its subject and prose up to the first list or trailer.

    A squashed commit goes on with the list of its steps, "make the tests pass" among them: a log, not a request.
    """
    kept: list[str] = []
    for place, line in enumerate(message.strip().splitlines()):
        if place and re.match(r"\s*(?:[*+-]\s|\d+[.)]\s|-{3,}|\*{3,}|[A-Z][\w-]+-by:)", line):
            break
        kept.append(line)
    return "\n".join(kept).strip()


def list_commits(repo: Path, name: str, wanted: int) -> list[Commit]:
    """Return commits that change or delete a test that was there, spread over the history.

    Up to `wanted` change code as well, and a quarter as many change tests alone.
    """
    found = [
        each
        for each in list_any_commits(repo, name)
        if any(old and find_role(path) in ("test", "expected") for path, old, _ in each.files)
    ]
    with_code = [each for each in found if any(find_role(path) == "product" for path, _, _ in each.files)]
    alone = [each for each in found if all(find_role(path) != "product" for path, _, _ in each.files)]
    return _spread(with_code, wanted) + _spread(alone, wanted // 4)


def list_any_commits(repo: Path, name: str) -> list[Commit]:
    """Return the commits of the first-parent history with one parent that are not too large, the newest first."""
    options = ("--no-merges", "--min-parents=1", "--raw", "--no-abbrev", "--no-renames", "--first-parent")
    output = _git(repo, "log", *options, "-n", "20000", "--format=%x01%H%x02%B%x02").decode(
        "utf-8", "replace"
    )
    found = []
    for part in output.split("\x01")[1:]:
        commit, message, rows = part.split("\x02", 2)
        files = tuple(_parse_rows(rows))
        if 0 < len(files) <= MOST_FILES:
            found.append(Commit(repository=name, name=commit, message=message, files=files))
    return found


def _spread(commits: list[Commit], wanted: int) -> list[Commit]:
    return commits[:: max(1, len(commits) // max(wanted, 1))][:wanted]


def _parse_rows(rows: str) -> Iterator[tuple[str, str, str]]:
    for row in rows.splitlines():
        if row.startswith(":"):
            head, path = row.split("\t", 1)
            before, after, old, new, _ = head[1:].split(" ")
            if "120000" in (before, after) or "160000" in (before, after):
                continue
            yield path.strip('"'), old if old.strip("0") else "", new if new.strip("0") else ""


def read_files(
    repo: Path, commits: Sequence[Commit]
) -> Iterator[tuple[Commit, list[FileChange], dict[str, str]]]:
    """Yield each commit with its files' contents, and with unchanged tests of the same names."""
    with subprocess.Popen(
        ["git", "-C", str(repo), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        for commit in commits:
            files = [
                FileChange(path=path, before=_read(reader, old), after=_read(reader, new))
                for path, old, new in commit.files
            ]
            files = [each for each in files if each.before is not None or each.after is not None]
            others = {}
            for path, blob in _list_related_tests(repo, commit):
                if text := _read(reader, blob):
                    others[path] = text
            yield commit, files, others
        assert reader.stdin is not None
        reader.stdin.close()


def _list_related_tests(repo: Path, commit: Commit) -> list[tuple[str, str]]:
    stems = {
        PurePosixPath(path).stem.lower()
        for path, _, new in commit.files
        if new and find_role(path) == "product"
    } - {"__init__", "index", "main"}
    changed = {path for path, _, _ in commit.files}
    if not stems:
        return []
    found = []
    for row in _git(repo, "ls-tree", "-r", commit.name).decode("utf-8", "replace").splitlines():
        head, _, path = row.partition("\t")
        if path in changed or find_role(path) != "test":
            continue
        if any(stem in PurePosixPath(path).stem.lower() for stem in stems):
            found.append((path, head.split()[2]))
    return found[:MOST_OTHERS]


def _read(reader: subprocess.Popen[bytes], blob: str) -> str | None:
    if not blob:
        return None
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(f"{blob}\n".encode())
    reader.stdin.flush()
    header = reader.stdout.readline().split()
    if len(header) < 3:
        return None
    content = reader.stdout.read(int(header[2]) + 1)[:-1]
    if header[1] != b"blob" or len(content) > LARGEST or b"\0" in content:
        return None
    return content.decode("utf-8", "replace")


def _git(repo: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repo), *arguments], check=True, capture_output=True).stdout
