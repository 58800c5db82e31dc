"""Coverage spectrum: lines that each test runs, and outcomes of the tests before any patch."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

Standing = Literal["passed", "failed", "skipped", "unsteady", "unknown"]

# A test whose CPU time is hardly measurable still gets this much before it counts as endless.
SHORTEST_LIMIT = 0.1
# A patch may make a test this many times slower: correct programs are often slower than wrong ones.
SLOWDOWN = 10.0


_NO_NETWORK = compile_lazily(
    r"gaierror|Name or service not known|[Nn]ame resolution|nodename nor servname|Network is unreachable|"
    r"No route to host|NameResolutionError"
)
_NO_WRITING = compile_lazily(
    r"Read-only file system|PermissionError: .*Permission denied|\[Errno (?:13|30)\]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame of a failing test's traceback within the workspace."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One test with its outcome before any patch.

    file: the test file; empty for examples in docstrings
    standing: "unsteady" if its outcome varies between runs, or when run alone
    is_endless: it failed by not terminating
    has_stable_message: it failed with the same message each time
    texts: differing actual and expected texts of a failed comparison; their order is a matter of convention
    limit: CPU seconds it may use when it judges a patch
    cpu: CPU seconds that it used, as far as known
    """

    __test__ = False

    index: int
    id: str
    file: str
    standing: Standing
    is_endless: bool = False
    error: str = ""
    message: str = ""
    has_stable_message: bool = True
    texts: tuple[tuple[str, str], ...] = ()
    frames: tuple[Frame, ...] = ()
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    seconds: float = 0.0
    limit: float = 1.0
    cpu: float = 0.0

    @property
    def collection_file(self) -> str:
        """The file that a session needs to collect this test; empty if unknown."""
        return self.file or (self.id.partition("::")[0] if "::" in self.id else "")

    @property
    def needs_network(self) -> bool:
        """Whether it failed for lack of a network, by its exception (resolver and socket errors of libc)."""
        return self.standing == "failed" and bool(_NO_NETWORK.search(f"{self.error}: {self.message}"))

    @property
    def needs_write_access(self) -> bool:
        """Whether it failed because it may not write: in a search tests may write to folders of their own only."""
        return self.standing == "failed" and bool(_NO_WRITING.search(f"{self.error}: {self.message}"))

    @property
    def slowness(self) -> int:
        """Its slowness in steps of a factor of four, so that small noise of the clock makes no difference."""
        return max(0, int(math.log(max(self.cpu, 1e-9) / 0.004, 4)) + 1) if self.cpu > 0.004 else 0

    @property
    def reason(self) -> str:
        """The failure in one line."""
        if self.is_endless:
            return "does not come to an end"
        first = next(iter(self.message.splitlines()), "")
        return f"{self.error}: {first}" if self.error else first or "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStep:
    """A statement that made a value, with the plain values after it."""

    path: str
    line: int
    code: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """All tests of one version of the workspace.

    imported: lines that ran while modules were imported
    complete: every test was run; False when there was no time for all of them
    why: the statements behind the values at which a test failed, last first; and that test
    """

    tests: Sequence[Test]
    imported: Mapping[str, frozenset[int]]
    complete: bool
    why: tuple[str, tuple[SliceStep, ...]] = ("", ())

    def select_tests(self, *standings: Standing) -> list[Test]:
        return [test for test in self.tests if test.standing in standings]

    def list_sources(self) -> list[str]:
        """Return source files that tests ran, without test files, sorted."""
        found = {path for test in self.tests for path in test.lines}
        own_tests = {test.file for test in self.tests}
        return sorted(path for path in found if path not in own_tests and not is_test_file(path))


def is_test_file(path: str) -> bool:
    """Return whether the file belongs to the tests: such files are never patched."""
    pure = PurePosixPath(path)
    words = {word for part in pure.parts[:-1] for word in re.split(r"[^a-z]+", part.lower())}
    if {"tests", "test", "testing", "testcase", "testcases", "testutils"} & words:
        return True
    return bool(
        re.match(
            r"(test_.*|.*_tests?|tests?|conftest|_?testing|_?test_?(utils?|case|helpers?))\.py$", pure.name
        )
    )


def load_spectrum(
    records: Path,
    ids: Sequence[str],
    files: Sequence[str],
    imported: Mapping[str, list[int]],
    unsteady: frozenset[str] = frozenset(),
) -> Spectrum:
    """Read the records of the baseline; `unsteady` are tests known as such from an earlier one.

    Raises OSError, ValueError, KeyError, TypeError or AttributeError when the records were tampered with.
    """
    runs = _read_records(records)
    quick = [
        _get_cpu_seconds(runs, index)
        for index in runs.get("trace", {})
        if _get_outcome(runs, "trace", index) == "passed"
    ]
    usual = max(quick, default=0.0)
    tests = [
        _build_test(runs, index, name, file, usual)
        for index, (name, file) in enumerate(zip(ids, files, strict=True))
    ]
    tests = [replace(test, standing="unsteady") if test.id in unsteady else test for test in tests]
    return Spectrum(
        tests=tests,
        imported={path: frozenset(lines) for path, lines in imported.items()},
        complete=len(runs.get("trace", {})) == len(ids),
        why=next(
            (
                (ids[index], tuple(SliceStep(**each) for each in record.get("steps", ())))
                for index, record in runs.get("why", {}).items()
            ),
            ("", ()),
        ),
    )


Runs = dict[str, dict[int, dict[str, Any]]]


def _read_records(records: Path) -> Runs:
    """Return run name → test index → record. The tests themselves could have put anything there."""
    runs: Runs = {}
    descriptor = os.open(records, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        for line in file:
            record = json.loads(line)
            runs.setdefault(record["run"], {})[record["test"]] = record
    return runs


def _get_outcome(runs: Runs, run: str, index: int) -> str:
    return str(runs.get(run, {}).get(index, {}).get("outcome", ""))


def _get_cpu_seconds(runs: Runs, index: int) -> float:
    """Return CPU seconds without tracing, where known."""
    record = runs.get("check", {}).get(index) or runs.get("trace", {}).get(index, {})
    return float(record.get("cpu", 0.0))


def _build_test(runs: Runs, index: int, name: str, file: str, usual: float) -> Test:
    record = runs.get("trace", {}).get(index)
    if record is None:
        return Test(index=index, id=name, file=file, standing="unknown")
    standing = _determine_standing(runs, index)
    endless = record["outcome"] == "timeout"
    cpu = usual if endless else _get_cpu_seconds(runs, index)
    frames = tuple(
        Frame(path=path, line=line, function=name) for path, line, name in record.get("frames", ())
    )
    return Test(
        index=index,
        id=name,
        file=file,
        standing=standing,
        is_endless=endless,
        error=record.get("type", "") or ("crash" if record["outcome"] == "crashed" else ""),
        message=record.get("message", ""),
        texts=tuple((str(one), str(other)) for one, other in record.get("texts", ())),
        has_stable_message=_normalize_message(record)
        == _normalize_message(runs.get("check", {}).get(index, record)),
        frames=frames,
        lines={path: frozenset(lines) for path, lines in record.get("lines", {}).items()},
        seconds=float(record.get("wall", 0.0)),
        cpu=cpu,
        limit=SHORTEST_LIMIT + SLOWDOWN * (usual if standing == "failed" else cpu),
    )


def _normalize_message(record: dict[str, Any]) -> str:
    """Return a failure's message without addresses of objects."""
    return re.sub(r"0[xX][0-9a-fA-F]+", "0x", record.get("message", ""))


_BAD = frozenset({"failed", "timeout", "crashed"})


def _determine_standing(runs: Runs, index: int) -> Standing:
    traced = _get_outcome(runs, "trace", index)
    if traced == "skipped":
        return "skipped"
    if traced == "timeout":  # a plain run shows whether tracing alone made it slow
        slow = _get_outcome(runs, "slow", index)
        return "unsteady" if slow and slow not in _BAD else "failed"
    others = [_get_outcome(runs, run, index) for run in ("check", "alone")]
    if any(other == "skipped" or (other in _BAD) != (traced in _BAD) for other in others if other):
        return "unsteady"
    return "failed" if traced in _BAD else "passed"


def select_by_targets(tests: Iterable[Test], targets: Sequence[str]) -> list[Test]:
    """Return the tests that the targets name: a file, a folder, a test id or the beginning of one; all if none."""
    wanted = [_to_dotted_name(target) for target in targets]
    return [
        test
        for test in tests
        if not wanted or any(_matches_target(_to_dotted_name(test.id), each) for each in wanted)
    ]


def _to_dotted_name(name: str) -> str:
    """Return one spelling for pytest's names with slashes and colons and unittest's with dots."""
    head, bracket, parameters = name.partition("[")
    head = head.removeprefix("./").rstrip("/").replace(".py::", "::").removesuffix(".py")
    return head.replace("::", ".").replace("/", ".") + bracket + parameters


def _matches_target(test: str, target: str) -> bool:
    return test == target or (test.startswith(target) and test[len(target)] in ".[")
