"""Suites of Python programs, built of small data sets in their own layouts: contents of their tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.evaluation.suites.built_task import compute_half
from sandbox.errors import UserError
from tests.support.evaluation_tasks import build
from tests.support.suite_sources import (
    PROBLEMS,
    QUIX,
    write_debugbench,
    write_quixbugs,
    write_refactorbench,
    write_refactory,
)

# Each runs some twenty programs in a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_quixbugs(tmp_path: Path) -> None:
    source = write_quixbugs(tmp_path / "QuixBugs").source
    summary, tasks = build("quixbugs", source, tmp_path / "suite")
    assert (summary.written, summary.missing) == (5, {"the program is not in the folder": 35})
    assert [each.name for each in tasks] == sorted(QUIX)
    program = (tasks[0].base_folder / "python_programs/bitcount.py").read_text()
    assert "told here" not in program
    again, _ = build("quixbugs", source, tmp_path / "suite")
    assert (again.written, again.kept) == (0, 5)


def test_debugbench_makes_tests_and_keeps_a_problem_in_one_half(tmp_path: Path) -> None:
    source = write_debugbench(tmp_path / "DebugBench").source
    summary, tasks = build("debugbench", source, tmp_path / "suite")
    assert (summary.written, summary.missing) == (6, {"its examples cannot be read as values": 1})
    assert "Compute gap." in "".join(each.prompt for each in tasks)
    _, halved = build("debugbench", source, tmp_path / "half", half="development")
    slugs = {name for name in PROBLEMS if any(each.name.startswith(f"{name}-") for each in halved)}
    assert slugs == {name for name in PROBLEMS if compute_half(name) == "development"}


def test_refactory_reads_its_archive(tmp_path: Path) -> None:
    summary, tasks = build("refactory", write_refactory(tmp_path / "refactory").source, tmp_path / "suite")
    assert summary.written == 5
    assert "Double a number." in tasks[0].prompt


def test_refactorbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_refactorbench(tmp_path / "RefactorBench").source
    monkeypatch.chdir(tmp_path)
    summary, _ = build("refactorbench", source, Path("suite"))
    assert (summary.written, summary.missing) == (5, {"django runs only when it is installed": 1})
    _, refused = build("refactorbench", source, tmp_path / "refused", expect="refuse")
    assert {(each.file.expect, each.file.check) for each in refused} == {("refuse", "")}


def test_an_unknown_suite_and_an_empty_source_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no suite 'quix'"):
        build("quix", tmp_path, tmp_path / "suite")
    with pytest.raises(UserError, match="no task of debugbench could be made"):
        build("debugbench", tmp_path, tmp_path / "suite")
