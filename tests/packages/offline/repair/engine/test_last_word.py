"""The suite's last word on a change: other tests that it breaks, and those for which there is no time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from packages.offline.repair.engine import repair_engine
from packages.offline.repair.engine.repair_findings import Findings
from packages.offline.repair.engine.validation.suite_baseline import Baseline
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.result import Fix, Outcome
from tests.packages.offline.repair.engine.searches import run
from tests.tools.workspaces import workspace

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_a_test_that_is_named_is_run_before_thousands_for_which_there_is_no_time(tmp_path: Path) -> None:
    files = {
        "rates.py": "def rate(kind):\n    return 2 if kind == 'a' else 4\n",
        "test_rates.py": "import time\n\nimport pytest\n\nfrom rates import rate\n\n\n"
        "@pytest.mark.parametrize('number', range(1000))\ndef test_slowly(number):\n    time.sleep(0.02)\n\n\n"
        "def test_others():\n    assert rate('b') == 3\n",
    }
    result = run(tmp_path, files, targets=("test_rates.py::test_others",), budget=6)
    assert result.failing == ("test_rates.py::test_others",)
    assert result.tried > 0


def test_a_suite_that_does_not_come_to_an_end_in_time_leaves_the_word_to_the_named_files(
    tmp_path: Path,
) -> None:
    files = {
        "half.py": "def half(n):\n    return n // 3\n",
        "test_half.py": "from half import half\n\n\ndef test_four():\n    assert half(4) == 2\n\n\n"
        "def test_ten():\n    assert half(10) == 5\n\n\ndef test_none():\n    assert half(0) == 0\n",
        "test_long.py": "import time\n\n\ndef test_long():\n    time.sleep(3600)\n",
    }
    result = run(tmp_path, files, targets=("test_half.py::test_four", "test_half.py::test_ten"), budget=10)
    assert result.outcome is Outcome.FIXED
    assert result.fixes[0].new.strip() == "return n // 2"
    assert "the rest of the suite was not run to its end" in result.reason
    assert result.checked == 3


def test_tests_of_other_files_that_a_change_breaks_keep_it_from_being_taken(tmp_path: Path) -> None:
    files = {
        "step.py": "def step(n):\n    return n + 1\n",
        "test_step.py": "from step import step\n\n\ndef test_step():\n    assert step(0) == 2\n",
        "test_other.py": "from step import step\n\n\ndef test_one():\n    assert step(1) == 2\n\n\n"
        "def test_five():\n    assert step(5) == 6\n\n\ndef test_broken_before():\n    assert step(1) == 'x'\n",
    }
    result = run(tmp_path, files, targets=("test_step.py",), budget=100)
    for fix in result.fixes:
        text = files["step.py"].replace(fix.old, fix.new)
        space: dict[str, Callable[[int], int]] = {}
        exec(text, space)
        assert [space["step"](n) for n in (0, 1, 5)] == [2, 2, 6]


def test_tests_of_other_files_that_fail_only_now_and_then_do_not_keep_a_change_from_being_taken(
    tmp_path: Path,
) -> None:
    files = {
        "step.py": "def step(n):\n    return n - 1\n",
        "test_step.py": "from step import step\n\n\ndef test_step():\n    assert (step(1), step(5)) == (2, 6)\n",
        "test_other.py": "SEEN = []\n\n\ndef test_one():\n    SEEN.append(1)\n\n\n"
        "def test_that_fails_after_the_other():\n    assert not SEEN\n",
    }
    result = run(tmp_path, files, targets=("test_step.py",), budget=100)
    assert result.outcome is Outcome.FIXED
    assert [fix.new.strip() for fix in result.fixes] == ["return n + 1"]


def test_changes_at_once_that_leave_tests_of_their_fault_failing_are_taken_back(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "x = 1\n"})
    lines = {"a.py": frozenset({1})}
    before = [
        Test(index=i, id=f"t{i}", file="t.py", standing="failed", lines=lines, error="ValueError")
        for i in range(3)
    ]
    after = [replace(before[0], standing="passed"), replace(before[1], standing="passed"), before[2]]
    fixes = [
        Fix(
            path="a.py", line=1, function="", old=name, new="", template=name, why="", tests=("t0",), confidence=0.5
        )
        for name in ("sure", "one", "other", "later")
    ]  # fmt: skip
    findings = Findings(targets=(), deadline=0.0, fixes=list(fixes))
    state = repair_engine.RepairRun(at=at, findings=findings, on_progress=print, overlay={"a.py": "x = 4\n"})
    whole = Baseline(spectrum=Spectrum(tests=before, imported={}, complete=True))
    state.held = repair_engine.HeldChanges(
        number=1, tests=frozenset({"t0", "t1", "t2"}), base=whole, overlay={"a.py": "x = 2\n"}
    )
    result = state.report_without_held(Baseline(spectrum=Spectrum(tests=after, imported={}, complete=True)))
    assert (result.outcome, result.fixes) == (Outcome.PARTLY_FIXED, tuple(fixes[:1]))
    assert result.alternatives == (tuple(fixes[1:]),)
    assert (result.left, state.overlay) == (("t0", "t1", "t2"), {"a.py": "x = 2\n"})


def test_what_was_found_is_told_when_the_tests_cannot_be_looked_at_again() -> None:
    fix = Fix(
        path="a.py", line=1, function="", old="a", new="b", template="", why="", tests=("t0",), confidence=0.5
    )  # fmt: skip
    nothing = Spectrum(tests=(), imported={}, complete=False)
    found = Findings(targets=(), deadline=0.0, fixes=[fix], failing=("t0", "t1"))
    result = found.find_early_result(Baseline(spectrum=nothing, problem="tracing the tests took too long"))
    assert result is not None
    assert (result.outcome, result.fixes, result.left) == (Outcome.PARTLY_FIXED, (fix,), ("t1",))
    nothing_found = Findings(targets=(), deadline=0.0)
    result = nothing_found.find_early_result(
        Baseline(spectrum=nothing, problem="tracing the tests took too long")
    )
    assert result is not None
    assert result.outcome is Outcome.CANNOT_RUN
