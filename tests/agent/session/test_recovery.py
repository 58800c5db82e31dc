"""A session begins by ending what a killed process had begun to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.execution import prepare_files
from sandbox.fs.transaction.journal import Journal
from sandbox.fs.transaction.transaction_plan import plan_transaction
from sandbox.fs.transaction.transactions import Write
from sandbox.fs.workspace_tree import Tree
from tests.support.cli import run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


def half_written(root: Path) -> None:
    """What a process leaves that is killed between its decision to write two files and the writing."""
    tree = Tree(root)
    writes = [
        Write(path=name, content=b"new\n", before=compute_fingerprint(b"old\n"))
        for name in ("a.txt", "b.txt")
    ]
    record = plan_transaction(tree, writes)
    journal = Journal(Home.from_environment().get_project_folder(root) / "journal")
    journal.lock().close()
    journal.write(record, durable=False)
    prepare_files(tree, record, writes)
    journal.mark_commit()


def test_it_is_finished_and_told_once(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    for name in ("a.txt", "b.txt"):
        repo.write(name, "old\n")
    repo.commit_all()
    half_written(repo.root)
    model = script(tmp_path, [{"text": "hello"}])
    told = []
    for mode in ("read-only", "workspace", "workspace"):
        result = run("run", "hi", "--model", model, "--mode", mode, "--output", "stream-json", cwd=repo.root)
        told.append([each["detail"] for each in result.events if each.get("name") == "recovery"])
    assert told == [[], ["an interrupted edit of 2 files was finished"], []]
    assert (repo.read("a.txt"), repo.read("b.txt")) == ("new\n", "new\n")
