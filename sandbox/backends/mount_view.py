"""A command's view of the machine: the folders emptied for it, and the paths made visible in them again."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.secrets.child_environment import FOLDER_VARIABLES, find_home

PRIVATE = ("/tmp", "/var/tmp", "/run")
"""Empty for each command. /run holds the sockets of services (docker, dbus, systemd) that would do
anything on a caller's behalf; a read-only mount does not keep a process from connecting to them."""

SHOWN_IN_RUN = ("/run/current-system", "/run/opengl-driver")
"""NixOS keeps all programs behind the first."""


def list_private_folders() -> list[Path]:
    """Return the entries of PRIVATE that are real folders on this machine."""
    return [path for each in PRIVATE if (path := Path(each)).is_dir() and not path.is_symlink()]


def list_needed_paths(
    private: Sequence[Path], env: Mapping[str, str], programs: Iterable[Path], network: bool
) -> list[Path]:
    """Return the paths in emptied folders that a command needs: its toolchain, its home.

    programs: the programs to be started
    """
    below = tuple(f"{each}/" for each in private)
    named = [*env.get("PATH", "").split(os.pathsep), *(env.get(name, "") for name in FOLDER_VARIABLES)]
    paths = [_find_installation_folder(Path(each)) for each in named if each.startswith(below)]
    for program in programs:
        paths += [
            _find_installation_folder(program.parent),
            _find_installation_folder(program.resolve().parent),
        ]
    # Our own interpreter is the runner of last resort for a project's tests.
    paths += [Path(sys.prefix), Path(sys.base_prefix)]
    paths += [Path(each) for each in SHOWN_IN_RUN]
    if not find_home().is_relative_to("/run"):  # a home folder among the sockets of services is not used
        paths.append(find_home())
    if network:
        paths.append(Path("/etc/resolv.conf").resolve())
    return [path for path in dict.fromkeys(paths) if str(path).startswith(below) and path.exists()]


def resolve_existing(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that exist, links resolved."""
    return [path.resolve() for path in paths if path.exists()]


def find_served_sockets(private: Sequence[Path], shown: Iterable[Path]) -> list[Path]:
    """Return the sockets on which programs of this machine listen, except those in emptied folders.

    shown: paths in emptied folders that are visible again

    Connecting to a socket needs no right that a read-only mount removes, and some services run anything for any
    caller (docker, a terminal multiplexer, a process manager).
    """
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux, or /proc is not readable
        return []
    below = tuple(f"{each}/" for each in (*private, "/dev", "/proc", "/var/run"))
    seen = tuple(f"{each}/" for each in shown)
    names = {fields[_PATH] for line in lines[1:] if len(fields := line.split(None, _PATH)) > _PATH}
    return [Path(name) for name in sorted(names) if _is_served_socket(name, below, seen)]


_PATH = 7
"""The field of /proc/net/unix with the path; a socket without a name has none."""


def _is_served_socket(name: str, below: tuple[str, ...], seen: tuple[str, ...]) -> bool:
    if not name.startswith("/") or (name.startswith(below) and not name.startswith(seen)):
        return False
    with suppress(OSError):  # it is gone, or another container's path
        return stat.S_ISSOCK(os.lstat(name).st_mode)
    return False


def _find_installation_folder(folder: Path) -> Path:
    """Return the folder that holds bin/ and the lib/ it needs; a bin/ right under /tmp is taken alone."""
    alone = folder.name not in ("bin", "sbin") or str(folder.parent) in PRIVATE
    return folder if alone else folder.parent
