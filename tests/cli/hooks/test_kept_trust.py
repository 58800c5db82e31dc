"""Trust in a repository when our own hooks are installed and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "r")
    repo.write("a.py", "x = 1\n")
    repo.write(".pre-commit-config.yaml", "repos: []\n")
    repo.commit_all()
    return repo


def say(repo: Repo, *words: str) -> str:
    done = run(*words, cwd=repo.root)
    assert done.code == 0, done.err
    return done.out


def state(repo: Repo) -> str:
    return say(repo, "trust", "--list").partition("\n")[0].rpartition(": ")[2]


def put_hook(repo: Repo, text: str) -> None:
    path = repo.root / ".git/hooks/pre-commit"
    path.write_text(text)
    path.chmod(0o755)


def test_what_was_trusted_stays_trusted(repo: Repo) -> None:
    put_hook(repo, "#!/bin/sh\necho own\n")
    say(repo, "trust")
    say(repo, "hook", "install")
    assert state(repo) == "trusted"
    say(repo, "hook", "uninstall")
    assert state(repo) == "trusted"
    put_hook(repo, "#!/bin/sh\necho other\n")
    assert state(repo) == "changed since it was trusted"


def test_our_hooks_alone_need_no_trust(repo: Repo) -> None:
    say(repo, "hook", "install")
    assert state(repo) == "trusted"
    put_hook(repo, "#!/bin/sh\npre-commit run\n")
    assert state(repo) == "changed since it was trusted"


def test_what_was_not_trusted_is_not_trusted_by_an_installation(repo: Repo) -> None:
    put_hook(repo, "#!/bin/sh\necho own\n")
    say(repo, "hook", "install")
    assert state(repo) == "not trusted"
