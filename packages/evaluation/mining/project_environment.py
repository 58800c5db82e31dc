"""The virtual environment that a project's tests run in, which must not hold the answers to its tasks."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from packages.evaluation.mining.fix_commits import is_test_path
from packages.evaluation.suites.source_folder import GitHistory, is_bare_repository
from sandbox.errors import Fault, UserError
from tools.testing.python import VENVS

_LAYOUTS = ("src/", "")
"""Folders of a repository that hold its packages."""

_NO_MODULES = frozenset(("setup.py", "conftest.py", "noxfile.py", "tasks.py"))
"""Programs at the top of a repository that nobody imports from an installation."""


def activate_environment(repository: Path) -> str:
    """Put the repository's own virtual environment first, unless one is active; return its folder, "" without one.

    Sandboxed commands see what is on the PATH. Raises UserError if a copy of the project is installed there.
    """
    own = ""
    if not os.environ.get("VIRTUAL_ENV"):
        for name in VENVS:
            place = repository.resolve() / name
            if (place / "bin" / "python").exists():
                own = str(place)
                break
    if environment := os.environ.get("VIRTUAL_ENV") or own:
        refuse_installed_copy(repository, Path(environment))
    if own:
        os.environ["VIRTUAL_ENV"] = own
        os.environ["PATH"] = os.pathsep.join([f"{own}/bin", os.environ.get("PATH", os.defpath)])
    return own


def refuse_installed_copy(repository: Path, environment: Path) -> None:
    """Raise UserError if an environment holds a copy of the project's modules: the agent would read the right code
    there, and tests that import it would not see what the agent changes."""
    if not (is_bare_repository(repository) or (repository / ".git").exists()):
        return  # whoever asks for its history says so
    listed = GitHistory(repository).run("ls-tree", "-r", "-z", "--name-only", "HEAD")
    modules = {
        path.removeprefix(layout)
        for path in os.fsdecode(listed).split("\0")
        for layout in _LAYOUTS
        if path.startswith(layout) and path.endswith(".py") and not is_test_path(path)
    }
    for packages in sorted(environment.glob("lib/python3*/site-packages")):
        for module in sorted(modules - _NO_MODULES):
            if (packages / module).is_file():
                name = PurePosixPath(module).parts[0].removesuffix(".py")
                raise UserError(
                    Fault.CONFIGURATION,
                    f"{name!r} is installed in {str(environment)!r}: agents would find the right code there",
                    "Install the project editable (pip install -e .), or remove it from there.",
                )
