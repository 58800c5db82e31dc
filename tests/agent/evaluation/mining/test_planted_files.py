"""Files that a mined project's own tests plant: links and paths that lead out of the scratch folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.evaluation.mining.inject_faults import _read_tests
from agent.evaluation.mining.test_runs import restore_files
from agent.evaluation.suites.scratch_workspace import open_scratch
from agent.evaluation.tasks.task_file import BaseFiles, TaskFile
from agent.evaluation.tasks.task_writer import TaskDraft, write_task
from sandbox.errors import UserError


def test_restored_files_replace_links(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "rc").write_text("mine")
    with open_scratch() as at:
        (at.root / "mod.py").symlink_to(victim / "rc")
        (at.root / "package").symlink_to(victim)
        (at.root / "run.sh").write_text("")
        (at.root / "run.sh").chmod(0o755)
        restore_files(at, {"mod.py": b"a = 1\n", "package/rc": b"b = 1\n", "run.sh": b"true\n"})
        assert (at.root / "mod.py").read_bytes() == b"a = 1\n"
        assert (at.root / "package/rc").read_bytes() == b"b = 1\n"
        assert (at.root / "run.sh").stat().st_mode & 0o100
        restore_files(at, {"mod.py": None})
        assert not (at.root / "mod.py").exists()
        with pytest.raises(UserError, match="no path inside the folder"):
            restore_files(at, {"../mod.py": b""})
    assert (victim / "rc").read_text() == "mine"


def test_ids_of_tests_name_no_file_outside(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "key").write_text("secret")
    (root / "test_link.py").symlink_to(tmp_path / "key")
    (root / "test_a.py").write_text("a")
    failing = ["test_a.py::test_it", "test_link.py::test_it", "../key::test_it", f"{tmp_path}/key::test_it"]
    assert _read_tests(root, failing) == {"test_a.py": b"a"}


def test_a_task_has_no_file_outside_its_folder(tmp_path: Path) -> None:
    file = TaskFile(base=BaseFiles(folder="base"), check="true")
    draft = TaskDraft(
        file=file, prompt="Do it.", base_files={"a": b""}, checker_files={"../../../planted": b""}
    )
    with pytest.raises(UserError, match="no path inside the folder"):
        write_task(tmp_path / "suite/task", draft)
    assert not (tmp_path / "planted").exists()
    assert not (tmp_path / "suite/task").exists()
