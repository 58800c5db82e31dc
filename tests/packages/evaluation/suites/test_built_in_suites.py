"""Every suite that `eval build` knows runs five tasks: built, admitted, and solved by its own reference in trials.

The data is small and written here, in each suite's own layout: the public sets are large, and not ours to pass on.
Where `PATCHWRIGHT_SUITES_DATA` names a folder with copies of them, the same is done with five real tasks of each.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from packages.evaluation.mining.task_copy import read_base_files
from packages.evaluation.runs import task_check
from packages.evaluation.runs.trial import run_trial
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.suites.patched_files import apply_patch, list_patched_paths
from packages.evaluation.suites.suite_table import SUITES
from packages.evaluation.tasks.task_folder import Task
from sandbox.access_settings import AccessSettings
from tests.support.evaluation_tasks import build
from tests.support.evaluation_trials import make_home, make_order, write_script
from tests.support.suite_sources import WRITERS, SuiteSource

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DATA = os.environ.get("PATCHWRIGHT_SUITES_DATA", "")

COPIES: Mapping[str, tuple[str, ...]] = {
    "quixbugs": ("jkoppel+QuixBugs", "QuixBugs"),
    "humanevalfix": ("bigcode-project+octopack", "octopack"),
    "debugbench": ("thunlp+DebugBench", "DebugBench"),
    "refactory": ("githubhuyang+refactory", "refactory"),
    "polyglot": ("Aider-AI+polyglot-benchmark", "polyglot-benchmark"),
    "refactorbench": ("microsoft+RefactorBench", "RefactorBench"),
    "harbor": ("ArthurYangX+harbor-humanevalpack-dataset", "terminal-bench", "harbor"),
}
"""Names of copies in the folder of data; a bare clone may be in `repo` below it."""

LACKS: Mapping[str, str] = {
    "swebench": "its environments are made from a package index, for which the tests have no network",
}
"""Why a suite's real tasks cannot be run by tests at all."""


@pytest.fixture(autouse=True)
def _check_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That checkers agree with themselves over three runs has tests of its own, and takes three times as long."""
    monkeypatch.setattr(task_check, "REPEATS", 1)


def run_reference(task: Task, patch: bytes, folder: Path) -> TrialResult:
    """Run a trial whose model writes the files of the reference."""
    before = read_base_files(task, list_patched_paths(patch))
    solved = apply_patch(before, patch)
    reads = [{"tool": "read", "arguments": {"path": path}} for path in solved if path in before]
    writes = [
        {"tool": "write", "arguments": {"path": path, "content": content.decode()}}
        for path, content in solved.items()
    ]
    turns = [*({"calls": each} for each in (reads, writes) if each), {"text": "Done."}]
    model = write_script(folder / f"{task.name}.json", turns)
    order = make_order(task, model, folder)
    # The checker decides; the project's own tests after the turn would take most of the time.
    tools = order.settings.tools
    tools = replace(tools, tests=replace(tools.tests, command="true"))
    return asyncio.run(run_trial(replace(order, settings=replace(order.settings, tools=tools))))


def assert_five_are_solved(name: str, data: SuiteSource, folder: Path, most: int = 5) -> list[str]:
    """Build at most `most` tasks, and run five of those that are admitted; return why the others are not."""
    _, tasks = build(name, data.source, folder / "suite", limit=most, **data.options)
    home = make_home(folder)
    refused: list[str] = []
    solved = 0
    for task in tasks:
        admission = asyncio.run(
            task_check.check_task(task, home.cache / "check", home, AccessSettings(), frozenset({"equality"}))
        )
        reference = data.solutions.get(task.name, task.reference)
        if not admission.admitted:
            refused.append(f"{task.name}: {admission.reason}")
        if reference is None or not (admission.admitted or data.solutions):
            continue
        result = run_reference(task, reference, folder)
        assert (result.solved, result.failure) == (True, ""), (task.name, result)
        solved += 1
        if solved == 5:
            break
    if data.solutions:  # the data set has none of its own
        assert all("no reference.patch" in each for each in refused)
    elif solved < 5 and all("no reference.patch" in each for each in refused):
        pytest.skip(f"{name}: solutions of the data set that work on this machine; {refused[0]}")
    assert solved == 5, refused
    return refused


@pytest.mark.parametrize("name", SUITES)
def test_five_tasks_of_a_built_in_suite_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    data = WRITERS[name](tmp_path / "source")
    assert len(assert_five_are_solved(name, data, tmp_path)) == len(data.solutions)


@pytest.mark.parametrize("name", SUITES)
def test_five_real_tasks_of_a_built_in_suite_run(name: str, tmp_path: Path) -> None:
    if name in LACKS:
        pytest.skip(f"{name}: {LACKS[name]}")
    if not DATA:
        pytest.skip(
            f"{name} lacks its data here: PATCHWRIGHT_SUITES_DATA names no folder with {COPIES[name][0]}"
        )
    places = [Path(DATA) / copy / inner for copy in COPIES[name] for inner in ("repo", "")]
    source = next((each for each in places if each.is_dir()), None)
    if source is None:
        pytest.skip(f"{name} lacks its data here: {DATA} has none of {', '.join(COPIES[name])}")
    assert_five_are_solved(name, SuiteSource(source=source), tmp_path, most=10)
