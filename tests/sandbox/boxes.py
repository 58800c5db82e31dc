"""Make each sandbox that works on this machine, run commands in it, and look for what they leave running."""

from __future__ import annotations

import asyncio
import os
import zlib
from pathlib import Path

import pytest

from sandbox.backends import landlock
from sandbox.backends.bubblewrap import Bubblewrap, Resident, probe_bubblewrap, probe_overlays
from sandbox.backends.constraints import Constraints
from sandbox.backends.landlock import Landlock
from sandbox.backends.selection import _iterate_bwrap_programs
from sandbox.backends.unconfined import Unconfined
from sandbox.process.command import Command, Completed, Sandbox


def bwrap() -> Path:
    """The bubblewrap to test with; the tests that need it are skipped where none works."""
    for program in _iterate_bwrap_programs():
        if not probe_bubblewrap(program, privilege()):
            return program
    pytest.skip("no bubblewrap that works on this machine")


def privilege() -> str:
    return "root" if os.geteuid() == 0 else "user"


def needs_landlock() -> None:
    if reason := landlock.explain_unavailability():
        pytest.skip(reason)


def make(name: str, root: Path, spill: Path | None = None, *, network: bool = False) -> Sandbox:
    if name == "landlock":
        needs_landlock()
        return Landlock(Constraints(root, spill=spill, network=network))
    if name == "unconfined":
        return Unconfined(root, spill=spill)
    chosen = "user" if name.startswith("bubblewrap-user") else privilege()
    bounds = Constraints(root, spill=spill, network=network)
    overlays = probe_overlays(bwrap(), chosen)
    resident: Resident = "always" if name.endswith("-resident") else "never"
    return Bubblewrap(bounds, program=bwrap(), privilege=chosen, overlays=overlays, resident=resident)


_FRESH = ("bubblewrap", "bubblewrap-user")
"""The second is bubblewrap with a user namespace, as for an ordinary user, also when root runs the tests."""

_RESIDENT = tuple(f"{each}-resident" for each in _FRESH)

IS_STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1")) > 1

CONFINED = (*_FRESH, *(_RESIDENT if IS_STRESS else ()), "landlock")


def draw_confined(test: str) -> tuple[str, ...]:
    """The sandboxes that a test runs in: all under stress, else one of three is a resident one for some tests."""
    if IS_STRESS:
        return CONFINED
    drawn = zlib.crc32(test.encode()) % 4
    return (
        tuple(f"{each}-resident" if drawn == at else each for at, each in enumerate(CONFINED[:2]))
        + CONFINED[2:]
    )


def run(box: Sandbox, cwd: Path, *argv: str, **options: object) -> Completed:
    command = Command(argv=argv, cwd=cwd, **options)  # type: ignore[arg-type]
    return asyncio.run(box.run(command))


def sh(box: Sandbox, cwd: Path, script: str, **options: object) -> Completed:
    return run(box, cwd, "/bin/sh", "-c", script, **options)


def living(word: str) -> list[int]:
    """The processes that mention a word in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if word.encode() in line:
            found.append(int(folder.name))
    return found
