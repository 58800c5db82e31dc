"""Broker that runs git through GitPython, in a clean environment, without programs that a repository configures."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from sandbox.errors import Fault, UserError
from sandbox.fs.repository import find_common_dir, find_git_dir, find_root
from sandbox.helpers.git_runner import (
    GRACE,
    NO_HOOKS,
    NO_TRANSPORT,
    QUIET,
    BlockedByEntry,
    GitOutput,
    GitRunner,
    GitTimeout,
    strip_git_variables,
)
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.foreign_stores import list_foreign_stores, refuse_foreign_stores
from sandbox.policy.trust import Definition, TrustCheck, Trusts, trust_nothing
from tools.core.action import ToolFailure
from tools.git import repository_programs, verified_hooks
from tools.git.gitpython_start import prepare_gitpython
from tools.git.hook_files import COMMIT_HOOKS

T = TypeVar("T")

# Hooks may run a project's whole test suite.
HOOK_TIMEOUT = 1800.0


class Hooks(Protocol):
    """The hooks of a commit, as they may run."""

    def has_hook(self, name: str) -> bool: ...
    def run_hook(
        self, name: str, *arguments: str, index: Path | None = None, extra: Mapping[str, str] = {}
    ) -> GitOutput | None: ...


class Broker:
    """git commands in one work tree. Blocking: run it through `in_thread`.

    Paths go to git after `--` or as data, with LITERAL where git would see patterns in them; references only as
    object ids or HEAD.

    root: the work tree
    folder: its git folder (a worktree's own one)
    trusts: whether the user trusts the repository's definitions; untrusted ones do not run
    """

    def __init__(self, root: Path, trusts: Trusts = trust_nothing) -> None:
        folder = find_git_dir(root)
        if folder is None:
            raise UserError(Fault.NOT_A_REPOSITORY, f"{str(root)!r} is not a git repository", _INIT)
        self.root = root
        self.folder = folder
        self.shared = find_common_dir(folder)
        self._trusts = trusts
        environment = strip_git_variables(_KEPT) | {"LC_ALL": "C", "LANGUAGE": "C"}
        environment["GIT_CEILING_DIRECTORIES"] = str(root.parent)
        self._runner = GitRunner(
            root, environment, workspace=root, own_filters=True, prepare=prepare_gitpython
        )

    @classmethod
    def from_path(cls, path: Path, trusts: Trusts = trust_nothing) -> Broker:
        """Return the broker of the repository that contains `path`."""
        root = find_root(path)
        if root is None:
            raise UserError(Fault.NOT_A_REPOSITORY, f"{str(path)!r} is not in a git repository", _INIT)
        return cls(root, trusts)

    async def run_in_thread(self, function: Callable[[], T], stop: Callable[[], None] = lambda: None) -> T:
        """Run a function that uses this broker in a thread. On cancellation, running hooks are stopped and the
        function is awaited, so that nothing keeps running in the background. stop: ends what else it runs"""
        import asyncio

        task = asyncio.create_task(asyncio.to_thread(function))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop()
            self._runner.interrupt(signal.SIGTERM)
            await asyncio.wait([task], timeout=GRACE)  # git removes its locks meanwhile
            self._runner.interrupt(signal.SIGKILL)
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # the interruption is what is told; asking marks the other as seen
            raise

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        objects: Path | None = None,
        ok: Collection[int] = (0,),
    ) -> GitOutput:
        """Run a command that starts no hook, pager, editor, monitor or background work.

        index: a file to use in place of the repository's index
        objects: a folder for new objects, in place of the repository's
        ok: accepted exit codes; any other raises ToolFailure with git's own message
        """
        places = _build_index_environment(index) | self._replacement_variables
        if objects is not None:
            places["GIT_OBJECT_DIRECTORY"] = str(objects)
            places["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(self.shared / "objects")
        with _explain_timeout():
            output = self._runner.run(*_OPTIONS, *arguments, stdin=stdin, extra=places)
        if output.returncode not in ok:
            from tools.git.git_failures import explain_failure, refuse_full_disk

            refuse_full_disk(output)
            command = next(each for each in arguments if not each.startswith("-"))
            raise ToolFailure(explain_failure(self.root, command, output))
        return output

    def run_trusted(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        extra: Mapping[str, str] = {},
        confined: bool = True,
    ) -> GitOutput:
        """Run a command with the user's hooks, signing and filters; it can be interrupted. Untrusted definitions of
        the repository do not run. Trusted hooks find their programs on the user's whole PATH and see their locale.

        index: a file to use in place of the repository's index
        extra: more variables
        confined: it starts no program of the user's
        """
        if self._runner.interrupted:
            raise ToolFailure(f"git {arguments[0]}: interrupted, nothing was done")
        places = _build_index_environment(index) | self._replacement_variables | dict(extra)
        options: tuple[str, ...] = (*QUIET, *_OWN_OPTIONS)
        if any(each.kind == "hook" for each in self.untrusted_definitions):
            options, places = (*options, *NO_HOOKS), places | NO_TRANSPORT
        if not confined:  # ours is English; hooks shall see the locale that the user has
            places |= {name: os.environ.get(name, "") for name in ("LC_ALL", "LANGUAGE")}
        refuse_foreign_stores(self.root)
        with create_scratch_folder() as folder, _explain_timeout():
            launchers = self._build_launcher_environment(folder)
            if (not launchers or self._has_configured_hooks) and self.runs_hooks():
                places["PATH"] = os.environ.get("PATH", os.defpath)  # launchers set it for the hooks alone
            places |= launchers
            output = self._runner.execute(
                *options, *arguments, stdin=stdin, extra=places, timeout=HOOK_TIMEOUT, confined=confined
            )
        if output.returncode:
            from tools.git.git_failures import refuse_full_disk

            refuse_full_disk(output)
        return output

    def run_hook(
        self, name: str, *arguments: str, index: Path | None = None, extra: Mapping[str, str] = {}
    ) -> GitOutput | None:
        """Run one of the hooks that a commit runs, as git would; None if there is none, or it is not trusted."""
        if not self.has_hook(name):
            return None
        if self._has_configured_hooks:
            command: tuple[str, ...] = ("hook", "run", "--ignore-missing", name, "--")
        else:
            # Not `git hook run`, which git has since 2.36. An alias has the same folder and variables; the hook's
            # own file is found at the last moment, since it may be a launcher in a folder of this command.
            find = 'name=$1; shift; exec "$(git rev-parse --git-path "hooks/$name")" "$@"'
            command = ("-c", f"alias.run-hook=!f() {{ {find}; }}; f", "run-hook", name)
        return self.run_trusted(*command, *arguments, index=index, extra=extra, confined=False)

    def has_hook(self, name: str) -> bool:
        """Return whether a commit here would run a hook of this name."""
        if any(each.kind == "hook" for each in self.untrusted_definitions):
            return False
        return self._has_configured_hooks or name in self._active_hooks

    @cached_property
    def _active_hooks(self) -> frozenset[str]:
        return frozenset(path.name for path in repository_programs.list_active_hooks(self))

    @property
    def _has_configured_hooks(self) -> bool:
        """Whether git's configuration names hooks, as git 2.54 and later run them."""
        return any(re.fullmatch(r"hook\..+\.command", each.key) for each in self._settings)

    def runs_hooks(self) -> bool:
        """Return whether any command here may run a hook."""
        return not self.untrusted_definitions and any(
            each.kind == "hook" for each in self.program_definitions
        )

    def has_filters(self) -> bool:
        """Return whether files pass through filters here, which may need the network or the user's folders."""
        return self._runner.has_filters(self._replacement_variables)

    def list_unverified_hooks(self) -> list[str]:
        """Return the names of active hooks other than those of commits, which are all that trust covers."""
        folder = repository_programs.find_hooks_folder(self)
        return sorted(
            path.name
            for path in (folder.iterdir() if folder.is_dir() else ())
            if path.name not in COMMIT_HOOKS
            and not path.suffix
            and path.is_file()
            and os.access(path, os.X_OK)
        )

    def list_settings(self) -> list[repository_programs.Setting]:
        """Return all of git's configuration here."""
        return list(self._settings)

    def forget_settings(self) -> None:
        """Read settings and hooks anew from now on: a command may have changed what git includes."""
        for name, value in vars(type(self)).items():
            if isinstance(value, cached_property):
                self.__dict__.pop(name, None)

    def signs_commits(self) -> bool:
        """Return whether commits are signed here, by programs that need the user's keys."""
        replaced = repository_programs.build_replacements(self._settings, self.untrusted_definitions)
        key = "commit.gpgsign"
        if (known := replaced.get(key) or repository_programs.find_setting(self._settings, key)) in (
            "",
            "true",
            "false",
        ):
            return known == "true"
        output = self._runner.execute(
            "config", "--type=bool", "--get", "commit.gpgsign", extra=self._replacement_variables
        )
        return output.stdout.strip() == b"true"

    def refuse_changed_definitions(self) -> None:
        """Refuse to run anything if what the repository defines is no longer what was compared with the trust."""
        found = repository_programs.list_definitions(self, repository_programs.read_settings(self))
        if found != self.program_definitions:
            raise ToolFailure(
                "the programs that this repository defines for git (hooks, filters) changed while the commit was "
                "prepared, so nothing was committed."
            )

    def _build_launcher_environment(self, folder: Path) -> dict[str, str]:
        """Return the variables by which git starts trusted hooks through launchers in `folder`."""
        if self.untrusted_definitions or not any(each.kind == "hook" for each in self.program_definitions):
            return {}
        hooks = repository_programs.list_active_hooks(self)
        replaced = repository_programs.build_replacements(self._settings, self.untrusted_definitions)
        return verified_hooks.write_launchers(folder, hooks, self.program_definitions, replaced)

    def run_raw(self, *arguments: str) -> GitOutput:
        """Run a git command without hardening or trust: for reading the configuration, nothing else."""
        with _explain_timeout():
            return self._runner.execute(*arguments)

    def read_setting(self, name: str, kind: str = "path") -> str:
        """Return a value of the user's git configuration, "" if it is not set."""
        known = repository_programs.find_setting(self._settings, name.lower())
        if known is not None:
            return known
        # Not hardened: the hardening would answer with its own values.
        output = self.run_raw("config", f"--type={kind}", "--get", name)
        return output.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    @cached_property
    def program_definitions(self) -> tuple[Definition, ...]:
        """Programs of this repository that would run outside the sandbox, and git folders elsewhere that it uses."""
        stores = list_foreign_stores(self.root)
        return (*repository_programs.list_definitions(self, self._settings), *stores)

    @cached_property
    def untrusted_definitions(self) -> tuple[Definition, ...]:
        """Definitions that the user does not trust."""
        return () if self._trusts(self.program_definitions) else self.program_definitions

    @cached_property
    def has_lost_trust(self) -> bool:
        """Whether the user trusted what the repository defines, and it changed since."""
        given = self._trusts.read_digest() if isinstance(self._trusts, TrustCheck) else ""
        return bool(given and self.untrusted_definitions)

    @cached_property
    def _settings(self) -> list[repository_programs.Setting]:
        found = repository_programs.read_settings(self)
        self._refuse_foreign_work_tree(found)
        return found

    @property
    def replacement_environment(self) -> dict[str, str]:
        """Variables that disable untrusted definitions, for git commands run outside this broker."""
        return dict(self._replacement_variables)

    @cached_property
    def _replacement_variables(self) -> dict[str, str]:
        return repository_programs.build_git_environment(
            repository_programs.build_replacements(self._settings, self.untrusted_definitions)
        )

    def _refuse_foreign_work_tree(self, found: list[repository_programs.Setting]) -> None:
        """Refuse a repository that configures another folder as its work tree: commands would act there."""
        trees = [each.value for each in found if each.own and each.key == "core.worktree"]
        if trees and (self.folder / trees[-1]).resolve() != self.root.resolve():
            raise UserError(
                Fault.CONFIGURATION,
                f"the repository in {str(self.root)!r} names another work tree: core.worktree is {trees[-1]!r}",
                "Remove that setting: git config --local --unset core.worktree",
            )

    @cached_property
    def null_id(self) -> str:
        """The null object id, in the length of this repository's hash."""
        return "0" * (64 if self.read_setting("extensions.objectFormat") == "sha256" else 40)


@contextmanager
def _explain_timeout() -> Iterator[None]:
    try:
        yield
    except BlockedByEntry as error:
        raise ToolFailure(f"{error.message}. {error.hint}") from None
    except GitTimeout as error:
        raise ToolFailure(
            f"{error} and was stopped, with all that it had started; "
            "a hook or a filter of this repository may hang."
        ) from None


@contextmanager
def create_scratch_folder() -> Iterator[Path]:
    """Create a private folder outside the repository, removed after the command."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="patchwright-git-") as folder:
        yield Path(folder)


_INIT = "Start it in a repository, or make one: git init"

# An identity is never guessed from the host's name.
_NO_GUESSED_IDENTITY = ("-c", "user.useConfigOnly=true")

# Our messages are UTF-8, whatever the user's own commits are written in.
_OWN_OPTIONS = (*_NO_GUESSED_IDENTITY, *("-c", "i18n.commitEncoding=UTF-8"))

_OPTIONS = (*_OWN_OPTIONS, *("-c", "submodule.recurse=false"))

# Who the user is and which configuration is theirs. Every other GIT_ variable (a hook's index, a foreign
# work tree, a wrapper for ssh, tracing) would make the command do something else than what it says.
_KEPT = compile_lazily(
    r"GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)"
    r"|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)"
    r"|GIT_EXEC_PATH|GIT_PYTHON_\w+"
)


def _build_index_environment(index: Path | None) -> dict[str, str]:
    return {"GIT_INDEX_FILE": str(index)} if index else {}
