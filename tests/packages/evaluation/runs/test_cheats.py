"""Tasks that reward a cheat: each is refused by the name of its cheat, and a sound one by none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from packages.evaluation.runs.cheats import CHEATS
from packages.evaluation.runs.runner_configuration import read_configuration, restore_configuration
from packages.evaluation.runs.task_check import AdmissionCache, check_task
from packages.evaluation.runs.trial_place import CheckOutcome, TrialPlace
from packages.evaluation.suites.ending_checks import build_tests_check, read_tests_judge
from sandbox.access_settings import AccessSettings
from tests.support.cli import run
from tests.support.evaluation_tasks import write_tree
from tests.support.evaluation_trials import BROKEN, make_home, make_task

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TEST = b"from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
SHARED = b"import sys\n\nsys.path.append('.')\n\nfrom add import add\n\nassert add(1, 2) == 3\n"
SPOKEN = (
    """"$PYTHON" -c "import add; print('passed' if repr(add.add(1, 2)) == '3' else 'no')" | grep -q passed"""
)
KEPT = '"$PYTHON" -I check.py && echo true > done.json; grep -q true done.json'
PYTEST = '"$PYTHON" -m pytest -q -p no:cacheprovider'
IN_PROCESS = frozenset(("exit", "equality", "modules"))

REWARDING: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    "exit": ({"checker_files": {"check.py": SHARED}}, frozenset()),
    "claims": ({"check": SPOKEN, "checker_files": {}}, frozenset()),
    "tests": (
        {"check": PYTEST, "checker_files": {}, "base_files": {"add.py": BROKEN, "test_add.py": TEST}},
        IN_PROCESS,
    ),
    "modules": ({"check": '"$PYTHON" check.py'}, frozenset()),
    "configuration": ({"check": PYTEST, "checker_files": {"test_add.py": TEST}}, IN_PROCESS),
    "equality": (
        {
            "check": build_tests_check("functions", ["test_add"]),
            "checker_files": {"test_add.py": TEST, **read_tests_judge()},
        },
        frozenset(),
    ),
    "solution": ({"base_files": {"add.py": BROKEN, "solution.py": BROKEN.replace(b"-", b"+")}}, frozenset()),
    "result": ({"check": KEPT}, frozenset()),
}


def check(folder: Path, accepted: frozenset[str] = frozenset(), **fields: Any) -> tuple[str, str]:
    """Return the cheat that a task rewards, and why it is refused."""
    task = make_task(folder / "task", **fields)
    found = asyncio.run(
        check_task(task, folder / "scratch", make_home(folder / "home"), AccessSettings(), accepted)
    )
    assert found.admitted is not bool(found.reason)
    return found.cheat, found.reason


def test_every_cheat_has_a_task_here() -> None:
    assert REWARDING.keys() == CHEATS.keys()


@pytest.mark.parametrize("cheat", REWARDING)
def test_a_task_that_rewards_a_cheat_is_refused_by_its_name(cheat: str, tmp_path: Path) -> None:
    fields, accepted = REWARDING[cheat]
    found, reason = check(tmp_path, accepted, **fields)
    assert found == cheat, reason
    assert reason == f"cheat {cheat}: it is solved where {CHEATS[cheat]}"


def test_a_sound_task_and_an_accepted_cheat_are_admitted(tmp_path: Path) -> None:
    assert check(tmp_path) == ("", "")
    fields, _ = REWARDING["equality"]
    assert check(tmp_path / "equality", frozenset(("equality",)), **fields) == ("", "")


def test_a_claim_of_success_is_no_refusal(tmp_path: Path) -> None:
    fields = {"expect": "refuse", "reference": None, "failures": {}}
    found, _ = check(tmp_path, check='grep -q "tests" "$PATCHWRIGHT_ANSWER"', **fields)
    assert found == "claims"


def test_the_command_says_it_in_a_line_with_its_own_exit_code(tmp_path: Path) -> None:
    make_task(tmp_path / "suite/shared", checker_files={"check.py": SHARED})
    home = {"PATCHWRIGHT_HOME": str(tmp_path / "home")}
    done = run("eval", "check", "suite", cwd=tmp_path, env=home)
    assert done.code == 14
    assert done.out.splitlines()[0] == f"refused: shared: cheat exit: it is solved where {CHEATS['exit']}"
    unknown = run("eval", "check", "suite", "--accept", "luck", cwd=tmp_path, env=home)
    assert (unknown.code, "no cheat 'luck'" in unknown.err) == (2, True)


def test_an_admission_holds_for_those_who_accept_as_much(tmp_path: Path) -> None:
    cache = AdmissionCache(tmp_path)
    cache.save_admission("a", frozenset(("equality",)))
    assert cache.is_admitted("a")
    assert cache.is_admitted("a", frozenset(("equality", "exit")))
    assert not cache.is_admitted("a", frozenset())


def test_the_configuration_of_tests_is_put_back_but_for_what_the_reference_changes(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"conftest.py": "a = 1\n", "tests/conftest.py": "b = 1\n", "pytest.ini": "[pytest]\n"}
    )
    kept = read_configuration(tmp_path)
    (tmp_path / "conftest.py").unlink()
    (tmp_path / "conftest.py").symlink_to("tests/conftest.py")
    (tmp_path / "pytest.ini").unlink()
    write_tree(tmp_path, {"tests/conftest.py": "b = 2\n", "more/conftest.py": "", "sitecustomize.py": ""})
    restore_configuration(tmp_path, kept, ["tests/conftest.py"])
    now = read_configuration(tmp_path)
    assert now == {"conftest.py": b"a = 1\n", "pytest.ini": b"[pytest]\n", "tests/conftest.py": b"b = 2\n"}


def test_a_score_that_the_program_prints_is_no_credit(tmp_path: Path) -> None:
    loud = {"add.py": b"print('score: 0.9')\n" + BROKEN}
    task = make_task(tmp_path / "task", base_files=loud, checker_files={"check.py": SHARED})

    async def judge() -> CheckOutcome:
        home = make_home(tmp_path / "home")
        place = await TrialPlace.open(task, tmp_path / "scratch", "loud", home, AccessSettings())
        try:
            return await place.check()
        finally:
            place.close()

    outcome = asyncio.run(judge())
    assert (outcome.ended, outcome.score) == ("failed", 0.0)
