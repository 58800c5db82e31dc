"""Reports that a project's own code has spoiled: the output is read in their place, and no run ends in a traceback."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest

from tests.runners.recordings import FOLDER, PlayedSandbox, make_python, place_files, read_profiles
from tests.runners.test_recorded_runners import open_workspace
from tools.testing.suite_run import run_project

ODD = {
    "jest": [
        '{"numTotalTests": 1, "testResults": ["x"]}',
        '{"numTotalTests": 1, "numPassedTests": "many"}',
        '{"numTotalTests": 1, "testResults": [{"assertionResults": [7]}]}',
        '{"numTotalTests": 1, "testResults": 7}',
    ],
    "mocha": ['{"stats": {"passes": []}}', '{"stats": {}, "failures": [1]}', '{"stats": {}, "failures": 7}'],
    "node-22": [
        '{"type": "test:pass", "nesting": "deep", "name": "x"}\n{"type": "test:diagnostic", "said": "pass 1"}\n',
        '{"type": "test:fail", "line": "one", "name": "x"}\n{"type": "test:diagnostic", "said": "pass 1"}\n',
        '{"type": "test:pass", "file": {}, "name": []}\n{"type": "test:diagnostic", "said": "pass 1"}\n',
    ],
}


@pytest.mark.parametrize(
    ("runner", "report"), [(runner, each) for runner, reports in ODD.items() for each in reports]
)
def test_an_odd_report_ends_no_run(
    runner: str, report: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = tomllib.loads((FOLDER / runner / "pass.toml").read_text("utf-8"))
    recorded["runs"][0]["reports"] = {"report": report}
    python = make_python(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    root = tmp_path / "work"
    root.mkdir()
    place_files(root, read_profiles()[runner].cases["pass"].files)
    found = asyncio.run(run_project(open_workspace(tmp_path, PlayedSandbox(root, recorded, python)), ()))
    assert found.outcome in ("passed", "broken", "failed", "unverified", "no-tests")
    assert found.command
