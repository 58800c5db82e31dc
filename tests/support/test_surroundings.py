"""What every test finds around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.backends import selection
from tests.support.cli import run

pytestmark = pytest.mark.slow


def test_no_session_of_a_test_probes_the_sandbox_again(isolated: Path, tmp_path: Path) -> None:
    cache = isolated / "patchwright" / "cache"
    if not any(cache.glob("*.json")):
        pytest.skip("bubblewrap does not work here")
    before = {each.name: each.stat().st_mtime_ns for each in cache.iterdir()}
    assert selection.choose_sandbox(tmp_path, cache=cache).name == "bubblewrap"
    assert run("doctor", cwd=tmp_path).code == 0
    assert {name: (cache / name).stat().st_mtime_ns for name in before} == before
