"""`patchwright hook install|uninstall|status`: add Patchwright's hooks to existing ones, and remove them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cli.hooks.contract import NAMES
from cli.hooks.hook_script import MARK, MISSING, build_script
from cli.hooks.managers import (
    build_refusal,
    find_husky_folder,
    find_manager,
    is_pre_commit_script,
    is_private_folder,
)
from cli.hooks.shared_files import SharedFile, build_lefthook_file, build_script_file, list_shared_files
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import read_start
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text
from tools.git.git_process import Git

DEFAULT = ("pre-commit", "prepare-commit-msg", "commit-msg")
"""Hooks that are installed by default: quick ones, that run nothing of the project but its linters."""

EARLIER = ".before-patchwright"
"""Suffix of the name under which an existing hook is kept, and run first."""

LEGACY = ".legacy"
"""Suffix of the hook that the framework pre-commit runs before its own."""

_SET_ASIDE = ("", LEGACY, ".old")
"""Suffixes under which other managers keep a hook that they find: pre-commit runs it, lefthook does not."""


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


def install_hooks(
    folder: Path, names: Sequence[str], options: Mapping[str, Sequence[str]] = {}, missing: str = "pass"
) -> int:
    """Install hooks (DEFAULT if none is named), beside existing ones and those of other managers. Raises UserError.

    options: options by hook name, passed to it before git's arguments
    missing: what a hook does that does not find the program (MISSING)
    """
    if missing not in MISSING:
        raise UserError(Fault.USAGE, f"--missing {missing!r}", f"There are {', '.join(MISSING)}.")
    git = Git.from_folder(folder)
    names = names or DEFAULT
    _check_names(names)
    shared = _list_shared_places(git, names, options)
    for file in shared:
        for place in _list_own_places(git, file.name):
            if place.is_ours:  # of an earlier version, or from before the manager: it would run a second time
                _remove_hook(place)
        with _report_os_errors(file.path):
            file.add_lines(options.get(file.name, ()), missing)
        print(sanitize_text(f"installed {file.name} in {file.relative}"))
    hooks = _find_hooks_folder(git, looking=True)
    for file in shared:
        if not file.is_called(hooks):
            print(sanitize_text(f"{file.name} is {file.uncalled}"))
    if shared:
        return 0
    places = [_choose_place(_find_hooks_folder(git, looking=False), name) for name in names]
    for place in places:
        _refuse_unsafe_place(place)
    for place in places:
        with _report_os_errors(place.path):
            place.path.parent.mkdir(parents=True, exist_ok=True)
            script = build_script(place.name, place.earlier_path.name, options.get(place.name, ()), missing)
            _write_hook(place, script)
        kept = f" (runs after {place.earlier_path.name})" if os.path.lexists(place.earlier_path) else ""
        print(sanitize_text(f"installed {place.path}{kept}"))
    return 0


def uninstall_hooks(folder: Path, names: Sequence[str]) -> int:
    """Remove hooks (all of Patchwright's if none is named), wherever they are, and restore the earlier ones."""
    git = Git.from_folder(folder)
    _check_names(names)
    removed = False
    for name in names or NAMES:
        own = [place for place in _list_own_places(git, name) if place.is_ours]
        shared = list(list_shared_files(git.root, _find_hooks_folder(git, looking=True), name))
        if names and not own and not shared:
            path = _find_hooks_folder(git, looking=True) / name
            print(sanitize_text(f"{path} is not one of ours: left as it is"), file=sys.stderr)
        for place in own:
            _remove_hook(place)
        for file in shared:
            with _report_os_errors(file.path):
                file.remove_lines()
            print(sanitize_text(f"removed {file.name} from {file.relative}"))
        removed = removed or bool(own or shared)
    if not removed:
        print("patchwright: no hook of ours is installed here", file=sys.stderr)
    return 0


def print_hook_status(folder: Path) -> int:
    """Print the state of each hook."""
    for name, state in list_hook_states(folder):
        print(sanitize_text(f"{name:<20}{state}"))
    return 0


def list_hook_states(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, state) of each possible hook: "installed", with how it is called; "another one", "-"."""
    git = Git.from_folder(folder)
    hooks = _find_hooks_folder(git, looking=True)
    for name in NAMES:
        yield name, _describe_state(git, hooks, name)


def _describe_state(git: Git, hooks: Path, name: str) -> str:
    shared = list(list_shared_files(git.root, hooks, name))
    called = [file.relative for file in shared if file.is_called(hooks)]
    if called:
        return f"installed in {', '.join(called)}"
    own = [place for place in _list_own_places(git, name) if place.is_ours]
    for place in own:
        if place.path == hooks / name:
            kept = os.path.lexists(place.earlier_path)
            return "installed, after the one that was there" if kept else "installed"
        if place.path == hooks / (name + LEGACY) and is_pre_commit_script(hooks / name):
            return "installed, called by pre-commit"
    if shared:
        return f"installed in {shared[0].relative}, {shared[0].uncalled}"
    if own:
        return f"set aside by another program, not run: patchwright hook install {name}"
    return "another one" if os.path.lexists(hooks / name) else "-"


def _list_shared_places(
    git: Git, names: Sequence[str], options: Mapping[str, Sequence[str]]
) -> list[SharedFile]:
    """Return the files of the work tree that get lines of ours; [] if git's own folder gets hooks. Raises UserError."""
    folder, own = _find_hooks_folder(git, looking=False), _find_common_git_folder(git)
    manager = find_manager(git.root, folder, own)
    if manager is None and is_private_folder(git.root, folder, own):
        return []
    files: list[SharedFile | None] = [None]
    husky = find_husky_folder(git.root, folder)
    unused = husky is not None and husky.resolve() not in (folder.resolve(), folder.resolve().parent)
    if (
        unused
        and not is_private_folder(git.root, folder, own)
        and manager is not None
        and manager.name == "husky"
    ):
        manager = None  # its folder was left behind: git runs the hooks of another one
    if manager is not None and manager.name == "lefthook":
        files = [build_lefthook_file(git.root, name) for name in names]
    elif manager is not None and manager.name == "husky" and husky is not None:
        started = husky.resolve() == folder.resolve()
        files = [build_script_file(git.root, husky, name, is_husky=not started) for name in names]
    elif manager is None:
        files = [build_script_file(git.root, folder, name, is_husky=False) for name in names]
    able = [file for file in files if file is not None and file.can_hold_lines()]
    if len(able) < len(files):
        raise build_refusal(manager, git.root, folder, names, options)
    return able


def _choose_place(folder: Path, name: str) -> HookFile:
    """Return the file for a hook: git's own, or the one that pre-commit runs before its own."""
    path = folder / name
    return HookFile(name=name, path=folder / (name + LEGACY) if is_pre_commit_script(path) else path)


def _list_own_places(git: Git, name: str) -> list[HookFile]:
    """Return each file in which a hook of ours may be, those that other managers have moved included."""
    folders = dict.fromkeys((_find_hooks_folder(git, looking=True), _find_common_git_folder(git) / "hooks"))
    return [HookFile(name=name, path=folder / (name + suffix)) for folder in folders for suffix in _SET_ASIDE]


def _remove_hook(place: HookFile) -> None:
    """Remove a hook of ours; the earlier one takes its place, under the name that a manager gave it."""
    with _report_os_errors(place.path):
        kept = os.path.lexists(place.earlier_path)
        if kept:
            place.earlier_path.replace(place.path)
        else:
            place.path.unlink()
    print(sanitize_text(f"{'restored' if kept else 'removed'} {place.path}"))


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


def _check_names(names: Sequence[str]) -> None:
    """Raise UserError for a name of no hook."""
    for name in names:
        if name not in NAMES:
            raise UserError(Fault.USAGE, f"no hook {name!r}", f"There are {', '.join(NAMES)}.")


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
