"""Repository of the demo: the example project, rebuilt from its patches with the same commits every time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import Fault, UserError
from sandbox.process.own_programs import build_search_path, require_own_program

if TYPE_CHECKING:
    from collections.abc import Mapping

# Beside the floors, in a checkout as in the wheel.
HISTORY = Path(__file__).parents[3] / "examples" / "ledger" / "history"

# Written into the copy, so that commits can be made in it where no user name is configured yet, and so
# that the user's own settings neither change its bytes nor ask for a signature.
SETTINGS = {
    "user.name": "Patchwright Demo",
    "user.email": "demo@example.org",
    "commit.gpgsign": "false",
    "core.autocrlf": "false",
}


def create_demo_repository(target: Path) -> Path:
    """Create the demo's repository in `target`, an empty or a new folder, and return its absolute path.

    Raises UserError if the folder is not empty or git is missing.
    """
    if target.is_dir() and any(target.iterdir()):
        raise UserError(Fault.USAGE, f"{str(target)!r} is not empty.", "Name a new folder.")
    patches = sorted(str(patch) for patch in HISTORY.glob("*.patch"))
    try:
        target = target.absolute()
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # no permission, a file in the way: the system's message is passed on
        raise UserError(
            Fault.READ_ONLY, f"{str(target)!r} could not be made: {error.strerror}.", "Name another folder."
        ) from error
    _run_git(target, "-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    for name, value in SETTINGS.items():
        _run_git(target, "config", name, value)
    _run_git(target, "am", "--quiet", "--committer-date-is-author-date", "--keep-cr", *patches)
    return target


def _run_git(target: Path, *arguments: str) -> None:
    import subprocess

    command = [require_own_program("git"), "-C", str(target), *arguments]
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, env=_build_git_environment(os.environ)
        )
    except subprocess.CalledProcessError as error:  # a full disk, a git too old: show git's own message
        said = error.stderr.strip() or f"exit code {error.returncode}"
        raise UserError(Fault.CONFIGURATION, f"git could not make the demo's repository: {said}") from error


def _build_git_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that redirect git or load the user's settings."""
    kept = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    return kept | {
        "PATH": build_search_path(),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
    }
