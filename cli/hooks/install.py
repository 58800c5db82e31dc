"""`patchwright hook install|uninstall|status`: add Patchwright's hooks to existing ones, and remove them."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cli.hooks.contract import NAMES
from cli.hooks.managers import refuse_managed
from cli.own_command import find_own_command
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import read_start
from sandbox.sanitize import sanitize_text
from tools.git.git_process import Git

DEFAULT = ("pre-commit", "prepare-commit-msg", "commit-msg")
"""Hooks that are installed by default: quick ones, that run nothing of the project but its linters."""

EARLIER = ".before-patchwright"
"""Suffix of the name under which an existing hook is kept, and run first."""

MARK = "# patchwright hook: `patchwright hook uninstall` puts back what was here before."

_SCRIPT = """\
#!/bin/sh
{mark}
here=$(dirname -- "$0")
{read}if [ -x "$here/{kept}" ]; then
  {pipe}"$here/{kept}" "$@" || exit $?
fi
if [ -x {program} ]; then
  {pipe}{command} hook run {name}{options} "$@"
  exit $?
fi
echo 'patchwright: {name}: the program that was installed is gone: patchwright hook uninstall' >&2
"""
# git passes the pushed refs to a pre-push hook on its input: both hooks have to read it, whole.
_READ = "input=$(cat && printf x)\ninput=${input%x}\n"
_PIPE = "printf '%s' \"$input\" | "


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """File of one hook."""

    name: str
    path: Path

    @property
    def earlier_path(self) -> Path:
        """Path of the existing hook that was set aside."""
        return self.path.with_name(self.name + EARLIER)

    @property
    def is_ours(self) -> bool:
        """Whether Patchwright installed the hook."""
        start = read_start(self.path, _LONGEST_HEAD)
        return start is not None and MARK in start.decode("utf-8", "replace").splitlines()[:2]


_LONGEST_HEAD = 1_000
"""Bytes of the first two lines of a hook of ours."""


def install_hooks(folder: Path, names: Sequence[str], options: Mapping[str, Sequence[str]] = {}) -> int:
    """Install hooks (DEFAULT if none is named); existing ones are kept and run first. Raises UserError.

    options: options by hook name, passed to it before git's arguments
    """
    git = Git.from_folder(folder)
    places = _list_places(git, names or DEFAULT)
    refuse_managed(
        git.root,
        _find_hooks_folder(git, looking=False),
        _find_common_git_folder(git),
        names or DEFAULT,
        options,
    )
    for place in places:
        _refuse_unsafe_place(place)
    for place in places:
        with _report_os_errors(place.path):
            place.path.parent.mkdir(parents=True, exist_ok=True)
            _write_hook(place, _build_script(place, options.get(place.name, ())))
        kept = f" (runs after {place.earlier_path.name})" if os.path.lexists(place.earlier_path) else ""
        print(sanitize_text(f"installed {place.path}{kept}"))
    return 0


def uninstall_hooks(folder: Path, names: Sequence[str]) -> int:
    """Remove hooks (all of Patchwright's if none is named) and restore the earlier ones, byte for byte."""
    removed = False
    for place in _list_places(Git.from_folder(folder), names or NAMES):
        if not place.is_ours:
            if names:
                print(sanitize_text(f"{place.path} is not one of ours: left as it is"), file=sys.stderr)
            continue
        removed = True
        with _report_os_errors(place.path):
            kept = os.path.lexists(place.earlier_path)
            if kept:
                place.earlier_path.replace(place.path)
            else:
                place.path.unlink()
        print(sanitize_text(f"{'restored' if kept else 'removed'} {place.path}"))
    if not removed:
        print("patchwright: no hook of ours is installed here", file=sys.stderr)
    return 0


def print_hook_status(folder: Path) -> int:
    """Print the state of each hook."""
    for name, state in list_hook_states(folder):
        print(sanitize_text(f"{name:<20}{state}"))
    return 0


def list_hook_states(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, state) of each possible hook: "installed", "another one", "-"."""
    for place in _list_places(Git.from_folder(folder), NAMES, looking=True):
        if place.is_ours:
            state = "installed" + (
                ", after the one that was there" if os.path.lexists(place.earlier_path) else ""
            )
        else:
            state = "another one" if os.path.lexists(place.path) else "-"
        yield place.name, state


def _refuse_unsafe_place(place: HookFile) -> None:
    """Raise UserError if a hook cannot be installed without harm to existing files. Called before any write."""
    folder = place.path.parent
    if os.path.lexists(folder) and not folder.is_dir():
        raise UserError(
            Fault.CONFIGURATION,
            f"git looks for hooks in {str(folder)!r}, which is not a folder",
            "Remove it, or name another one: git config core.hooksPath FOLDER",
        )
    if place.path.is_dir():
        raise UserError(
            Fault.CONFIGURATION, f"{str(place.path)!r} is a folder, and git runs files", "Remove it."
        )
    if os.path.lexists(place.path) and not place.is_ours and os.path.lexists(place.earlier_path):
        raise UserError(
            Fault.CONFIGURATION,
            f"{str(place.path)!r} has been replaced since it was installed, and {place.earlier_path.name} is kept",
            "Merge the two by hand, and remove the one that is not needed.",
        )


@contextmanager
def _report_os_errors(path: Path) -> Iterator[None]:
    """Convert an OSError, which the user can fix, to a UserError: one line, no traceback."""
    try:
        yield
    except OSError as error:
        fault = Fault.STORAGE_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Fault.READ_ONLY
        hint = (
            "Free some space." if fault is Fault.STORAGE_FULL else "Make that folder writable for this user."
        )
        raise UserError(fault, f"cannot change {str(path)!r}: {error.strerror}", hint) from None


def _list_places(git: Git, names: Sequence[str], *, looking: bool = False) -> list[HookFile]:
    for name in names:
        if name not in NAMES:
            raise UserError(Fault.USAGE, f"no hook {name!r}", f"There are {', '.join(NAMES)}.")
    folder = _find_hooks_folder(git, looking=looking)
    return [HookFile(name=name, path=folder / name) for name in names]


def _find_hooks_folder(git: Git, *, looking: bool) -> Path:
    """Return the folder of git's hooks; all work trees of a repository share it."""
    configured = git.read_setting("core.hooksPath", "path")
    if not configured:
        return _find_common_git_folder(git) / "hooks"
    own = git.run_text("config", "--local", "--get", "core.hooksPath", ok=(0, 1)) or git.run_text(
        "config", "--worktree", "--get", "core.hooksPath", ok=(0, 1, 128)
    )
    if not own and not looking:
        raise UserError(
            Fault.CONFIGURATION,
            f"your git configuration keeps the hooks of all your repositories in {configured!r}",
            "Give this one a folder of its own: git config --local core.hooksPath .git/hooks",
        )
    return git.root / configured


def _find_common_git_folder(git: Git) -> Path:
    """Return the repository folder that all its work trees share."""
    return Path(git.root, git.run_text("rev-parse", "--git-common-dir"))


def _build_script(place: HookFile, options: Sequence[str]) -> str:
    command = find_own_command()
    by_input = place.name == "pre-push"
    return _SCRIPT.format(
        mark=MARK,
        read=_READ if by_input else "",
        pipe=_PIPE if by_input else "",
        kept=place.earlier_path.name,
        program=shlex.quote(command[0]),
        command=shlex.join(command),
        name=place.name,
        options="".join(f" {shlex.quote(each)}" for each in options),
    )


def _write_hook(place: HookFile, script: str) -> None:
    """Write the new hook to a temporary file first: a full disk then leaves the existing hook in place."""
    new = place.path.with_name(f".{place.name}.patchwright")
    try:
        new.write_text(script, "utf-8")
        new.chmod(0o755)
        if os.path.lexists(place.path) and not place.is_ours:
            place.path.rename(place.earlier_path)
        new.replace(place.path)
    finally:
        with suppress(OSError):  # already moved, or never created
            new.unlink()
