"""The JUnit report: solved, failed, skipped, and errors of the infrastructure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from packages.evaluation.analysis.run_report import build_report
from packages.evaluation.output.report_junit import render_junit
from packages.evaluation.runs.result_store import ResultStore, RunRecord, RunTask, RunVariant
from packages.evaluation.runs.trial_result import TrialResult


def test_a_trial_that_says_nothing_of_the_agent_is_an_error(tmp_path: Path) -> None:
    solved = TrialResult(
        key="a" * 64, task="t0", digest="d", variant="a", trial=0, solved=True, score=1.0, failure=""
    )
    wrong = replace(solved, key="b" * 64, task="t1", solved=False, score=0.0, failure="wrong")
    lost = replace(wrong, key="c" * 64, task="t2", failure="credentials", detail="no key")
    store = ResultStore(tmp_path)
    store.save_result(solved)
    store.save_result(wrong)
    run = RunRecord(
        id="abc123",
        suite="s",
        version="1",
        created="2026-01-01T00:00:00+00:00",
        trials=1,
        seed=0,
        variants=(RunVariant(label="a", model="m"),),
        tasks=tuple(RunTask(name=f"t{number}", digest="d") for number in range(4)),
        keys=("a" * 64, "b" * 64, "c" * 64, "d" * 64),
    )
    [told] = ElementTree.fromstring(render_junit(build_report(store, run, [lost])))
    assert {name: told.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    assert [[part.tag for part in case] for case in told] == [[], ["failure"], ["error"], ["skipped"]]
    assert told[2][0].attrib == {"type": "credentials", "message": "no key"}
    [later] = ElementTree.fromstring(render_junit(build_report(store, run)))
    assert (later.get("errors"), later.get("skipped")) == ("0", "2")
