"""Images of the clipboard, by the program of each desktop: real programs, which print as those of the desktop do."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest

from cli.tui.clipboard.clipboard_programs import decode_apple_data, decode_base64
from cli.tui.clipboard.image_paste import paste_image
from sandbox.errors import UserError

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RAW = "printf '" + "".join(f"\\{byte:03o}" for byte in PNG) + "'"
APPLE = f"echo «data PNGf{PNG.hex().upper()}»"
WINDOWS = f'echo {base64.b64encode(PNG).decode()}; echo "$5" | grep -q GetImage || exit 1'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs, before those of the system on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def install(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    (folder / name).chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "env", "name", "script"),
    [
        ("linux", {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "wl-paste", RAW),
        (
            "linux",
            {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"},
            "xclip",
            RAW,
        ),  # no wl-clipboard is installed
        ("linux", {"DISPLAY": ":0"}, "xclip", RAW),
        ("linux", {"WSL_DISTRO_NAME": "Debian"}, "powershell.exe", WINDOWS),
        ("linux", {"WSL_DISTRO_NAME": "Debian", "DISPLAY": ":0"}, "powershell.exe", WINDOWS),
        ("darwin", {}, "pngpaste", RAW),
        ("darwin", {}, "osascript", APPLE),
    ],
)
def test_the_image_is_read_by_the_program_that_is_there(
    platform: str, env: dict[str, str], name: str, script: str, programs: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "platform", platform)
    install(programs, name, script)
    path = paste_image(tmp_path / "pasted", env)
    assert path.read_bytes() == PNG
    install(programs, name, "exit 1")
    with pytest.raises(UserError, match="holds no image"):
        paste_image(tmp_path / "pasted", env)


def test_without_a_program_the_one_to_install_is_named(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(sys, "platform", "linux")
    for env, advice in (
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "install wl-clipboard or xclip"),
        ({"DISPLAY": ":0"}, "install xclip"),
        ({}, "there is no desktop here"),
    ):
        with pytest.raises(UserError, match=advice):
            paste_image(tmp_path, env)


def test_what_is_no_image_is_none() -> None:
    assert (
        decode_apple_data(b"execution error: Can\xe2\x80\x99t make some data into the expected type.") == b""
    )
    assert decode_apple_data("«data PNGf895»".encode()) == b""
    assert decode_base64(b"no image\r\n") == b""
    assert decode_base64(b"") == b""
