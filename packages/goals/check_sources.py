"""Files by which a goal's check judges: scripts that it runs and files that define its targets.

A check that passes is run once more, in a copy of the project that has them as the person wrote them: work that
changed only what is asked of it is told from work that does what is asked.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command import Command, Completed
from tools.core.text import join_names
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.shell.shell_tool import MAX_TIMEOUT
from tools.testing.launch import FinishedRun
from tools.testing.output_parsers import parse_any
from tools.testing.report import Findings

_DEFINES: Mapping[str, tuple[str, ...]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "bun": ("package.json",),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "tox": ("tox.ini", "setup.cfg", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "rake": ("Rakefile",),
    "invoke": ("tasks.py",),
    "composer": ("composer.json",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "gradlew": ("build.gradle", "build.gradle.kts"),
    "mvn": ("pom.xml",),
    "pre-commit": (".pre-commit-config.yaml",),
}
"""Files in which a program finds what its targets run."""

_SHELL = compile_lazily(rb"#![^\n]*\b(?:sh|bash|zsh|dash|ksh|fish)\b")
_CHECKS = compile_lazily(
    r"(?:^|[._-])(?:checks?|checker|verify|verifier|validate|validator|assert|ci|gate|accept\w*|smoke|judge|grade\w*)"
    r"(?:[._-]|$)",
    re.IGNORECASE,
)
"""Words in the name of a program that judges; other programs that a check runs may be the work itself."""
_WORDS = compile_lazily(r"[^\s'\"=:;&|<>()`$]+")
_LARGEST = 200_000

MOST_NAMED = 3


@dataclass(slots=True)
class CheckSources:
    """The judging files of one check, as they were before the work. text: of the goal, which may ask to change them"""

    workspace: Workspace
    command: str
    text: str
    _before: dict[str, bytes] | None = None

    def remember(self) -> None:
        """Read the files, the first time; of those that the session has changed, what was there before it."""
        if self._before is None:
            self._before = {}
            self._add_sources(self.command)

    def list_changed(self) -> list[str]:
        """Return those that differ now, other than those that the goal names."""
        return sorted(
            path
            for path, content in (self._before or {}).items()
            if PurePosixPath(path).name not in self.text and self._read(path) != content
        )

    async def find_failure(self) -> str:
        """Return how the check fails in a copy that has the changed ones as they were; "" if it passes, if none has
        changed, or if no copy can be made."""
        if not (changed := self.list_changed()):
            return ""
        done = await self._run_with({path: (self._before or {})[path] for path in changed})
        if done is None or _passes(done):
            return ""
        return f"{self._describe(done)} with {join_names(changed, MOST_NAMED)} as before the work"

    async def find_narrowing(self) -> tuple[str, bool]:
        """Return what the check lacks by files that no commit has, "" if nothing, and whether that counts.

        It lacks what fails with these files as the last commit has them, if more tests run then, or none is counted.
        """
        from agent.verify.uncommitted_setup import find_uncommitted_setup

        at = self.workspace
        setup = await asyncio.to_thread(
            find_uncommitted_setup,
            at,
            [self.text],
            before=at.changes.originals,
            judging=(self._before or {}).keys(),
        )
        if setup is None or (done := await self._run_with(setup.versions)) is None or _passes(done):
            return "", False
        now = await self._run_with({})
        if (
            now is None
            or not _passes(now)
            or ((most := _count_tests(now, at.root)) and _count_tests(done, at.root) <= most)
        ):
            return "", False
        return f"{self._describe(done)} as in the last commit: {setup.describe()}", setup.is_left_behind

    async def _run_with(self, versions: Mapping[str, bytes | None]) -> Completed | None:
        """Run the check in a copy with other versions of some files; None if no copy can be made."""
        from tools.testing.project_copies import TooLarge, create_copies

        at = self.workspace
        try:
            async with create_copies(at, 1) as [copy]:
                root = copy.at.root
                states = {path: (content, None) for path, content in versions.items()}
                await asyncio.to_thread(copy.restore, states)
                return await at.sandbox.run(
                    Command(
                        argv=("bash", "-c", self.command.replace(str(at.root), str(root))),
                        cwd=root,
                        env=shell_environment(),
                        timeout=MAX_TIMEOUT,
                        scope="read-only",
                        writable=(root,),
                    )
                )
        except (TooLarge, OSError, UserError):
            return None

    def _describe(self, done: Completed) -> str:
        return describe_run(done.stdout.text(), done.returncode, done.ended, self.workspace.root)

    def _add_sources(self, text: str) -> None:
        """Add the judging files that a text names, and those that these name."""
        for path in _list_sources(text):
            if self._before is None or path in self._before or (content := self._read_before(path)) is None:
                continue
            name, is_shell = PurePosixPath(path).name, path.endswith((".sh", ".bash", ".mk"))
            defines = any(name in names for names in _DEFINES.values())
            if defines or is_shell or _SHELL.match(content) or _CHECKS.search(name):
                self._before[path] = content
                if len(content) <= _LARGEST:
                    self._add_sources(content.decode("utf-8", "replace"))

    def _read_before(self, path: str) -> bytes | None:
        return self.workspace.changes.originals.get(path, self._read(path))

    def _read(self, path: str) -> bytes | None:
        try:
            return self.workspace.files.read(path) if self.workspace.files.is_file(path) else None
        except (OSError, ValueError):
            return None


def describe_run(text: str, status: int, ended: str, root: Path) -> str:
    """Return the failing tests of a run by number and name, or the exit status of any other command."""
    if ended != "exited":
        return ended
    found = _parse(text, status, root)
    failed = found.failed + found.errors
    if status == 0:
        return f"{found.passed} passed" if found.counted and found.passed else "exit 0"
    if not (found.counted and failed):
        return f"exit {status}"
    names = list(dict.fromkeys(each.id for each in found.failures))
    return f"{failed} failed ({join_names(names, MOST_NAMED)})" if names else f"{failed} failed"


def _parse(text: str, status: int, root: Path) -> Findings:
    return parse_any(
        FinishedRun(
            root=root,
            returncode=status,
            text=text,
            full_output=None,
            report_folder=root,
            start_time=time.time(),
        )
    )


def _passes(done: Completed) -> bool:
    return done.returncode == 0 and done.ended == "exited"


def _count_tests(done: Completed, root: Path) -> int:
    found = _parse(done.stdout.text(), done.returncode, root)
    return found.passed + found.failed + found.errors


def _list_sources(text: str) -> Iterator[str]:
    """Yield the paths of files that a text may run: words of it, and what defines the targets of a program."""
    for word in dict.fromkeys(_WORDS.findall(text)):
        yield from _DEFINES.get(PurePosixPath(word).name, ())
        if not word.startswith(("-", "/")) and ".." not in word:
            yield os.path.normpath(word)
