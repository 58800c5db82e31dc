"""The environment in which mined tests run: the project's own, without an installed copy of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from packages.evaluation.mining.project_environment import activate_environment
from sandbox.errors import UserError
from tests.support.cli import git
from tests.support.evaluation_tasks import write_tree


def make_project(folder: Path, files: dict[str, str], installed: dict[str, str]) -> Path:
    """Make a repository with an environment that has these files in its site-packages."""
    write_tree(folder, {**files, ".venv/bin/python": "", ".gitignore": ".venv\n"})
    write_tree(folder / ".venv/lib/python3.11/site-packages", installed)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Begin")
    return folder


def test_an_installed_copy_of_the_project_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    before = os.environ["PATH"]
    monkeypatch.setenv("PATH", before)
    package = {"src/shop/cart.py": "", "src/shop/__init__.py": "", "tests/__init__.py": "", "setup.py": ""}
    for name, files, installed in (
        ("package", package, {"shop/cart.py": "", "shop/__init__.py": ""}),
        ("module", {"shop.py": ""}, {"shop.py": ""}),
    ):
        with pytest.raises(
            UserError, match=r"'shop' is installed in .*: agents would find the right code"
        ) as told:
            activate_environment(make_project(tmp_path / name, files, installed))
        assert "pip install -e" in told.value.hint
        assert os.environ["PATH"] == before
    editable = {"shop.pth": "/somewhere/src", "tests/__init__.py": "", "setup.py": "", "shopping/cart.py": ""}
    place = make_project(tmp_path / "editable", package, editable)
    assert activate_environment(place) == str(place / ".venv")
    assert os.environ["PATH"].startswith(f"{place}/.venv/bin:")
    monkeypatch.setenv(
        "VIRTUAL_ENV", str(tmp_path / "package/.venv")
    )  # an active one counts in place of its own
    with pytest.raises(UserError, match="'shop' is installed"):
        activate_environment(place)
