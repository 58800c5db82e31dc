"""Programs of the desktop that read and write its clipboard; never one of a workspace."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sandbox.helpers.own_programs import build_search_path, drop_planted_libraries, find_own_program
from sandbox.lazy_dataclass import dataclass

PATIENCE = 3.0
"""Seconds for one program: it asks the desktop, or the program that owns the selection."""

LARGEST = 20 << 20
"""Bytes of an image that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipboardProgram:
    """A program and its arguments.

    variable: says that its desktop is there, "" for macOS; package: to install, "" if it comes with the system
    decode: returns an image of what the program prints; patience: seconds that it may take
    """

    argv: tuple[str, ...]
    variable: str = ""
    package: str = ""
    decode: Callable[[bytes], bytes] = bytes
    patience: float = PATIENCE

    def fits(self, env: Mapping[str, str]) -> bool:
        """Return whether its desktop is there."""
        return bool(env.get(self.variable)) if self.variable else sys.platform == "darwin"


def decode_apple_data(printed: bytes) -> bytes:
    """Return the bytes of AppleScript's `«data PNGf89504E47…»`; b"" if it is none."""
    found = re.search(rb"data PNGf([0-9A-Fa-f]+)", printed)
    return bytes.fromhex(found[1].decode()) if found and len(found[1]) % 2 == 0 else b""


def decode_base64(printed: bytes) -> bytes:
    """Return the bytes of a text in base64; b"" if it is none."""
    try:
        return base64.b64decode(printed.strip(), validate=True)
    except ValueError:
        return b""


_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms, System.Drawing;"
    " $image = [System.Windows.Forms.Clipboard]::GetImage();"
    " if ($image) { $stream = New-Object System.IO.MemoryStream;"
    " $image.Save($stream, [System.Drawing.Imaging.ImageFormat]::Png);"
    " [Convert]::ToBase64String($stream.ToArray()) }"
)
"""Prints the image of the clipboard of Windows: its consoles change bytes, so in base64."""

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
    ClipboardProgram(
        argv=("powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", _POWERSHELL),
        variable="WSL_DISTRO_NAME",
        decode=decode_base64,
        patience=10.0,
    ),
    ClipboardProgram(argv=("pngpaste", "-"), package="pngpaste"),
    ClipboardProgram(argv=("osascript", "-e", "get the clipboard as «class PNGf»"), decode=decode_apple_data),
)

TEXT_WRITERS = (
    ClipboardProgram(argv=("wl-copy",), variable="WAYLAND_DISPLAY", package="wl-clipboard"),
    ClipboardProgram(argv=("xclip", "-selection", "clipboard", "-i"), variable="DISPLAY", package="xclip"),
    ClipboardProgram(argv=("xsel", "--clipboard", "--input"), variable="DISPLAY", package="xsel"),
    ClipboardProgram(argv=("pbcopy",)),
)


def find_program(
    programs: Sequence[ClipboardProgram], env: Mapping[str, str] = os.environ
) -> ClipboardProgram | None:
    """Return the first program that fits the desktop and is installed, by its absolute path."""
    for each in programs:
        if each.fits(env) and (path := find_own_program(each.argv[0])):
            return replace(each, argv=(path, *each.argv[1:]))
    return None


def advise_program(programs: Sequence[ClipboardProgram], env: Mapping[str, str] = os.environ) -> str:
    """Return in a sentence which program is missing."""
    fitting = [each for each in programs if each.fits(env) and each.package]
    if not fitting:
        return "there is no desktop here whose clipboard could be read (no WAYLAND_DISPLAY, no DISPLAY)"
    return f"install {' or '.join(each.package for each in fitting)}"


def read_clipboard(program: ClipboardProgram) -> bytes:
    """Return the image that a program prints, b"" if it fails."""
    try:
        done = subprocess.run(
            program.argv,
            env=_make_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=program.patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # removed since it was found, or its desktop does not answer
        return b""
    image = program.decode(done.stdout) if done.returncode == 0 and len(done.stdout) <= 2 * LARGEST else b""
    return image if len(image) <= LARGEST else b""


def write_clipboard(program: ClipboardProgram, text: str) -> bool:
    """Give a text to a program; return whether it took it. It goes on in the background, as the selection's owner."""
    try:
        done = subprocess.run(
            program.argv,
            env=_make_environment(),
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=program.patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _make_environment() -> dict[str, str]:
    return {**drop_planted_libraries(os.environ), "PATH": build_search_path()}
