"""Undo, under random work by an agent's commands and then by a person, as the user of the tests and an ordinary one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.sandbox.snapshots import undo_sequences
from tests.support.stress import count_cases

SEED = os.environ.get("PATCHWRIGHT_SEED", "20261125")
SEQUENCES = count_cases(40)
"""Of each user; 5,000 of each with PATCHWRIGHT_STRESS=125."""

CHECKOUT = Path(__file__).parents[3]
NOBODY = 65534


@pytest.mark.slow
@pytest.mark.parametrize("sequence", ["20261125 3213"])
def test_sequences_that_went_wrong_once(sequence: str) -> None:
    """3213: a link became part of a repository that was made around it, and was said to be somebody else's change."""
    undo_sequences.check(sequence)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_that_a_step_changed_is_taken_back_or_named_and_nothing_of_a_persons_is_lost() -> None:
    for number in range(SEQUENCES):
        undo_sequences.check(f"{SEED} {number}")


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(os.geteuid() != 0, reason="the other test has run as an ordinary user")
def test_the_same_for_a_user_whom_modes_stop() -> None:
    python = "/usr/bin/python3"
    check = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if not Path(python).exists() or subprocess.run(check, check=False).returncode:
        pytest.skip("no Python that an ordinary user can start")
    place = Path(tempfile.mkdtemp(prefix="patchwright-code-", dir="/var/tmp"))
    try:
        shutil.copytree(CHECKOUT / "sandbox", place / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(undo_sequences.__file__, place / "undo_sequences.py")
        for path in (place, *place.rglob("*")):
            path.chmod(0o755)
        (place / "tmp").mkdir()
        os.chown(place / "tmp", NOBODY, NOBODY)
        done = subprocess.run(
            [
                *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
                *(python, str(place / "undo_sequences.py"), SEED, "0", str(SEQUENCES)),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": "/nonexistent",
                "TMPDIR": str(place / "tmp"),
                "PYTHONPATH": str(place),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        assert (done.stdout, done.returncode) == (f"{SEQUENCES} sequences\n", 0), done.stderr
    finally:
        shutil.rmtree(place, ignore_errors=True)
