"""Failures that no search can mend: each is told apart, and nothing is tried."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from packages.offline.repair.engine import repair_engine
from packages.offline.repair.engine.repair_findings import Findings
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.result import Outcome
from tests.packages.offline.repair.engine.searches import run
from tests.tools.workspaces import workspace

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


# Tests that keep something in a folder of the project.
WRITING = """\
from pathlib import Path

import a

PLACE = Path("kept.txt")


def keep(text):
    PLACE.write_text(text)


def kept():
    return PLACE.read_text()
"""


@pytest.mark.parametrize(
    ("files", "outcome", "words"),
    [
        ({"a.py": "x = 1\n"}, Outcome.NO_TESTS, "no tests were found"),
        ({"test_a.py": "def test_a():\n    assert True\n"}, Outcome.ALL_PASS, "all tests pass"),
        (
            {
                "a.py": "def get():\n    raise OSError(101, 'Network is unreachable')\n",
                "test_a.py": "import a\n\n\ndef test_a():\n    a.get()\n",
            },
            Outcome.NEEDS_NETWORK,
            "wants the network, which tests do not get here: test_a.py::test_a",
        ),
        (
            {
                "a.py": "",
                "test_a.py": WRITING + "\n\ndef test_a():\n    keep('x')\n    assert kept() == 'x'\n",
            },
            Outcome.ALL_PASS,
            "all tests pass",
        ),
        (
            {
                "a.py": "",
                "test_a.py": WRITING + "\n\ndef test_a():\n    keep('x')\n    assert kept() == 'y'\n",
            },
            Outcome.CANNOT_RUN,
            "what fails writes to the project's own files, which no search lets it: test_a.py::test_a",
        ),
        ({"test_a.py": "import nowhere\n\n\ndef test_a():\n    pass\n"}, Outcome.IMPORT_ERROR, "nowhere"),
        (
            {"a.py": "def f(:\n", "test_a.py": "import a\n\n\ndef test_a():\n    pass\n"},
            Outcome.SYNTAX_ERROR,
            "a.py",
        ),
        (
            {"conftest.py": "raise RuntimeError('set-up')\n", "test_a.py": "def test_a(): pass\n"},
            Outcome.CANNOT_RUN,
            "RuntimeError: set-up",
        ),
        (
            {"pytest.ini": "[pytest]\naddopts = --unheard-of\n", "test_a.py": "def test_a(): pass\n"},
            Outcome.CANNOT_RUN,
            "unrecognized arguments: --unheard-of",
        ),
    ],
)
def test_what_cannot_be_searched_is_told_apart(
    tmp_path: Path, files: dict[str, str], outcome: Outcome, words: str
) -> None:
    result = run(tmp_path, files, budget=100)
    assert (result.outcome, result.fixes) == (outcome, ())
    assert words in result.reason


def test_a_failure_that_runs_no_source_line_is_said_to(tmp_path: Path) -> None:
    files = {
        "rates.py": "RATES = {'low': 5, 'high': 19}\nFACTOR = 10\n"
        "\n\ndef tax(net):\n    return net * RATES['high'] / FACTOR\n",
        "test_rates.py": "from rates import FACTOR\n\n\ndef test_factor():\n    assert FACTOR == 11\n\n\n"
        "def test_it_is_a_number():\n    assert FACTOR > 1\n",
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.NOT_COVERED
    assert not result.fixes


@pytest.mark.parametrize("instead", ["os.mkfifo(place)", "os.symlink('/etc/passwd', place)"])
def test_tests_that_tamper_with_what_is_noted_of_them_are_said_to(tmp_path: Path, instead: str) -> None:
    folder = tmp_path / "cache"
    tests = f"""\
        import contextlib
        import os
        import pathlib


        def test_a():
            for each in pathlib.Path({str(folder)!r}).glob("repair-*"):
                place = each / "records"
                with contextlib.suppress(OSError):
                    place.unlink(missing_ok=True)
                    {instead}
            assert False
        """
    result = run(tmp_path, {"test_a.py": tests})
    assert result.outcome is Outcome.CANNOT_RUN
    assert "noted of the tests cannot be read" in result.reason


def test_source_that_our_own_python_cannot_parse_is_left_out(tmp_path: Path) -> None:
    at = workspace(
        tmp_path, {"new.py": "frobnicate x := y\n", "odd.py": b"\xff\x00\xfe", "old.py": "x = 1\n"}
    )
    lines = {path: frozenset({1}) for path in ("new.py", "odd.py", "old.py", "gone.py")}
    failing = Test(index=0, id="t", file="t.py", standing="failed", lines=lines)
    findings = Findings(targets=(), deadline=0.0)
    state = repair_engine.RepairRun(at=at, findings=findings, on_progress=print)
    spectrum = Spectrum(tests=[failing], imported={}, complete=True)
    assert list(state.load_sources(spectrum, [failing])) == ["old.py"]


def test_where_no_python_can_run_the_tests_a_ranking_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = workspace(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    monkeypatch.setattr("tools.testing.python.list_interpreter_paths", lambda root: ())
    result, spectrum = asyncio.run(repair_engine.localize_faults(at, (), 30.0))
    assert result.outcome is Outcome.CANNOT_RUN
    assert "any Python here" in result.reason
    assert not spectrum.tests


def test_a_test_that_fails_only_now_and_then_is_not_repaired(tmp_path: Path) -> None:
    # It fails in the first process that runs it and passes in the next: the counter is outside the workspace.
    marker = tmp_path / "cache" / "seen"
    files = {
        "value.py": "def value():\n    return 1\n",
        "test_value.py": f"""\
            import os
            import pathlib

            from value import value

            STATE = next(pathlib.Path({str(marker.parent)!r}).glob("repair-*"))


            def test_steady():
                assert value() == 1


            def test_now_and_then():
                seen = (STATE / "seen").exists()
                (STATE / "seen").touch()
                assert seen and value() == 1
            """,
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.UNSTEADY
    assert "test_now_and_then" in result.reason


def test_a_suite_longer_than_the_budget_is_not_said_to_pass(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_quick():\n    pass\n\n\ndef test_slow():\n    time.sleep(60)\n"
    result = run(tmp_path, {"test_slow.py": slow}, budget=3)
    assert result.outcome is Outcome.NOT_FOUND
    assert "no time for 1 of 2 tests" in result.reason


def test_targets_that_name_no_test_are_said_to(tmp_path: Path) -> None:
    result = run(
        tmp_path, {"test_a.py": "def test_a():\n    assert False\n"}, targets=("test_b.py",), budget=100
    )
    assert result.outcome is Outcome.NO_TESTS
    assert "'test_b.py'" in result.reason
