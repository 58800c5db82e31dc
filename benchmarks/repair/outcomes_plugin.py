"""A pytest plugin that writes how each test came out: `-p outcomes_plugin`, the file named by OUTCOMES."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_found: dict[str, str] = {}


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _found[report.nodeid] = "not-collected"


def pytest_runtest_logreport(report: Any) -> None:
    if report.failed:
        _found[report.nodeid] = "failed"
    elif report.skipped:
        _found.setdefault(report.nodeid, "skipped")
    elif report.when == "call":
        _found.setdefault(report.nodeid, "passed")


def pytest_unconfigure(config: Any) -> None:
    Path(os.environ["OUTCOMES"]).write_text(json.dumps(_found), "utf-8")
