"""A command's view of the machine: an allow-list of what it can see outside the workspace, with the reason for each."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from sandbox.fs.installation import is_inside
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import PASSED_ON, find_home, get_change_time, list_homes
from sandbox.view.visible_places import (
    CACHES_IN_HOME,
    NEVER_BY_VARIABLE,
    SYSTEM,
    SYSTEM_DATA,
    SYSTEM_OF_MACOS,
    TOOLCHAINS_IN_HOME,
)

PRIVATE = ("/tmp", "/var/tmp", "/run")
"""Empty for each command. /run holds the sockets of services (docker, dbus, systemd) that would do
anything on a caller's behalf; a read-only mount does not keep a process from connecting to them."""

Kind = Literal["system", "toolchain", "cache", "setting"]
"""A cache may be written, in a layer that the command's end throws away; all else is read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisiblePlace:
    """A file or folder that commands can see.

    path: links resolved
    reason: in words for the user
    is_layer: it can be shown as the lower layer of an overlay, where sockets and pipes lead to nobody: a folder in
        which no other file system is mounted
    """

    path: Path
    kind: Kind
    reason: str
    is_layer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """Everything outside the workspace that commands can see.

    places: none is inside another
    links: symbolic links on the ways to them, with their targets
    emptied: folders that are empty but for what is shown in them, and that a command may fill for itself
    """

    places: tuple[VisiblePlace, ...]
    links: tuple[tuple[Path, Path], ...]
    emptied: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """What a view depends on.

    root: the workspace, links resolved
    named: the workspace as it was named
    visible: files and folders that the user's settings show
    network: commands have the machine's network, and need the names of its servers
    """

    root: Path
    named: Path
    visible: tuple[Path, ...] = ()
    network: bool = False


class ViewCache:
    """The view of one workspace, computed again when variables or the entries of the home folder change."""

    def __init__(self, request: ViewRequest) -> None:
        self._request = request
        self._key: object = None
        self._view = MachineView(places=(), links=(), emptied=())

    def get(self, env: Mapping[str, str], secrets: Sequence[Path]) -> MachineView:
        """Return the view for commands with this environment. secrets: places that are not shown"""
        key = (*_compute_key(env), tuple(secrets))
        if key != self._key:
            view, closed = build_machine_view(self._request, env), frozenset(secrets)
            kept = [each for each in view.places if closed.isdisjoint((each.path, *each.path.parents))]
            self._view = replace(view, places=tuple(kept))
            self._key = key
        return self._view


def build_machine_view(request: ViewRequest, env: Mapping[str, str]) -> MachineView:
    """Return what commands with this environment can see. Nothing in the workspace has an influence on it."""
    view = _Builder(request)
    for each in (*SYSTEM, *(SYSTEM_OF_MACOS if platform.system() == "Darwin" else ())):
        view.add(Path(each), "system", "programs and settings of the system")
    for each in SYSTEM_DATA:
        if _has_entries(each):
            view.add(Path(each), "system", "data of the system's programs")
    if request.network:
        view.add(Path("/etc/resolv.conf"), "system", "servers for names of hosts")
    for each in dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)):
        view.add(Path(each), "toolchain", "Patchwright's own Python")
    for home in view.homes:
        for kind, table in _IN_HOME.items():
            for each in table:
                view.add(home / each, kind, f"{kind}s in the home folder")
    view.add_search_path(env.get("PATH", ""))
    for name in sorted(PASSED_ON - _NO_PLACES):
        for each in env.get(name, "").split(os.pathsep):
            view.add(Path(each), "cache" if name in _CACHES else "toolchain", f"the variable {name}")
    for path in request.visible:
        view.add(path, "setting", "the setting visible_paths", always=True)
    return view.finish()


_IN_HOME: Mapping[Kind, Sequence[str]] = {"cache": CACHES_IN_HOME, "toolchain": TOOLCHAINS_IN_HOME}

_NO_PLACES = frozenset({"PATH", "HOME", "USER", "LOGNAME"})

_CACHES = frozenset(
    {
        *("CARGO_HOME", "GOPATH", "GOMODCACHE", "GRADLE_USER_HOME", "DENO_DIR", "GEM_HOME", "BUNDLE_PATH"),
        *("COMPOSER_HOME", "BUN_INSTALL"),
    }
)
"""Variables that name folders in which tools take locks and store what they download."""


class _Builder:
    def __init__(self, request: ViewRequest) -> None:
        self._root = str(request.root)
        self._places: dict[str, VisiblePlace] = {}
        self._links: dict[str, str] = {}
        self._mounts = _list_mounts()
        self._accounts = _list_account_homes()
        for each in (request.named, Path(os.environ.get("HOME") or "/")):
            if each.is_absolute():
                self._links |= _trace(str(each))[1]
        self.homes = [each for each in list_homes() if each != Path("/")]

    def add(self, path: Path, kind: Kind, reason: str, *, always: bool = False) -> None:
        """Show a path, if it exists, is not seen already, and is no folder with more than a toolchain in it.

        always: the last does not matter
        """
        if not path.is_absolute() or not os.path.exists(path):  # noqa: PTH110 (False where it is closed to us)
            return
        real, links = _trace(str(path))
        self._links |= links
        if is_inside(real, self._root) or self._is_seen(real):
            return
        if not always and kind != "system" and self._is_broad(real):
            return
        has_mounts = any(is_inside(each, real) and each != real for each in self._mounts)
        is_layer = os.path.isdir(real) and not has_mounts  # noqa: PTH112
        self._places[real] = VisiblePlace(path=Path(real), kind=kind, reason=reason, is_layer=is_layer)

    def add_search_path(self, value: str) -> None:
        """Show the folders of a PATH, the installations that they belong to, and what their links lead to."""
        for each in dict.fromkeys(value.split(os.pathsep)):
            folder = Path(each)
            if (
                not each.startswith(os.sep)
                or not os.path.isdir(each)  # noqa: PTH112
                or is_inside(os.path.realpath(each), self._root)
            ):
                continue
            if self._is_seen(os.path.realpath(each)):
                self._links |= _trace(each)[1]
                continue
            self._add_installation(folder, folder, f"the PATH ({each})")
            for target in _list_link_targets(each):
                self._add_installation(target.parent, target, f"a program on the PATH ({each})")

    def _add_installation(self, folder: Path, otherwise: Path, reason: str) -> None:
        """Show the installation that a folder of programs belongs to; where it belongs to none, `otherwise`."""
        parent = Path(os.path.realpath(folder)).parent
        belongs = folder.name in ("bin", "sbin") and len(parent.parts) > _TOP
        belongs = belongs and any(os.path.exists(parent / name) for name in _SIBLINGS)  # noqa: PTH110
        if belongs and not self._is_broad(str(parent)):
            self.add(folder.parent, "toolchain", reason)
            self.add(parent, "toolchain", reason)
        self.add(otherwise, "toolchain", reason)

    def finish(self) -> MachineView:
        places = {
            path: place
            for path, place in self._places.items()
            if not any(path != each and is_inside(path, each) for each in self._places)
        }
        seen = [*places, self._root]
        homes = [home for home in map(str, self.homes) if os.path.isdir(home)]  # noqa: PTH112
        emptied = [each for each in PRIVATE if os.path.isdir(each) and not os.path.islink(each)]  # noqa: PTH112, PTH114
        emptied += [
            home for home in homes if not any(is_inside(home, each) for each in (*seen, "/dev", "/proc"))
        ]
        links = {
            link: target
            for link, target in self._links.items()
            if not any(is_inside(link, each) for each in seen)
        }
        return MachineView(
            places=tuple(places.values()),
            links=tuple((Path(link), Path(target)) for link, target in links.items()),
            emptied=tuple(Path(each) for each in dict.fromkeys(emptied)),
        )

    def _is_seen(self, path: str) -> bool:
        return any(is_inside(path, each) for each in self._places)

    def _is_broad(self, path: str) -> bool:
        return path in NEVER_BY_VARIABLE or any(
            is_inside(home, path) for home in (*map(str, self.homes), *self._accounts)
        )


_TOP = 2
"""Parts of the path of a folder right below the root."""

_SIBLINGS = ("lib", "lib64", "libexec", "pyvenv.cfg")
"""Neighbours of a folder of programs that need them."""


def _compute_key(env: Mapping[str, str]) -> tuple[object, ...]:
    values = tuple(map(env.get, _VARIABLES))
    return values, tuple(get_change_time(each) for each in _list_parents(find_home()))


_VARIABLES = tuple(sorted(PASSED_ON))


@lru_cache(maxsize=4)
def _list_parents(home: Path) -> tuple[str, ...]:
    """Return the folders in which the entries of the tables appear and disappear."""
    entries = (*TOOLCHAINS_IN_HOME, *CACHES_IN_HOME)
    return tuple(sorted({str((home / each).parent) for each in entries}))


def _has_entries(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:  # missing, or closed to us
        return False


def _list_link_targets(folder: str) -> Iterator[Path]:
    """Yield the targets of the links in a folder of programs."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() and os.path.exists(entry.path):  # noqa: PTH110
                yield Path(os.path.realpath(entry.path))


def _list_mounts() -> list[str]:
    """Return the mount points of this machine; none where the kernel does not list them."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux
        return []
    return [line.split(" ", 5)[4].replace("\\040", " ") for line in lines]


def _list_account_homes() -> list[str]:
    """Return the home folders of people and services on this machine."""
    try:
        lines = Path("/etc/passwd").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not readable: then the folders in NEVER_BY_VARIABLE alone are known
        return []
    homes = {fields[5] for line in lines if len(fields := line.split(":")) > _HOME_FIELD}
    return [each for each in homes if each.startswith("/") and each != "/"]


_HOME_FIELD = 5
"""The field of /etc/passwd with the home folder."""


def _trace(path: str) -> tuple[str, dict[str, str]]:
    """Return a path with its links resolved, and each symbolic link on the way with its last target."""
    done, links = "", {}
    for part in path.strip("/").split("/"):
        entry = f"{done}/{part}"
        if os.path.islink(entry):  # noqa: PTH114
            done = os.path.realpath(entry).rstrip("/")
            links[entry] = done or "/"
        else:
            done = entry
    return done or "/", links


def resolve_existing(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that exist, links resolved."""
    return [path.resolve() for path in paths if path.exists()]
