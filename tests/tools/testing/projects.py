"""Projects with tests, for tests of `run_tests`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.tools.workspaces import call, put, workspace
from tools.core.action import Observation
from tools.core.tool_settings import TestSettings, ToolSettings
from tools.core.workspace import Workspace
from tools.testing import run_tests
from tools.testing.report import TestReport

Make = Callable[..., Workspace]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a workspace whose active virtual environment has pytest without the plugins of this run: they cost time."""
    python = tmp_path / "venv" / "bin" / "python"
    put(
        tmp_path,
        {"venv/bin/python": f'#!/bin/sh\nPYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec {sys.executable} "$@"\n'},
    )
    python.chmod(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))

    def make(files: Mapping[str, str | bytes], **tests: Any) -> Workspace:
        return workspace(tmp_path, files, settings=ToolSettings(tests=TestSettings(**tests)))

    return make


def run(at: Workspace, *targets: str) -> tuple[Observation, TestReport]:
    """Run tests through the tool; its observation and the report that it left behind."""
    observation = call(run_tests, at, targets=list(targets))
    report = at.facts["tests"]
    assert isinstance(report, TestReport)
    assert observation.data["report"] == report.as_data()
    assert set(observation.data) <= {"report", "missing"}
    return observation, report


def counts(report: TestReport) -> tuple[int, int, int, int]:
    """Passed, failed, errors, skipped."""
    return report.passed, report.failed, report.errors, report.skipped
