"""Types between runners and parsers: how a test run is started, and its output and reports."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from tools.testing.report import Findings

MAX_REPORT = 64 << 20
"""Bytes of a report file or output that are parsed; a suite of 100,000 tests writes about 30 MB."""


COPY = "copy of the project"
"""Fact of a workspace whose root is a copy, which the sandbox does not show by itself."""


LISTING = "tests are listed"
"""Fact of a workspace whose tests are collected and not run, by runners that can tell them apart."""

SUITE_NAMES = "names of the suite"
"""Fact of a workspace: names of the tests that passed, and of those that were skipped, in the last whole run."""

ADDED_PACKAGES = "packages run beside the suite"
"""Fact of a workspace: folders of packages that the suite leaves out, and that were run since files of them changed."""

SPLIT_PACKAGES = "packages run one by one"
"""Fact of a workspace: Python packages that are run from their own folders, since they cannot be run together; () if
that was no better."""

KNOWN_TESTS = "names of known tests"
"""Fact of a workspace: a frozenset of the names of all tests in the last runs, by which a target is a whole name."""

REMEMBERED_TESTS = "remembered test command"
"""Fact of a workspace: an asynchronous function that returns the command that ran the tests here before, or ""."""

TOLD_TESTS = "told test command"
"""Fact of a workspace: the command that runs the tests, by the person's prompt."""

LONGEST_LINE = 1 << 20
"""Bytes of a line that is parsed as one: an output without line ends would be one of megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """Input of a parser: output and reports of a finished run.

    text: the part of the output kept in memory
    full_output: file with all of the output when `text` is truncated
    report_folder: folder configured for the runner's report
    start_time: time.time() of the start, to tell a fresh report from an old one
    """

    root: Path
    returncode: int
    text: str
    full_output: Path | None
    report_folder: Path
    start_time: float

    def read_report_file(self, name: str) -> bytes:
        """Return a report file's content, b"" if there is none."""
        return read_report(self.report_folder / name)

    def stream_lines(self) -> Iterator[str]:
        """Yield all lines of the output, from the file when it was too long for memory."""
        if self.full_output is None:
            yield from self.text.splitlines()
            return
        seen = 0
        with self.full_output.open("rb") as file:
            while line := file.readline(LONGEST_LINE):
                seen += len(line)
                if seen > MAX_REPORT:
                    return
                yield line.decode("utf-8", "replace").rstrip("\r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to run a project's tests and read the result.

    command: as a user would type it, without options for our report
    has_count: a successful run reports its number of tests, so a run without a number ran none
    reports: folder configured for the runner's report, if it is not that of the whole run
    is_trusted: the user named the command, so that its exit status is enough where no number is reported
    folder: of the package from which it runs, relative to the workspace; "" for the root
    evidence: the file, setting or script by which the runner was chosen
    can_list: with the fact LISTING, tests are collected and not run
    """

    runner: str
    argv: tuple[str, ...]
    command: str
    parse: Callable[[FinishedRun], Findings]
    has_count: bool = True
    is_trusted: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    reports: Path | None = None
    folder: str = ""
    evidence: str = ""
    can_list: bool = False


def read_report(path: Path) -> bytes:
    """Read a report that a sandboxed child wrote. Links are not followed: this process is not sandboxed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # not written, or not a plain file: the run has no report
        return b""
    with os.fdopen(descriptor, "rb") as file:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(MAX_REPORT) if regular else b""
