"""Files of one trial: a fresh copy of the base, its set-up, its change as a patch, and the checker's run on it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from packages.evaluation.runs.base_repository import ENVIRONMENT, make_git_folder, prepare_base
from packages.evaluation.runs.runner_configuration import read_configuration, restore_configuration
from packages.evaluation.suites.patched_files import list_patched_paths
from packages.evaluation.tasks.confinement import require_confinement
from packages.evaluation.tasks.folder_files import clear_place, write_files
from packages.evaluation.tasks.task_folder import Task
from sandbox.access_settings import AccessSettings
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from sandbox.process.command import Completed, Sandbox
    from tools.git.git_process import Git

WORK = "work"
"""Name of the folder that the agent works in: it says nothing about the task."""

_SCORE = compile_lazily(r"^score:\s*([01](?:\.\d+)?)\s*$", re.MULTILINE)
_MOST_CREDIT = 0.99
"""Of a trial that is not solved."""

_SCORE_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """Answer of a checker.

    ended: "passed", "failed", "timeout"; detail: last line of its output
    score: 1 if passed, else its partial credit below 1
    """

    ended: str
    score: float
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the task is solved."""
        return self.ended == "passed"


class SetupFailed(Exception):
    """A set-up command failed or took too long; the message is one line."""


class TrialPlace:
    """Files of one trial; `open` makes them, `close` removes them.

    home: of its session, which keeps nothing elsewhere but its log
    """

    def __init__(self, task: Task, folder: Path, home: Home, access: AccessSettings) -> None:
        self.task = task
        self.folder = folder
        self.work = folder / WORK
        self.home = home.make_private(folder / "home")
        self._access = access
        self._base = "HEAD"
        self._configuration: dict[str, bytes | None] = {}
        self._sandbox: Sandbox | None = None
        self._git: Git | None = None

    @classmethod
    async def open(
        cls, task: Task, scratch: Path, name: str, home: Home, access: AccessSettings
    ) -> TrialPlace:
        """Copy the base, and run the set-up. Raises UserError and SetupFailed."""
        place = cls(task, scratch / "trials" / name, home, access)
        base = await asyncio.to_thread(prepare_base, task, scratch)
        try:
            await asyncio.to_thread(place._copy_base, base)
            await place._set_up()
            place._configuration = await asyncio.to_thread(read_configuration, place.work)
        except BaseException:  # on any exception its files are removed, then the exception is raised again
            await asyncio.to_thread(place.close)
            raise
        return place

    def close(self) -> None:
        """Remove all files. Blocking."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _find_sandbox(self) -> Sandbox:
        """Return the sandbox of set-up and checker: as the session's, without network but what the settings name.

        Raises UserError where nothing confines them, unless the user wants that: nobody approves these commands.
        """
        if self._sandbox is None:
            from sandbox.backends.selection import choose_sandbox
            from sandbox.view.visible_paths import resolve_visible_paths

            create_private_folder(self.folder / "spill")
            found = choose_sandbox(
                self.work,
                self._access.sandbox,
                cache=self.home.lasting_cache,
                spill=self.folder / "spill",
                hidden=self.home.hidden,
                image=self._access.container_image,
                hosts=self._access.network if self._access.mode is not Mode.READ_ONLY else (),
                visible=resolve_visible_paths(self._access.visible_paths),
            )
            self._sandbox = require_confinement(
                found,
                self._access.sandbox,
                "the commands of a task come from whoever wrote it",
                "If you trust the suite: --sandbox unconfined",
            )
        return self._sandbox

    def apply_patch(self, patch: bytes) -> None:
        """Apply a reference patch or a failure case. Blocking. Raises UserError."""
        if patch.strip():
            self._run_git("apply", "--whitespace=nowarn", "-", stdin=patch)

    def build_patch(self) -> bytes:
        """Return all changes since the set-up, new files included, ignored ones not. Blocking. Raises UserError."""
        self._run_git("add", "--all", "--", ".")
        options = ("--cached", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
        return self._run_git("diff", *options, self._base)

    async def check(self, *, answer: str = "", outcome: str = "") -> CheckOutcome:
        """Lay the checker's files over the worktree, and run it. Raises UserError.

        answer, outcome: of the agent, which the checker can read
        """
        file = self.task.file
        changed = list_patched_paths(self.task.reference or b"")
        await asyncio.to_thread(restore_configuration, self.work, self._configuration, changed)
        await asyncio.to_thread(write_files, self.task.list_checker_files(), self.work)
        if file.score_file:
            await asyncio.to_thread(clear_place, self.work, file.score_file)
        answers = self.folder / "answer.txt"
        write_private_file(answers, answer.encode("utf-8", "replace"))
        env = {"PATCHWRIGHT_ANSWER": str(answers), "PATCHWRIGHT_OUTCOME": outcome}
        done = await self._run(file.check, file.limits.check_seconds, env, readable=(answers,))
        text = done.stdout.text()
        detail = _find_last_line(text)
        if done.ended != "exited":
            return CheckOutcome(
                ended="timeout", score=0.0, detail=f"no end after {file.limits.check_seconds:g} s"
            )
        if done.returncode == 0:
            return CheckOutcome(ended="passed", score=1.0, detail=detail)
        credit = min(max(self._read_credit(text), 0.0), _MOST_CREDIT)
        return CheckOutcome(ended="failed", score=credit, detail=detail or f"exit code {done.returncode}")

    def _read_credit(self, text: str) -> float:
        lines = _SCORE.findall(text) if self._prints_score() else []
        credit = float(lines[-1]) if lines else 0.0
        if self.task.file.score_file:
            content = read_workspace_file(self.work, self.task.file.score_file, _SCORE_BYTES)
            try:
                value = json.loads(content or b"null")
            except (ValueError, RecursionError):
                return credit
            found = value.get("score") if isinstance(value, dict) else None
            if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 1:
                return float(found)
        return credit

    def _prints_score(self) -> bool:
        """Whether the checker writes a line of partial credit; if not, the line is the program's under test."""
        texts = [self.task.file.check.encode(), *(each.read() for each in self.task.list_checker_files())]
        return any(b"score" in text for text in texts)

    async def _set_up(self) -> None:
        file = self.task.file
        if file.check.strip():
            self._find_sandbox()  # that there is none is known before money is spent
        if not file.setup:
            return
        ends = time.monotonic() + file.limits.setup_seconds
        for line in file.setup:
            done = await self._run(line, max(0.1, ends - time.monotonic()))
            if done.ended != "exited":
                raise SetupFailed(f"setup {line!r} did not end in {file.limits.setup_seconds:g} s")
            if done.returncode:
                told = _find_last_line(done.stdout.text())
                raise SetupFailed(f"setup {line!r}: exit code {done.returncode}{told and f': {told}'}")
        await asyncio.to_thread(self._run_git, "add", "--all", "--", ".")
        self._base = (await asyncio.to_thread(self._run_git, "write-tree")).decode().strip()

    async def _run(
        self,
        line: str,
        seconds: float,
        env: Mapping[str, str] | None = None,
        readable: tuple[Path, ...] = (),
    ) -> Completed:
        import sys

        from sandbox.process.command import Command

        variables = {"PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        return await self._find_sandbox().run(
            Command(
                argv=("/bin/sh", "-c", line),
                cwd=self.work,
                env=variables,
                timeout=seconds,
                readable=(Path(sys.executable), *readable),
            )
        )

    def _copy_base(self, base: Path) -> None:
        self.close()  # what a killed run has left
        create_private_folder(self.folder)
        shutil.copytree(base, self.work, symlinks=True)
        # A git folder of our own for the patch: what the agent does to the worktree's changes nothing here.
        make_git_folder(self.folder / "own.git")
        shutil.copy2(base / ".git" / "index", self.folder / "own.git" / "index")
        shutil.copytree(base / ".git" / "refs", self.folder / "own.git" / "refs", dirs_exist_ok=True)
        self._git = self._open_git(base / ".git" / "objects")

    def _open_git(self, objects: Path) -> Git:
        """Return git on the worktree with our own git folder. One for all commands: it asks for filters only once."""
        from tools.git.git_process import Git

        places = {
            **ENVIRONMENT,
            "GIT_DIR": str(self.folder / "own.git"),
            "GIT_WORK_TREE": str(self.work),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }
        return Git(self.work, alone=True, extra=places)

    def _run_git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        assert self._git is not None
        return self._git.run(*arguments, stdin=stdin)


def _find_last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
