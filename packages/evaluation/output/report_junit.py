"""Report of an evaluation as JUnit XML: a test suite for each variant, a test case for each trial."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from packages.evaluation.analysis.run_report import RunReport
from packages.evaluation.runs.result_store import iterate_trials
from packages.evaluation.runs.trial_result import TrialResult
from sandbox.lazy_pattern import compile_lazily

_FORBIDDEN = compile_lazily("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have."""


def render_junit(report: RunReport) -> str:
    """Return the XML. A trial without a result is skipped, one that says nothing of the agent an error."""
    results = (*report.invalid, *report.results)
    found = {(each.variant, each.task, each.trial): each for each in results}
    parts = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for variant in report.record.variants:
        cases, failures, errors, skipped, seconds = [], 0, 0, 0, 0.0
        for each, task, trial, _ in iterate_trials(report.record):
            if each.label != variant.label:
                continue
            result = found.get((variant.label, task.name, trial))
            name = f"{task.name}[{trial + 1}]" if report.record.trials > 1 else task.name
            cases.append(_render_case(f"{report.record.suite}.{variant.label}", name, result))
            failures += result is not None and result.is_valid and not result.solved
            errors += result is not None and not result.is_valid
            skipped += result is None
            seconds += result.seconds if result else 0.0
        parts.append(
            f'<testsuite name={_quote(variant.label)} tests="{len(cases)}" failures="{failures}"'
            f' errors="{errors}" skipped="{skipped}" time="{seconds:.3f}">'
        )
        parts += [*cases, "</testsuite>"]
    return "\n".join([*parts, "</testsuites>", ""])


def _render_case(suite: str, name: str, result: TrialResult | None) -> str:
    head = f"<testcase classname={_quote(suite)} name={_quote(name)}"
    if result is None:
        return f'{head}><skipped message="no result yet"/></testcase>'
    head += f' time="{result.seconds:.3f}"'
    if result.solved:
        return f"{head}/>"
    message = _quote(result.detail or result.failure)
    kind = "failure" if result.is_valid else "error"
    return f"{head}><{kind} type={_quote(result.failure)} message={message}/></testcase>"


def _quote(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("�", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
