"""Figures, comparisons and gates from results that are made by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from packages.evaluation.analysis.comparison import compare_results
from packages.evaluation.analysis.gate import judge_results
from packages.evaluation.analysis.run_report import (
    build_report,
    encode_report,
    read_report_file,
    select_results,
)
from packages.evaluation.analysis.run_summary import summarize_variant
from packages.evaluation.runs.result_store import ResultStore, RunRecord, RunTask, RunVariant
from packages.evaluation.runs.trial_result import FailureClass, TrialResult
from sandbox.errors import UserError
from tests.support.stress import count_cases


def make_result(
    task: str,
    trial: int,
    solved: bool,
    *,
    variant: str = "a",
    failure: FailureClass = "wrong",
    cost: float | None = 0.5,
    outcome: str = "done",
    digest: str = "",
    **more: object,
) -> TrialResult:
    return TrialResult(
        key=f"{variant}{task}{trial}".encode().hex().ljust(64, "0"),
        task=task,
        digest=digest or f"digest of {task}",
        variant=variant,
        trial=trial,
        solved=solved,
        score=float(solved),
        failure="" if solved else failure,
        outcome=outcome,
        cost=cost,
        tokens_in=100,
        seconds=2.0,
        steps=3,
        tool_calls=4,
        tool_failures=1,
        **more,  # type: ignore[arg-type]
    )


def make_results(solved: Sequence[Sequence[int]], variant: str = "a") -> list[TrialResult]:
    """Results from rows of 0 and 1: one row for each task."""
    return [
        make_result(f"t{row}", trial, bool(each), variant=variant)
        for row, trials in enumerate(solved)
        for trial, each in enumerate(trials)
    ]


def test_a_summary_has_all_figures_and_leaves_out_what_says_nothing() -> None:
    results = make_results([[1, 1, 1], [1, 0, 1], [0, 0, 0]])
    results.append(make_result("t3", 0, False, failure="credentials", cost=None))
    found = summarize_variant("a", 12, results)
    assert (found.planned, found.trials, found.tasks, found.solved) == (12, 9, 3, 5)
    assert found.rate == pytest.approx(5 / 9)
    assert found.pass_at == pytest.approx({1: 5 / 9, 2: 2 / 3, 3: 2 / 3})
    assert found.pass_hat == pytest.approx({1: 5 / 9, 2: (1 + 1 / 3) / 3, 3: 1 / 3})
    assert (found.total_cost, found.cost_of_pass, found.unpriced) == (4.5, 0.9, 0)
    assert (found.tokens, found.seconds, found.steps, found.tool_failure_rate) == (100, 2.0, 3, 0.25)
    assert found.failures == {"wrong": 4}
    assert [(each.task, each.solved, each.trials) for each in found.flaky] == [("t1", 2, 3)]
    assert found.interval is not None
    assert found.interval[0] < 5 / 9 < found.interval[1]


def test_precision_counts_only_claims_and_an_unknown_price_hides_the_cost_of_pass() -> None:
    results = [
        make_result("t0", 0, True, cost=None),
        make_result("t1", 0, False),
        make_result("t2", 0, False, outcome="tests-fail", failure="tests-fail"),
    ]
    found = summarize_variant("a", 3, results)
    assert (found.precision, found.cost_of_pass, found.unpriced) == (0.5, None, 1)


def test_groups_are_languages_and_tags_that_split_the_tasks() -> None:
    results = [
        make_result("t0", 0, True, language="go", tags=("all", "new")),
        make_result("t1", 0, False, language="rust", tags=("all",)),
    ]
    groups = summarize_variant("a", 2, results).groups
    assert [(each.name, each.solved, each.trials) for each in groups] == [
        ("go", 1, 1),
        ("new", 1, 1),
        ("rust", 0, 1),
    ]


def test_nothing_is_summed_up_of_nothing() -> None:
    found = summarize_variant("a", 5, [])
    assert (found.rate, found.interval, found.score, found.cost_of_pass) == (None, None, None, None)


def test_a_worse_variant_is_found_worse_with_the_tasks_that_it_lost() -> None:
    before = make_results([[1]] * 12 + [[0]] * 4)
    after = make_results([[0]] * 9 + [[1]] * 3 + [[1]] + [[0]] * 3)
    found = compare_results("old", "new", before, after)
    assert found.verdict == "worse"
    assert (found.lost, found.gained, found.difference) == (9, 1, -0.5)
    assert found.mcnemar_p == pytest.approx(found.p_value) == pytest.approx(0.0215, abs=1e-4)
    assert found.gained_tasks == ("t12",)
    assert len(found.lost_tasks) == 9
    assert found.interval[1] < 0
    other = compare_results("new", "old", after, before)
    assert other.verdict == "better"


def test_equal_agents_are_found_different_about_as_often_as_the_level_says() -> None:
    draw, rounds = random.Random(7), count_cases(200)
    found = 0
    for _ in range(rounds):
        rates = [draw.random() for _ in range(30)]
        sides = [make_results([[draw.random() < rate for _ in range(2)] for rate in rates]) for _ in range(2)]
        found += compare_results("a", "a", *sides).verdict != "no difference shown"
    assert found / rounds <= 0.09


def test_only_tasks_of_the_same_content_are_compared() -> None:
    before = [make_result("t0", 0, True), make_result("t1", 0, True)]
    after = [
        make_result("t0", 0, True),
        make_result("t1", 0, False, digest="changed"),
        make_result("t2", 0, True),
    ]
    found = compare_results("a", "b", before, after)
    assert (found.tasks, found.left_out) == (1, ("t1", "t2"))
    with pytest.raises(UserError, match="no task in common"):
        compare_results("a", "b", before, after[1:])


def test_the_gate_stops_regressions_lower_rates_and_missing_results() -> None:
    baseline = make_results([[1, 1]] * 8 + [[0, 0]] * 2)
    same = judge_results("now", baseline, make_results([[1, 1]] * 8 + [[0, 1]] * 2))
    assert same.passed
    one = make_results([[1, 1]] * 7 + [[0, 0]] * 3)
    decision = judge_results("now", baseline, one)
    assert (decision.passed, decision.regressed) == (False, ("t7",))
    assert decision.reasons == ("no longer solved: t7 (1, allowed 0)",)
    assert judge_results("now", baseline, one, allowed=1).passed
    flaky = judge_results("now", baseline, make_results([[1, 0]] * 8 + [[0, 0]] * 2))
    assert flaky.regressed == ()
    assert [each.split(",")[0] for each in flaky.reasons] == ["40.0% are solved"]
    short = judge_results("now", baseline, make_results([[1, 1]] * 8))
    assert short.reasons == ("without a valid result: t8, t9",)


def test_no_task_leaves_the_gate_in_silence() -> None:
    baseline = make_results([[1, 1]] * 4)
    changed = [make_result("t1", trial, True, digest="other") for trial in range(2)]
    results = [each for each in make_results([[1, 1]] * 5) if each.task not in ("t0", "t1", "t2")]
    results += [*changed, make_result("t2", 0, True)]
    decision = judge_results("now", baseline, results)
    assert not decision.passed
    assert decision.reasons == (
        "without a valid result: t0",
        "not in the baseline: t4",
        "changed since the baseline: t1",
        "with fewer valid trials than in the baseline: t2",
    )


def test_a_report_is_read_back_and_results_are_named_by_run_and_label(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "store")
    results = [*make_results([[1], [0]], "one"), *make_results([[1], [1]], "two")]
    for each in results:
        store.save_result(each)
    run = RunRecord(
        id="abc123",
        suite="s",
        version="1",
        created="2026-01-01T00:00:00+00:00",
        trials=1,
        seed=0,
        variants=(RunVariant(label="one", model="m"), RunVariant(label="two", model="m")),
        tasks=(RunTask(name="t0", digest="digest of t0"), RunTask(name="t1", digest="digest of t1")),
        keys=tuple(each.key for each in results),
    )
    store.save_run(run)
    report = build_report(store, store.list_runs()[0])
    assert report.record == run
    assert [each.rate for each in report.summaries] == [0.5, 1.0]
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps(encode_report(report)))
    assert {label: len(each) for label, each in read_report_file(path).items()} == {"one": 2, "two": 2}
    for wanted in ("two", "abc/two", "abc123/two"):
        found = select_results(store, wanted)
        assert (found.name, [each.solved for each in found.results]) == (wanted, [True, True])
    for wanted, message in (("abc", "names no single variant"), ("none", "no run 'none'")):
        with pytest.raises(UserError, match=message):
            select_results(store, wanted)
    path.write_text('{"format": 99}')
    with pytest.raises(UserError, match="no report of an evaluation: not a report of this version"):
        read_report_file(path)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1, 1, 1] + [0] * 7], (0.108, 0.603)),  # one task: its trials
        ([[1, 0]] * 4, (0.15, 0.85)),  # equal rates: the tasks
        ([[1, 1]] * 4, (0.51, 1.0)),
    ],
)
def test_an_interval_has_a_width_where_all_rates_are_equal(
    rows: list[list[int]], expected: tuple[float, float]
) -> None:
    assert summarize_variant("a", 8, make_results(rows)).interval == pytest.approx(expected, abs=0.002)
