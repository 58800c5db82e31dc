"""A run with its results and figures: the one object that every report shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packages.evaluation.analysis.run_summary import VariantSummary, summarize_variant
from packages.evaluation.runs.result_store import ResultStore, RunRecord, Spending, select_run
from packages.evaluation.runs.trial_result import TrialResult, decode_result
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass

FORMAT = 1
"""Of the JSON report; a reader refuses a higher one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run. summaries: of its variants, in their order

    invalid: results that say nothing of the agent, of a run that has just ended; the store keeps none
    """

    record: RunRecord
    results: tuple[TrialResult, ...]
    summaries: tuple[VariantSummary, ...]
    spending: Spending
    invalid: tuple[TrialResult, ...] = ()

    @property
    def missing(self) -> int:
        """Trials without a result."""
        return len(self.record.keys) - len(self.results)

    def select_results(self, label: str) -> list[TrialResult]:
        """Return the results of a variant."""
        return [each for each in self.results if each.variant == label]


def build_report(store: ResultStore, run: RunRecord, invalid: Iterable[TrialResult] = ()) -> RunReport:
    """Return the report of a run as far as it has results."""
    results = tuple(store.read_results(run))
    planned = len(run.tasks) * run.trials
    lost = store.read_lost_costs(run)
    return RunReport(
        record=run,
        results=results,
        summaries=tuple(
            summarize_variant(
                variant.label,
                planned,
                [each for each in results if each.variant == variant.label],
                seed=run.seed,
                lost_cost=lost[variant.label],
            )
            for variant in run.variants
        ),
        spending=store.read_spending(run),
        invalid=tuple(invalid),
    )


def encode_report(report: RunReport) -> dict[str, Any]:
    """Return a report for JSON; patches are left out, they are in the store."""
    record = asdict(report.record)
    del record["keys"]
    results = [each.encode() for each in report.results]
    for each in results:
        del each["patch"]
    return {
        "format": FORMAT,
        "run": record,
        "spending": asdict(report.spending),
        "variants": [asdict(each) for each in report.summaries],
        "results": results,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedResults:
    """Results of one variant, by a name that a person gave."""

    name: str
    results: tuple[TrialResult, ...]


def select_results(store: ResultStore, wanted: str) -> NamedResults:
    """Return the results that a person names: RUN, LABEL, RUN/LABEL, or a file of `eval report --output json`.

    A label alone means the newest run that has it. Raises UserError, also where a run has several variants.
    """
    if wanted.endswith(".json") and Path(wanted).is_file():
        return pick_variant(read_report_file(Path(wanted)), "", wanted)
    runs = store.list_runs()
    for run in runs:
        if any(each.label == wanted for each in run.variants):
            return NamedResults(name=wanted, results=_read_variant(store, run, wanted))
    head, _, label = wanted.partition("/")
    run = select_run(runs, head)
    by_label = {each.label: _read_variant(store, run, each.label) for each in run.variants}
    return pick_variant(by_label, label, wanted)


def pick_variant(by_label: Mapping[str, Sequence[TrialResult]], label: str, wanted: str) -> NamedResults:
    """Return the results of a variant, "" for the only one. Raises UserError. wanted: as the person wrote it"""
    if label in by_label:
        return NamedResults(name=wanted, results=tuple(by_label[label]))
    if not label and len(by_label) == 1:
        return NamedResults(name=wanted, results=tuple(next(iter(by_label.values()))))
    raise UserError(
        Fault.USAGE,
        f"{wanted!r} names no single variant",
        f"Variants: {', '.join(by_label)}; write RUN/VARIANT.",
    )


def read_report_file(path: Path) -> dict[str, list[TrialResult]]:
    """Return the results by variant of a file that `eval report --output json` wrote. Raises UserError."""
    content = read_regular_file(path, SOURCE)
    if content is None:
        raise UserError(
            Fault.USAGE, f"there is no file {str(path)!r}", "Write one: eval report --output json"
        )
    try:
        values = json.loads(content)
        if not isinstance(values, dict) or values.get("format", FORMAT + 1) > FORMAT:
            raise ValueError("not a report of this version")
        by_label: dict[str, list[TrialResult]] = {each["label"]: [] for each in values["variants"]}
        for each in map(decode_result, values["results"]):
            by_label[each.variant].append(each)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            Fault.CONFIGURATION, f"{str(path)!r} is no report of an evaluation: {error}"
        ) from None
    return by_label


def _read_variant(store: ResultStore, run: RunRecord, label: str) -> tuple[TrialResult, ...]:
    return tuple(each for each in store.read_results(run) if each.variant == label)
