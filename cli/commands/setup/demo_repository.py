"""Repository of the demo: the example project, rebuilt from its patches with the same commits every time."""

from __future__ import annotations

from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitRunner, strip_git_variables
from sandbox.lazy_pattern import compile_lazily

# Beside the floors, in a checkout as in the wheel.
HISTORY = Path(__file__).parents[3] / "examples" / "ledger" / "history"

# Written into the copy, so that commits can be made in it where nobody has told git a name yet, and so
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
    patches = b"".join(patch.read_bytes() for patch in sorted(HISTORY.glob("*.patch")))
    try:
        target = target.absolute()
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # no permission, a file in the way: the system's words are passed on
        raise UserError(
            Fault.READ_ONLY, f"{str(target)!r} could not be made: {error.strerror}.", "Name another folder."
        ) from error
    _run_git(target, "-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    for name, value in SETTINGS.items():
        _run_git(target, "config", name, value)
    _run_git(target, "am", "--quiet", "--committer-date-is-author-date", "--keep-cr", stdin=patches)
    return target


def _run_git(target: Path, *arguments: str, stdin: bytes = b"") -> None:
    environment = {**strip_git_variables(_NOTHING), **NO_USER_SETTINGS, "LC_ALL": "C.UTF-8"}
    done = GitRunner(target, environment, workspace=target).run(*arguments, stdin=stdin)
    if done.returncode:  # a full disk, a git too old: its own words say it best
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise UserError(Fault.CONFIGURATION, f"git could not make the demo's repository: {said}")


_NOTHING = compile_lazily("")
"""No variable of the caller's: neither another place for git nor another identity."""
