"""Patchwright's own installation inside a workspace: its protected paths, and warnings where protection fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from sandbox.fs.repository import find_root

_FLOORS = os.path.realpath(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))  # noqa: PTH120
"""Parent folder of Patchwright's packages: `…/site-packages/patchwright/_floors`, or the checkout."""

_IS_CHECKOUT = not _FLOORS.endswith(f"{os.sep}_floors")

_PARTS = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
"""Parts of an environment to protect if the environment is the workspace itself, which cannot be protected whole."""


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or inside it; both absolute, links resolved."""
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


def list_installation_paths(root: Path) -> tuple[Path, ...]:
    """Return the paths in a workspace that hold Patchwright's environment and interpreter, to be protected."""
    return _list_installation_paths(os.path.realpath(root))


@lru_cache(maxsize=64)
def _list_installation_paths(root: str) -> tuple[Path, ...]:
    homes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    if not _IS_CHECKOUT:
        homes.append(str(Path(_FLOORS).parents[1]))
    places: list[str] = []
    for spelled in dict.fromkeys(homes):
        real = os.path.realpath(spelled)
        if real == root:
            places += [f"{root}{os.sep}{part}" for part in _PARTS]
        elif is_inside(real, root):
            places.append(real)
        if os.path.islink(spelled) and is_inside(os.path.dirname(spelled), root):  # noqa: PTH114, PTH120 (strings)
            places.append(spelled)
    unique = dict.fromkeys(places)
    return tuple(
        Path(each) for each in unique if not any(each != other and is_inside(each, other) for other in unique)
    )


def is_own_file(path: Path, root: Path) -> bool:
    """Whether a path (links resolved) belongs to Patchwright's installation in the workspace `root`."""
    return any(is_inside(str(path), str(place)) for place in list_installation_paths(root))


def build_exposure_warning(root: Path) -> str:
    """Return a warning if commands of this workspace can still change Patchwright's own code, else ""."""
    real = os.path.realpath(root)
    loaded = dict.fromkeys(os.path.realpath(each) for each in (_FLOORS, *sys.path))
    own = [Path(each) for each in loaded if is_inside(each, real)]
    exposed = [str(each) for each in own if not is_own_file(each, Path(real))]
    if exposed:
        return (
            f"Patchwright's own process takes code from this workspace ({exposed[0]!r}), and commands can change it: "
            "its next start runs that unconfined. To be safe here use one that is installed elsewhere."
        )
    if shared := next(_find_shared_files(real), ""):
        return (
            f"Files of Patchwright's own installation are hard links to files of this workspace ({shared!r}), and "
            "commands can change them. Install it with copies: UV_LINK_MODE=copy uv tool install --force patchwright"
        )
    return ""


def find_python_variable(environment: Mapping[str, str]) -> str:
    """Return the variable that makes Python load code from the current folder or its repository, else ""."""
    try:
        here = Path.cwd()
    except OSError:  # the current folder is gone
        return ""
    root = os.path.realpath(find_root(here) or here)
    for name in ("PYTHONPATH", "PYTHONHOME"):
        folders = environment.get(name, "").split(os.pathsep) if environment.get(name) else ()
        if any(not os.path.isabs(each) or is_inside(os.path.realpath(each), root) for each in folders):  # noqa: PTH117
            return f"{name}={environment[name]!r}"
    return ""


def _find_shared_files(root: str) -> Iterator[str]:
    """Yield files of the workspace's environments that are hard links to Patchwright's modules, as uv makes."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not path or f"{os.sep}site-packages{os.sep}" not in path:
            continue
        status = _stat_or_none(path)
        if status is None or status.st_nlink < 2:
            continue
        inside = path.rpartition(f"{os.sep}site-packages{os.sep}")[2]
        for packages in _find_site_packages(root):
            other = _stat_or_none(f"{packages}{os.sep}{inside}")
            if other and os.path.samestat(status, other) and not is_own_file(packages, Path(root)):
                yield f"{packages}{os.sep}{inside}"


def _find_site_packages(root: str) -> Iterable[Path]:
    """Yield the site-packages of the environments at the top of a workspace."""
    return Path(root).glob("*/lib/python3*/site-packages")


def _stat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 (of hundreds)
    except OSError:  # missing
        return None
