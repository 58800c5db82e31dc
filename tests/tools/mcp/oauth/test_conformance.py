"""The protocol's own conformance suite, where it is installed: `npm install @modelcontextprotocol/conformance node@22`.

CONFORMANCE names the folder with its `node_modules`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT, environment

FOLDER = Path(os.environ.get("CONFORMANCE", "/nonexistent"))

SUITE = FOLDER / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

REPORT = CHECKOUT / "benchmarks/results/2026-11-26-mcp-conformance.md"

PASSING = re.findall(r"`(auth/[a-z0-9-]+)`(?=[^\n]*\| pass)", REPORT.read_text("utf-8"))
"""Scenarios that pass, by the report."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SUITE.exists(), reason="the conformance suite is not installed"),
]


@pytest.mark.parametrize("scenario", PASSING)
def test_a_scenario_passes(tmp_path: Path, scenario: str) -> None:
    node = next(FOLDER.glob("node_modules/node*/bin/node"))
    client = f"{sys.executable} -m tests.tools.mcp.oauth.conformance_client"
    words = ("client", "--command", client, "--scenario", scenario, "--timeout", "60000", "-o", str(tmp_path))
    done = subprocess.run(
        [str(node), str(SUITE), *words],
        cwd=CHECKOUT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    found = [json.loads(each.read_text("utf-8")) for each in tmp_path.glob("**/checks.json")]
    assert found, done.stdout + done.stderr
    assert [each for each in found[0] if each["status"] == "FAILURE"] == []
    assert [each for each in found[0] if each["status"] == "SUCCESS"]
