"""Programs of the desktop that read and write its clipboard; never one of a workspace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.helpers.own_programs import build_search_path, drop_planted_libraries, find_own_program

PATIENCE = 3.0
"""Seconds for one program: it asks the desktop, or the program that owns the selection."""

LARGEST = 20 << 20
"""Bytes of an image that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipboardProgram:
    """A program and its arguments. variable: says that its desktop is there, "" for macOS"""

    argv: tuple[str, ...]
    variable: str = ""
    package: str = ""

    def fits(self, env: Mapping[str, str]) -> bool:
        """Return whether its desktop is there."""
        return bool(env.get(self.variable)) if self.variable else sys.platform == "darwin"


IMAGE_READERS = (
    ClipboardProgram(
        argv=("wl-paste", "--no-newline", "--type", "image/png"),
        variable="WAYLAND_DISPLAY",
        package="wl-clipboard",
    ),
    ClipboardProgram(
        argv=("xclip", "-selection", "clipboard", "-t", "image/png", "-o"),
        variable="DISPLAY",
        package="xclip",
    ),
    ClipboardProgram(argv=("pngpaste", "-"), package="pngpaste"),
)

TEXT_WRITERS = (
    ClipboardProgram(argv=("wl-copy",), variable="WAYLAND_DISPLAY", package="wl-clipboard"),
    ClipboardProgram(argv=("xclip", "-selection", "clipboard", "-i"), variable="DISPLAY", package="xclip"),
    ClipboardProgram(argv=("xsel", "--clipboard", "--input"), variable="DISPLAY", package="xsel"),
    ClipboardProgram(argv=("pbcopy",)),
)


def find_program(
    programs: Sequence[ClipboardProgram], env: Mapping[str, str] = os.environ
) -> tuple[str, ...] | None:
    """Return the command line of the first program that fits the desktop and is installed, by its absolute path."""
    for each in programs:
        if each.fits(env) and (path := find_own_program(each.argv[0])):
            return (path, *each.argv[1:])
    return None


def advise_program(programs: Sequence[ClipboardProgram], env: Mapping[str, str] = os.environ) -> str:
    """Return in a sentence which program is missing."""
    fitting = [each for each in programs if each.fits(env) and each.package]
    if not fitting:
        return "there is no desktop here whose clipboard could be read (no WAYLAND_DISPLAY, no DISPLAY)"
    return f"install {' or '.join(each.package for each in fitting)}"


def read_clipboard(argv: Sequence[str]) -> bytes:
    """Return what a program prints, b"" if it fails."""
    try:
        done = subprocess.run(
            argv,
            env=_make_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # removed since it was found, or its desktop does not answer
        return b""
    return done.stdout if done.returncode == 0 and len(done.stdout) <= LARGEST else b""


def write_clipboard(argv: Sequence[str], text: str) -> bool:
    """Give a text to a program; return whether it took it. It goes on in the background, as the selection's owner."""
    try:
        done = subprocess.run(
            argv,
            env=_make_environment(),
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _make_environment() -> dict[str, str]:
    return {**drop_planted_libraries(os.environ), "PATH": build_search_path()}
