"""For tests of whole sessions that run commands unasked: without a sandbox, a session has to ask first."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.backends.selection import choose_sandbox


def needs_confinement(root: Path) -> None:
    """Skip the test on a machine that confines no commands."""
    if choose_sandbox(root).name == "unconfined":
        pytest.skip("no sandbox works on this machine")
