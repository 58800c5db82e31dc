"""Commits of a repository that look like fixes: they change source and tests, and say that they mend something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from packages.evaluation.suites.source_folder import GitHistory
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

SAYS_FIX = compile_lazily(
    r"\b(fix\w*|bug\w*|regression|crash\w*|wrong\w*|incorrect\w*|correct\w*|broken|fail\w*|issue|closes?|resolves?)\b",
    re.IGNORECASE,
)

MOST_SOURCES, MOST_TESTS, MOST_OTHERS = 5, 4, 20
"""Files of a commit; beyond these it is a rewrite."""

SOURCES = frozenset(
    (
        *(".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".kt", ".rb"),
        *(".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".php", ".cs", ".swift"),
    )
)
"""Suffixes of programs."""

LANGUAGES = {
    ".py": "python", ".go": "go", ".rs": "rust", ".java": "java", ".rb": "ruby", ".ts": "typescript",
    ".tsx": "typescript", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".kt": "kotlin",
}  # fmt: skip

_TEST_PATH = compile_lazily(
    r"(^|/)(tests?|testing|__tests__|spec|specs)/|(^|/)(test_[^/]*|tests?|conftest)\.py$|[._-](test|tests|spec)\.\w+$"
    r"|_test\.\w+$|(^|/)src/test/|Tests?\.(java|kt|cs)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixCommit:
    """A commit that may be a fix. sources, tests: programs that it changes; data: other files beside the tests;
    body: of its message"""

    commit: str
    subject: str
    body: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    data: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """Language of the first source, "" if its suffix is not known."""
        return LANGUAGES.get(PurePosixPath(self.sources[0]).suffix, "")


def is_test_path(path: str) -> bool:
    """Return whether a file is one of the tests, by the habits of many languages."""
    return _TEST_PATH.search(path) is not None


def list_fix_commits(
    history: GitHistory, revision: str = "HEAD", newest: int | None = None
) -> Iterator[FixCommit]:
    """Yield commits that change programs and tests and say that they mend something, the newest first.

    newest: number of commits that are looked at. Raises UserError.
    """
    limit = [] if newest is None else [f"-{newest}"]
    log = history.run(
        *("log", "--no-merges", "--name-status", "--no-renames", "--format=%x00%H%x01%s%x01%b%x02", *limit),
        *("--end-of-options", revision),
    )
    for record in log.decode("utf-8", "replace").split("\0")[1:]:
        head, _, files = record.partition("\x02")
        commit, subject, body = head.split("\x01", 2)
        if not SAYS_FIX.search(f"{subject}\n{body}"):
            continue
        found = _sort_files(files)
        if found is not None:
            sources, tests, data = found
            yield FixCommit(
                commit=commit, subject=subject, body=body.strip(), sources=sources, tests=tests, data=data
            )


def _sort_files(listing: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None:
    """Return sources, tests and the tests' data, None if the commit is no fix of a few files."""
    named = [line.split("\t", 1) for line in listing.strip().splitlines() if "\t" in line]
    programs = {path: status for status, path in named if PurePosixPath(path).suffix in SOURCES}
    tests = [path for path, status in programs.items() if is_test_path(path) and status in "AM"]
    sources = [path for path in programs if not is_test_path(path)]
    others = [
        path for status, path in named if path not in programs and status in "AM" and is_test_path(path)
    ]
    few = 0 < len(sources) <= MOST_SOURCES and 0 < len(tests) <= MOST_TESTS and len(others) <= MOST_OTHERS
    if not few or any(programs[path] != "M" for path in sources):
        return None
    return tuple(sources), tuple(tests), tuple(others)
