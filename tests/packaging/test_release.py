"""`make release`: refuses what is not ready, tries both packages in bare environments, tags only when it is told to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from patchwright.version import VERSION as CURRENT
from tests.packaging.installing import CHECKOUT
from tests.packaging.installing import run as run_command
from tests.support.repo import Repo

VERSION = "1.2.3"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A project with a version and a changelog, ready but for the packages."""
    repo = Repo(tmp_path / "checkout")
    repo.write(
        "CHANGELOG.md", f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-11-25\n\n- A thing.\n"
    )
    repo.write("patchwright/version.py", f'VERSION = "{VERSION}"\n')
    repo.write(".ci/release", "")
    shutil.copy(CHECKOUT / ".ci/release", repo.root / ".ci/release")
    repo.commit_all()
    return repo


def release(root: Path, **env: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    done = subprocess.run(
        [root / ".ci/release"],
        cwd=root.parent,
        env={**os.environ, "VENV": sys.prefix, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def refusal(root: Path) -> str:
    code, out, err = release(root, TAG="1")
    assert (code, out) == (1, "")
    return err.removeprefix("make release: ").rstrip("\n")


def test_it_refuses_a_work_tree_with_changes(repo: Repo) -> None:
    repo.write("new.txt", "x\n")
    assert refusal(repo.root) == "the work tree is not clean: commit or stash first (git status)"


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (
            "patchwright/version.py",
            'VERSION = "1.2.4"\n',
            'CHANGELOG.md has no line "## [1.2.4] - YYYY-MM-DD"',
        ),
        ("CHANGELOG.md", f"## [{VERSION}]\n", f'CHANGELOG.md has no line "## [{VERSION}] - YYYY-MM-DD"'),
        (
            "patchwright/version.py",
            'VERSION = "1.2.3.dev0"\n',
            "1.2.3.dev0 in patchwright/version.py is not of the form X.Y.Z",
        ),
    ],
)
def test_it_refuses_a_version_without_its_section(repo: Repo, path: str, text: str, why: str) -> None:
    repo.write(path, text)
    repo.commit_all()
    assert refusal(repo.root) == why


@pytest.mark.slow
def test_it_refuses_a_tag_that_exists(repo: Repo) -> None:
    repo.git("tag", f"v{VERSION}")
    assert refusal(repo.root) == f"the tag v{VERSION} exists: raise the version"


@pytest.mark.slow
def test_packages_that_cannot_be_built_set_no_tag(repo: Repo) -> None:
    code, _, err = release(repo.root, TAG="1")
    assert code == 1
    assert err.endswith("make release: the packages could not be built\n")
    assert repo.git("tag") == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_packages_are_built_tried_and_tagged(tmp_path: Path) -> None:
    """The real ones; their dependencies are those of the environment that runs the tests."""
    root = tmp_path / "checkout"
    names = run_command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT)
    for name in filter(None, names.split("\0")):
        if (CHECKOUT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, root / name)
    repo = Repo(root)
    repo.commit_all()
    installer = tmp_path / "install"
    installer.write_text(
        f'#!/bin/sh\ncd "{CHECKOUT}" && exec "{sys.executable}" -m tests.packaging.installing "$1"\n'
    )
    installer.chmod(0o755)

    code, out, err = release(root, TAG="1", INSTALL_LOCKED=str(installer))

    assert code == 0, out + err
    assert repo.git("tag").split() == [f"v{CURRENT}"]
    wheel, sdist = (
        root / f"dist/patchwright-{CURRENT}-py3-none-any.whl",
        root / f"dist/patchwright-{CURRENT}.tar.gz",
    )
    assert sorted((root / "dist").iterdir()) == sorted((wheel, sdist))
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "patchwright/py.typed", "cli/app.py"} <= packed
    assert repo.git("status", "--porcelain") == "", "dist/ is ignored"
