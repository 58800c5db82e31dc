"""Reports on recorded runs of real runners: no better than the runner's own, its counts, names that run again."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest

from sandbox.fs.workspace_tree import Tree
from tests.runners.recordings import PlayedSandbox, list_recordings, make_python, place_files
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace
from tools.testing.project_files import TestsNotRunnable
from tools.testing.runners import choose_launches
from tools.testing.suite_run import run_project

RECORDINGS = {f"{profile.name}/{name}": (profile, name, path) for profile, name, path in list_recordings()}


def open_workspace(folder: Path, sandbox: PlayedSandbox) -> Workspace:
    return Workspace(
        root=sandbox.root,
        files=Tree(sandbox.root),
        sandbox=sandbox,
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache"),
    )


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_run_is_reported_as_the_runner_ended_it(
    recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, name, path = RECORDINGS[recording]
    case, recorded = profile.cases[name], tomllib.loads(path.read_text("utf-8"))
    python = make_python(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    root = tmp_path / "work"
    root.mkdir()
    place_files(root, case.files)
    at = open_workspace(tmp_path, PlayedSandbox(root, recorded, python))
    report = asyncio.run(run_project(at, ()))
    assert report.outcome in case.verdicts
    if case.counts and not case.known:
        assert (report.passed, report.failed, report.errors, report.skipped) == case.counts
    commands = {each["id"]: each.get("command", "") for each in recorded.get("failing", [])}
    assert [each.id for each in report.failures][: len(commands)] == list(commands)
    for id, command in commands.items():
        assert _format_rerun(at, id, python, tmp_path) == command


def _format_rerun(at: Workspace, id: str, python: Path, folder: Path) -> str:
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    try:
        launches, _ = asyncio.run(choose_launches(at, (id,), reports))
    except TestsNotRunnable:
        return ""
    return launches[0].command.replace(str(python), "{python}").replace(str(at.root), "{root}")


def test_no_run_that_its_runner_fails_or_that_ran_nothing_passes() -> None:
    for recording, (profile, name, path) in RECORDINGS.items():
        recorded = tomllib.loads(path.read_text("utf-8"))
        if recorded["verdict"] == "passed":
            assert recorded["their_exit"] == 0, recording
            assert "passed" in profile.cases[name].verdicts, recording
            assert recorded["counts"][0], recording


def test_nearly_all_failing_names_have_been_run_again_alone() -> None:
    again = [
        each["alone"]
        for _, _, path in RECORDINGS.values()
        for each in tomllib.loads(path.read_text("utf-8")).get("failing", [])
    ]
    assert sum(again) / len(again) >= 0.9
