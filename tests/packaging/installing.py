"""Install the wheel as its users do, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
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
    for entry, there in _list_dependencies(programs / "python"):
        there.symlink_to(entry)
    return programs


def copy_dependencies(python: Path) -> None:
    """Put the packages of the environment that runs the tests, but for the checkout, into the one of this Python.

    Hard links where they can be: a sandbox shows that environment, but not what symbolic links in it lead to.
    """
    for entry, there in _list_dependencies(python):
        if entry.name in _LARGE:
            there.symlink_to(entry)
        elif entry.is_dir():
            shutil.copytree(entry, there, copy_function=_link_or_copy)
        else:
            _link_or_copy(str(entry), str(there))


_LARGE = (
    *("litellm", "openai", "botocore", "mypy", "mypyc", "huggingface_hub"),
    *("ray", "scipy", "numpy", "pip"),
)
"""Most of all files, and nothing that a project's tests import in the sandbox."""


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _list_dependencies(python: Path) -> Iterator[tuple[Path, Path]]:
    """Each package here, and its place there, where that is free."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(run(python, "-c", code, cwd=python.parent).strip())
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        there = own / entry.name
        if "patchwright" not in entry.name and entry.suffix != ".pth" and not there.exists():
            yield entry, there


if __name__ == "__main__":
    copy_dependencies(Path(sys.argv[1]))
