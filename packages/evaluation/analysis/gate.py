"""A gate for CI: results are held against a baseline."""

from __future__ import annotations

from collections.abc import Sequence

from packages.evaluation.analysis.comparison import LEVEL, Comparison, compare_results
from packages.evaluation.analysis.run_summary import count_solved, group_by_task
from packages.evaluation.runs.trial_result import TrialResult
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """Whether results may pass.

    regressed: tasks that the baseline always solved and these results never; reasons: why not, a line each
    """

    passed: bool
    comparison: Comparison
    regressed: tuple[str, ...]
    reasons: tuple[str, ...]


def judge_results(
    label: str,
    baseline: Sequence[TrialResult],
    results: Sequence[TrialResult],
    *,
    allowed: int = 0,
    level: float = LEVEL,
    seed: int = 0,
) -> GateDecision:
    """Hold results against a baseline. Raises UserError if they have no task in common.

    allowed: tasks that may regress; level: of the test whether the rate has fallen
    """
    comparison = compare_results("baseline", label, baseline, results, seed=seed, level=level)
    before, after = (group_by_task(each for each in side if each.is_valid) for side in (baseline, results))
    regressed = tuple(
        task
        for task in comparison.lost_tasks
        if count_solved(before[task])[1] == len(before[task]) and count_solved(after[task])[1] == 0
    )
    reasons = []
    if len(regressed) > allowed:
        reasons.append(f"no longer solved: {_list_names(regressed)} ({len(regressed)}, allowed {allowed})")
    if comparison.verdict == "worse":
        reasons.append(
            f"{comparison.rates[1]:.1%} are solved, {comparison.rates[0]:.1%} in the baseline"
            f" (p = {comparison.p_value:.3f})"
        )
    common = before.keys() & after.keys()
    gaps = {
        "without a valid result": before.keys() - after.keys(),
        "not in the baseline": after.keys() - before.keys(),
        "changed since the baseline": {
            task for task in common if before[task][0].digest != after[task][0].digest
        },
        "with fewer valid trials than in the baseline": {
            task for task in common if len(after[task]) < len(before[task])
        },
    }
    reasons += [f"{what}: {_list_names(sorted(names))}" for what, names in gaps.items() if names]
    return GateDecision(
        passed=not reasons, comparison=comparison, regressed=regressed, reasons=tuple(reasons)
    )


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
