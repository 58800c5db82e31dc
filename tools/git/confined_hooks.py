"""Hooks of a commit in which the user's trust is lost: they still guard it, in the sandbox.

The user trusted what the hooks ran, and a session or a pull changed some of it since. A commit without them would go
past the user's gate, and a run outside the sandbox would start what nobody has read. So they run as a command of the
session does: they see the commit in an index of their own, may refuse it and change its message, nothing else of it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from threading import Lock

from sandbox.fs.regular_file import GIT_FILE, read_regular_file
from sandbox.helpers.git_runner import GitOutput
from sandbox.process.command import Command, Completed
from tools.core.action import ToolFailure
from tools.core.text import join_names
from tools.core.workspace import Workspace
from tools.git.broker import HOOK_TIMEOUT, Broker, create_scratch_folder
from tools.git.repository_programs import find_hooks_folder, list_active_hooks, names_interpreter
from tools.shell.environment import shell_environment

_GATES = frozenset(("pre-commit", "prepare-commit-msg", "commit-msg"))
"""Hooks that may refuse a commit and need nothing that the sandbox withholds. Those after it are left out."""

_WITH_MESSAGE = frozenset(("prepare-commit-msg", "commit-msg"))

_FOR_GIT_ALONE = "reference-transaction"
"""It may refuse a commit as well, but only git itself can run it."""

_HINT = "The user reviews and trusts them anew: patchwright trust. Your changes stay in the files."


class ConfinedHooks:
    """The hooks of one commit, as the broker runs those that are trusted. Used in a thread beside the event loop."""

    def __init__(self, at: Workspace, broker: Broker) -> None:
        self._at = at
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._hooks = {path.name: path for path in list_active_hooks(broker)}
        self._running: Future[Completed] | None = None
        self._is_stopped = False
        self._lock = Lock()

    @property
    def note(self) -> str:
        """What the user should know of the hooks that ran, "" if none did."""
        names = sorted(self._hooks.keys() & _GATES)
        return (
            f"ran in the sandbox only, since what they run changed after it was trusted: {', '.join(names)} "
            "(see and trust it: patchwright trust)"
            if names
            else ""
        )

    def refuse_impossible(self, changed: Collection[str]) -> None:
        """Raise ToolFailure if a hook that may refuse the commit cannot run here. changed: files of the session"""
        names = [each for each in sorted(self._hooks) if each in _GATES or each == _FOR_GIT_ALONE]
        names += sorted(
            each.name
            for each in self._broker.untrusted_definitions
            if each.kind == "setting" and each.name.startswith("hook.")
        )
        cannot = ""
        if self._at.sandbox.name == "unconfined":
            cannot = "nothing confines them here"
        elif self._at.root.resolve() != self._broker.root.resolve():
            cannot = "this session works in a part of the repository"
        elif _FOR_GIT_ALONE in names or any(each.startswith("hook.") for each in names):
            cannot = "git itself has to start them"
        if names and cannot:
            own = [each.name for each in self._broker.untrusted_definitions if each.name in changed]
            files = f" ({join_names(own, 3)})" if own else ""
            raise ToolFailure(
                f"git_commit: nothing was committed: the hooks {', '.join(names)} are not run, since what they run"
                f"{files} changed after the user trusted it, and {cannot}. {_HINT}"
            )

    def has_hook(self, name: str) -> bool:
        """See `Broker.has_hook`."""
        return name in _GATES and name in self._hooks

    def run_hook(
        self, name: str, *arguments: str, index: Path | None = None, extra: Mapping[str, str] = {}
    ) -> GitOutput | None:
        """Run a hook in the sandbox; None if there is none. Raises ToolFailure if it changed what is committed."""
        if not self.has_hook(name):
            return None
        with create_scratch_folder() as folder:
            own = folder / "index"
            if index is not None:
                shutil.copyfile(index, own)
            (folder / "objects").mkdir()
            message = self._broker.root / arguments[0] if name in _WITH_MESSAGE else None
            if message is not None:
                shutil.copyfile(message, folder / message.name)
                arguments = (str(folder / message.name), *arguments[1:])
            hook = self._hooks[name]
            command = Command(
                argv=(*(() if names_interpreter(hook) else ("/bin/sh",)), str(hook), *arguments),
                cwd=self._broker.root,
                env={**shell_environment(), **extra, **self._build_environment(folder)},
                timeout=HOOK_TIMEOUT,
                readable=(find_hooks_folder(self._broker).resolve(),),
                writable=(folder,),
            )
            before = self._list_entries(own)
            done = self._run(command)
            if done.returncode or done.ended != "exited":
                return GitOutput(
                    returncode=done.returncode or 1,
                    stdout=b"",
                    stderr=f"{done.stdout.text().rstrip()}\n(It ran in the sandbox, since what it runs changed "
                    "after the user trusted it; the user trusts it anew with: patchwright trust)",
                )
            if self._list_entries(own) != before:
                raise ToolFailure(
                    f"git_commit: nothing was committed: the hook {name} changes what is committed, which it may "
                    f"only if it is trusted, and what it runs changed after the user trusted it. {_HINT}"
                )
            if message is not None:
                message.write_bytes(read_regular_file(folder / message.name, GIT_FILE) or b"")
        return GitOutput(returncode=0, stdout=done.stdout.text().encode(), stderr="")

    def stop(self) -> None:
        """End the running hook, and let no other begin."""
        with self._lock:
            self._is_stopped = True
            if self._running is not None:
                self._running.cancel()

    def _run(self, command: Command) -> Completed:
        with self._lock:
            if self._is_stopped:
                raise ToolFailure("git_commit: interrupted, nothing was committed")
            self._running = asyncio.run_coroutine_threadsafe(self._at.sandbox.run(command), self._loop)
        try:
            return self._running.result()
        except CancelledError:
            raise ToolFailure("git_commit: interrupted, nothing was committed") from None

    def _build_environment(self, folder: Path) -> dict[str, str]:
        """Return the variables of a hook. New objects go to a folder of its own, since the repository is closed."""
        return {
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self._broker.shared / "objects"),
            "GIT_EDITOR": ":",
            "GIT_PREFIX": "",
        }

    def _list_entries(self, index: Path) -> bytes:
        return self._broker.run("ls-files", "--stage", "-z", index=index).stdout
