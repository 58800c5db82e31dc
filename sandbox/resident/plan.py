"""Split a command's mounts in two: those that many commands share, and those that each command gets anew."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.backends.mount_options import SEAL, Kind, Mounts, build_mount_options
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import find_home

_TEMPORARY = Path("/tmp")

Step = tuple[Any, ...]
"""One step of server.py: what to do, where, and with what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacePlan:
    """How a place is set up.

    options: of bubblewrap, for the mounts that all commands share
    steps: of the server, for those of one command, in this order
    places: where something is shown or hidden: a mount moves with a folder that is renamed, and its path may then lead
        to another file
    """

    options: tuple[str, ...]
    steps: tuple[Step, ...]
    places: tuple[str, ...]


def build_place_plan(mounts: Mounts, wishes: Mapping[Path, Kind], git_settings: str) -> PlacePlan | None:
    """Return the plan; None where the mounts are too unusual to be split.

    A private folder of a command covers the one that all share; what is mounted in that is mounted again. Caches are
    shared read-only, and each command gets a layer over them.
    wishes: what is to be mounted, by path
    git_settings: content of the file in the home folder, "" for none
    """
    if wishes.get(_TEMPORARY) != "private" or any(
        f"{path}/".startswith(("/dev/", "/proc/")) for path in wishes
    ):
        return None
    builder = _Builder(wishes, mounts.command.limits.memory)
    shown = {path: kind for path, kind in wishes.items() if kind != "private"}
    outer = {path for path in shown if shown.keys().isdisjoint(path.parents)}
    for path, kind in wishes.items():
        if kind == "private" and not shown.keys().isdisjoint(path.parents):
            return None
        if kind == "cache" and path not in outer:
            return None
        if kind not in ("masked", "denied") and _is_in_cache(path, wishes):
            return None
    for path, kind in wishes.items():
        if kind == "private":
            builder.add_private(path)
        elif kind == "cache":
            builder.add_cache(path)
        elif _is_in_cache(path, wishes):
            builder.add_mask(path, kind)
        elif path in outer:
            builder.add_shown(path)
    for link, target in mounts.view.links:
        builder.add_link(link, target)
    if git_settings:
        content = git_settings.encode("utf-8", "surrogateescape")
        builder.add_file(find_home() / ".gitconfig", content, 0o644)
    shared: dict[Path, Kind] = {path: "try" if kind == "cache" else kind for path, kind in wishes.items()}
    return PlacePlan(
        options=(*build_mount_options(mounts, shared), *SEAL),
        steps=builder.finish(),
        places=tuple(map(str, shown)),
    )


def _is_in_cache(path: Path, wishes: Mapping[Path, Kind]) -> bool:
    return any(wishes.get(each) == "cache" for each in path.parents)


class _Builder:
    """Collects steps by the outermost private folder that they belong to, None for none.

    In those of a folder, relative paths are of the folder that all commands share.
    """

    def __init__(self, wishes: Mapping[Path, Kind], memory: int) -> None:
        self._wishes = wishes
        self._memory = memory
        self._steps: list[tuple[Path | None, int, Step]] = []
        self._made: set[Path] = set()
        self._caches = 0

    def add_private(self, path: Path) -> None:
        """Add a folder that is empty at first."""
        self._make_folders(path)
        self._add(path, "tmpfs", self._memory, 0o755)

    def add_shown(self, path: Path) -> None:
        """Add a mount in a private folder, with all those in it."""
        if top := self._find_private(path):
            if path.is_dir():
                self._make_folders(path)
            else:
                self._make_folders(path.parent)
                self._add(path, "empty")
            self._add(path, "bind", os.fsencode(path.relative_to(top)))

    def add_cache(self, path: Path) -> None:
        """Add a folder with a layer over it that takes what is written."""
        top = self._find_private(path)
        self._make_folders(path)
        lower = os.fsencode(path.relative_to(top) if top else path)
        self._caches += 1
        layers = b"" if top == _TEMPORARY else b"%s/" % os.fsencode(_TEMPORARY)
        self._add(
            path,
            "overlay",
            lower,
            layers + b"%s/upper%d" % (_LAYERS, self._caches),
            layers + b"%s/work%d" % (_LAYERS, self._caches),
        )

    def add_mask(self, path: Path, kind: Kind) -> None:
        """Add what hides a part of a cache."""
        if path.is_dir():
            self._add(path, "tmpfs", 4096, 0o555)
            self._add(path, "seal")
        else:
            self._add(path, "bind", os.fsencode(os.devnull))
            if kind == "denied":
                self._add(path, "seal")

    def add_link(self, link: Path, target: Path) -> None:
        """Add a symbolic link."""
        if self._find_private(link):
            self._make_folders(link.parent)
            self._add(link, "link", os.fsencode(target))

    def add_file(self, path: Path, content: bytes, mode: int) -> None:
        """Add a file in a private folder."""
        self._make_folders(path.parent)
        self._add(path, "file", content, mode)

    def finish(self) -> tuple[Step, ...]:
        """Return the steps, outer folders first; the folder with the layers is covered last."""
        tops: list[Path | None] = [
            path
            for path in self._wishes
            if self._wishes[path] == "private" and self._find_private(path) == path
        ]
        tops.sort(key=lambda path: path == _TEMPORARY)
        layers = os.fsencode(_TEMPORARY) + b"/" + _LAYERS
        found: list[Step] = (
            [("folder", layers), ("tmpfs", layers, self._memory, 0o755)] if self._caches else []
        )
        for top in [None, *tops]:
            own = sorted((each for each in self._steps if each[0] == top), key=lambda each: each[1])
            found += [("enter", os.fsencode(top))] if top else []
            found += [step for _, _, step in own]
        return (*found, ("tmpfs", b"/dev/shm", self._memory, 0o755), ("proc", b"/proc"))

    def _add(self, path: Path, kind: str, *more: Any) -> None:
        self._steps.append((self._find_private(path), len(path.parts), (kind, os.fsencode(path), *more)))

    def _find_private(self, path: Path) -> Path | None:
        """Return the outermost private folder that a path is, or is in."""
        around = [each for each in (path, *path.parents) if self._wishes.get(each) == "private"]
        return around[-1] if around else None

    def _make_folders(self, path: Path) -> None:
        """Make a folder in a private one, with those around it."""
        top = self._find_private(path)
        for each in reversed((path, *path.parents)):
            if top and top in each.parents and each not in self._made:
                self._made.add(each)
                self._add(each, "folder")


_LAYERS = b".layers"


def list_identities(paths: Sequence[str]) -> list[tuple[int, int]]:
    """Return which files and folders these are now. While one is mounted no other gets its number."""
    found = []
    for each in paths:
        try:
            status = os.stat(each)  # noqa: PTH116 (dozens for each command)
        except OSError:  # it has gone
            found.append((0, 0))
        else:
            found.append((status.st_dev, status.st_ino))
    return found
