"""What a project commits together: manifests with lock files, changes with their changesets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.repo import Repo, agent_writes
from tools.changes.lock_files import has_other_dependencies, list_locks_above
from tools.git.commits.session_commit import commit_session


@pytest.mark.parametrize(
    ("name", "before", "after", "follows"),
    [
        ("package.json", '{"dependencies": {}}', '{"dependencies": {"x": "1"}}', True),
        ("package.json", '{"scripts": {"a": "b"}}', '{"scripts": {"a": "c"}}', False),
        ("package.json", '{"peerDependencies": {"x": "1"}}', '{"peerDependencies": {"x": "2"}}', True),
        ("Cargo.toml", "[dependencies]\na = '1'\n", "[dependencies]\na = '2'\n", True),
        ("Cargo.toml", "[target.x.dev-dependencies]\na = '1'\n", "[profile.release]\nlto = true\n", True),
        ("pyproject.toml", "[tool.ruff]\nx = 1\n", "[tool.ruff]\nx = 2\n", False),
        ("pyproject.toml", "[dependency-groups]\ndev = []\n", "[dependency-groups]\ndev = ['x']\n", True),
        ("go.mod", "module x\n", "module x\n\nrequire y v1.0.0\n", True),
        ("Gemfile", "gem 'a'\n", "# why\ngem 'a'\n", False),
        ("package.json", "{", "{}", False),
    ],
)  # fmt: skip
def test_changes_that_a_lock_file_has_to_follow(name: str, before: str, after: str, *, follows: bool) -> None:
    assert has_other_dependencies(name, before.encode(), after.encode()) is follows


def test_the_lock_file_of_a_workspace_is_above_its_member(tmp_path: Path) -> None:
    (tmp_path / "pnpm-lock.yaml").touch()
    (tmp_path / "packages/a").mkdir(parents=True)
    found = [place for place, _ in list_locks_above(tmp_path, "packages/a/package.json")]
    assert found == ["pnpm-lock.yaml"]
    assert list(list_locks_above(tmp_path, "packages/a/x.json")) == []


LOCK = {"package.json": '{"dependencies": {}}\n', "package-lock.json": "{}\n"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "changed", "words"),
    [
        (
            LOCK,
            {"package.json": '{"dependencies": {"x": "1"}}\n'},
            "package-lock.json did not follow: npm install",
        ),
        (LOCK, {"package.json": '{"dependencies": {"x": "1"}}\n', "package-lock.json": "{ }\n"}, ""),
        (LOCK, {"package.json": '{"dependencies": {}, "scripts": {}}\n'}, ""),
        ({".changeset/config.json": "{}", "a.ts": "x\n"}, {"a.ts": "y\n"}, "npx changeset"),
        ({".changeset/config.json": "{}", "a.ts": "x\n"}, {"a.ts": "y\n", ".changeset/a.md": "z\n"}, ""),
        ({".changeset/config.json": "{}", "README.md": "x\n"}, {"README.md": "y\n"}, ""),
        (
            {"pyproject.toml": "[tool.towncrier]\ndirectory = 'news/'\n", "a.py": "x = 1\n"},
            {"a.py": "x = 2\n"},
            "in news/",
        ),
    ],
)
def test_what_a_commit_lacks_is_told(
    files: dict[str, str], changed: dict[str, str], words: str, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "r")
    for path, text in files.items():
        repo.write(path, text)
    repo.commit_all()
    at = repo.workspace()
    for path, text in changed.items():
        agent_writes(at, path, text)
    notes = asyncio.run(commit_session(at, "Change it")).notes
    assert words in "\n".join(notes)
    assert bool(notes) is bool(words)
