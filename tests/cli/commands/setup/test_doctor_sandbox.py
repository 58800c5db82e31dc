"""`doctor --sandbox` lists what commands can see, and commands see just that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from cli.commands.setup.doctor_sandbox import run_sandbox_report
from sandbox.errors import UserError
from tests.sandbox.boxes import bwrap, make, sh
from tests.support.cli import git, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    return root


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a-home"
    for name in (".cargo", ".ssh", "data", "notes"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text(f"content of {name}")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATCHWRIGHT_VISIBLE_PATHS", json.dumps([f"{folder}/data"]))
    return folder


@pytest.mark.slow
def test_commands_see_what_it_lists(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bwrap()
    assert run_sandbox_report(project, as_json=True) == Exit.DONE
    page = json.loads(capsys.readouterr().out)
    assert page["sandbox"] == "bubblewrap"
    by_path = {each["path"]: each for each in page["visible"]}
    assert by_path[f"{home}/.cargo"]["kind"] == "cache"
    assert by_path[f"{home}/data"]["reason"] == "the setting visible_paths"
    assert str(home) in page["empty"]
    assert f"{home}/.ssh" in page["hidden"]
    seen = sh(make("bubblewrap", project), project, "ls -d /* ; ls -A ~").stdout.text().split()
    tops = {each for each in seen if each.startswith("/")}
    known = [
        *by_path,
        *page["empty"],
        page["workspace"],
        "/dev",
        "/proc",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/lib32",
    ]
    assert not [top for top in tops if not any(f"{path}/".startswith(f"{top}/") for path in known)]
    assert set(seen) - tops <= {".cargo", "data", ".gitconfig"}


def test_the_page_gives_the_reason_for_each_place(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_sandbox_report(project, as_json=False) == Exit.DONE
    page = capsys.readouterr().out
    assert f"  {project}: the workspace\n" in page
    assert f"  {home}/.cargo: caches in the home folder" in page
    assert f"  {home}/data: the setting visible_paths (read)\n" in page
    assert "notes" not in page


@pytest.mark.slow
def test_what_a_project_may_not_show_is_refused_by_name(project: Path, home: Path) -> None:
    (project / "patchwright.toml").write_text('visible_paths = ["/"]\n')
    with pytest.raises(
        UserError, match=r"sets 'visible_paths', which a project may not set before you trust it"
    ):
        run_sandbox_report(project, as_json=False)
    done = run("doctor", "--sandbox", cwd=project)
    assert done.code == Exit.CONFIGURATION
    assert "visible_paths" in done.err


def test_places_of_keys_are_refused(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHWRIGHT_VISIBLE_PATHS", json.dumps([f"{home}/.ssh"]))
    with pytest.raises(UserError, match="may never read"):
        run_sandbox_report(project, as_json=False)
