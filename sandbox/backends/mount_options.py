"""Options of bubblewrap for the mounts of one command: an empty root, and in it only what the command may see."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from sandbox.lazy_dataclass import dataclass
from sandbox.process.command import Command
from sandbox.view.machine_view import MachineView, VisiblePlace, resolve_existing

Kind = Literal["private", "masked", "try", "layer", "cache", "read", "write", "guard", "denied"]
"""private: an empty folder that may be filled; masked: an empty folder or file instead; try: read-only, if it is
still there; layer: read-only through an overlay; cache: through an overlay, in a layer that is thrown away"""

_BINDS: Mapping[Kind, str] = {
    "try": "--ro-bind-try",
    "read": "--ro-bind",
    "write": "--bind",
    "guard": "--ro-bind",
}
_OVERLAYS: tuple[Kind, ...] = ("layer", "cache")
_RANK: Mapping[Kind, int] = {kind: rank for rank, kind in enumerate(get_args(Kind))}
"""Of two mount requests for the same path, the later kind wins."""

_DEVICES = ("--dev", "/dev", "--proc", "/proc")

_DEVICE_SEALS = ("--remount-ro", "/dev", "--remount-ro", "/proc")
"""Root needs no capability for files under /proc/sys, and nobody one to take its oom_score_adj back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounts:
    """What the mounts of a command depend on; all paths exist, with links resolved.

    secrets, denied: paths that may not be read
    guards: paths that may not be written; enclosing: folders around them, which may not be renamed
    sockets: paths on which programs of this machine listen
    overlays: overlays work here
    """

    root: Path
    command: Command
    view: MachineView
    secrets: Sequence[Path]
    denied: Sequence[Path]
    guards: Sequence[Path]
    enclosing: Sequence[Path]
    sockets: Sequence[str]
    overlays: bool


def build_mount_options(mounts: Mounts, wishes: Mapping[Path, Kind] | None = None) -> list[str]:
    """Return the options for all mounts, outer folders first, so that the most specific request applies.

    wishes: what is to be mounted, by default what `collect_wishes` returns

    For each mount bwrap reads the kernel's list of those before it, a third of its time: entries that make the list
    long come last.
    """
    wishes = collect_wishes(mounts) if wishes is None else wishes
    view, memory = mounts.view, mounts.command.limits.memory
    size = ["--size", str(memory)] if memory else []
    late = tuple(f"{each}/" for each in _list_long_entries(wishes, view))
    parts: list[tuple[bool, int, list[str]]] = []

    def add_part(path: Path, options: list[str]) -> None:
        name = str(path)
        parts.append((f"{name}/".startswith(late), name.count("/"), options))

    for link, target in view.links:
        add_part(link, ["--symlink", str(target), str(link)])
    for path, kind in wishes.items():
        is_private = kind == "private"
        add_part(path, [*size, "--tmpfs", str(path)] if is_private else _format_mount(kind, path))
    parts.sort(key=lambda part: part[:2])
    devices = [*_DEVICES, *size, "--tmpfs", "/dev/shm"]
    options = [option for _, _, form in parts for option in form]
    sealed = [path for path, kind in wishes.items() if kind == "layer"]
    sealed += [path for path, kind in wishes.items() if kind in ("masked", "denied") and path.is_dir()]
    for path in sealed:  # after everything inside them is mounted
        options += ["--remount-ro", str(path)]
    if any(str(path).startswith(("/dev/", "/proc/")) for path in wishes):
        return [*devices, *options, *_DEVICE_SEALS]
    return [*devices, *_DEVICE_SEALS, *options]


def collect_wishes(mounts: Mounts) -> dict[Path, Kind]:
    """Return what is to be mounted, by path."""
    command, view = mounts.command, mounts.view
    wishes: dict[Path, Kind] = {}

    def request_mount(kind: Kind, paths: Iterable[Path]) -> None:
        for path in paths:
            if path not in wishes or _RANK[kind] > _RANK[wishes[path]]:
                wishes[path] = kind

    writes = command.scope == "workspace"
    request_mount("private", view.emptied)
    for place in view.places:
        request_mount(_choose_kind(place, overlays=mounts.overlays), [place.path])
    asked_for = resolve_existing((*command.readable, *command.writable))
    request_mount("read", resolve_existing(command.readable))
    request_mount("write" if writes else "read", [mounts.root])
    request_mount("write", resolve_existing(command.writable))
    if writes:
        request_mount("write", mounts.enclosing)
    request_mount("guard", [place for place in mounts.guards if place not in mounts.secrets])
    shown = [str(path) for path, kind in wishes.items() if kind != "private"]
    bound = [str(path) for path, kind in wishes.items() if kind in _BINDS]
    request_mount("masked", _select_inside(mounts.secrets, shown))
    sockets = _select_inside(map(Path, mounts.sockets), bound)
    allowed = {*asked_for, *(place.path for place in view.places)}
    request_mount("masked", [each for each in sockets if each not in allowed])
    request_mount("denied", _select_inside(mounts.denied, shown))
    return wishes


SEAL: Sequence[str] = ("--remount-ro", "/")
"""The root itself becomes read-only at last."""


def _list_long_entries(wishes: Mapping[Path, Kind], view: MachineView) -> list[Path]:
    """Return the mounts with long lines in the list of mounts (overlays), or many (folders with mounts in them)."""
    overlays = [path for path, kind in wishes.items() if kind in _OVERLAYS]
    return overlays + [each.path for each in view.places if not each.is_layer and each.path.is_dir()]


def _choose_kind(place: VisiblePlace, *, overlays: bool) -> Kind:
    if place.kind == "system" or not (overlays and place.is_layer):
        return "try"
    return "cache" if place.kind == "cache" else "layer"


def _select_inside(paths: Iterable[Path], folders: Sequence[str]) -> list[Path]:
    within = tuple(f"{folder.rstrip('/')}/" for folder in folders)  # one comparison in C for each path
    return [path for path in paths if f"{path}/".startswith(within)]


def _format_mount(kind: Kind, path: Path) -> list[str]:
    """Return the options for one mount. A masked file reads as empty; opening a denied one is an error,
    because a device on a mount without devices cannot be opened."""
    if kind in _BINDS:
        return [_BINDS[kind], str(path), str(path)]
    if kind in _OVERLAYS:
        return ["--overlay-src", str(path), "--tmp-overlay", str(path)]
    if path.is_dir():
        return ["--perms", "0555", "--size", "4096", "--tmpfs", str(path)]
    return ["--ro-bind" if kind == "denied" else "--dev-bind", os.devnull, str(path)]
