"""Install the wheel as its users do, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, in an environment that points at no other Python code."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(wheel: Path, environment: Path, installer: str = "pip") -> Path:
    """The programs' folder of a fresh environment that holds the wheel.

    The dependencies are those of the environment that runs the tests, by links: all but the checkout.
    """
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=environment.parent)
    programs = environment / "bin"
    options = ("--quiet", "--no-deps", "--no-index")
    command: tuple[str | Path, ...] = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        programs / "python",
        "install",
    )
    command += ("--no-compile", *options)
    if installer == "uv":
        command = (
            Path(sys.executable).with_name("uv"),
            "pip",
            "install",
            "--python",
            programs / "python",
            *options,
        )
    run(*command, wheel, cwd=environment.parent)
    link_dependencies(programs / "python")
    return programs


def link_dependencies(python: Path) -> None:
    """Link the packages of the environment that runs the tests, but for the checkout, into the one of this Python."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = run(python, "-c", code, cwd=python.parent)
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "patchwright" not in entry.name and entry.suffix != ".pth":
            there = Path(own.strip(), entry.name)
            if not there.exists():
                there.symlink_to(entry)


if __name__ == "__main__":
    link_dependencies(Path(sys.argv[1]))
