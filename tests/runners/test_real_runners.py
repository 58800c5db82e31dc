"""The runners themselves, from npm and PyPI, end as they are recorded to end. Under `make stress` only."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.runners.record import enter_kit, install, record_case
from tests.runners.recordings import read_profiles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        int(os.environ.get("PATCHWRIGHT_STRESS", "1")) < 2, reason="real runners run under make stress"
    ),
]

FROM_REGISTRIES = [
    name for name, each in read_profiles().items() if each.install and "debian" not in each.install
]


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kit")


@pytest.mark.parametrize("name", FROM_REGISTRIES)
def test_a_real_runner_is_reported_as_it_was_recorded(
    name: str, kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = read_profiles()[name]
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path))
    try:
        folder = install(profile, kit)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{name} does not install here: {error}")
    with enter_kit(profile, folder):
        for case, right in profile.cases.items():
            found = record_case(profile, case, folder)
            assert found["verdict"] in right.verdicts, case
            if right.counts and not right.known:
                assert tuple(found["counts"]) == right.counts, case
