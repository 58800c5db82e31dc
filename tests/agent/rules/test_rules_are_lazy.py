"""A session without rules does not import what evaluates them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.cli import CHECKOUT, environment

CODE = """
import sys
from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.turn.runtime import Runtime
from cli.settings.layers import load_settings
import tools.core.gateway, tools.edit.apply.change_writer
from pathlib import Path
load_settings(Home.from_environment(), Path.cwd(), {}, {})
print(sorted(name for name in sys.modules if name.startswith("agent.rules.")))
"""


@pytest.mark.slow
def test_without_rules_nothing_of_them_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=CHECKOUT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
