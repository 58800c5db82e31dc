"""The table of a run: format × case × theirs × ours, and the sums by format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.interop.case_file import CaseFile, Outcome, judge, shorten
from benchmarks.interop.readers import read_input

OUTCOMES: Sequence[Outcome] = ("same", "named", "other", "silent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case. ours: what there is here, shortened"""

    format: str
    kind: str
    theirs: str
    ours: str
    outcome: Outcome
    origin: str


def run_cases(files: Iterable[CaseFile], step: int = 1) -> Iterator[Row]:
    """Yield the rows of the inputs of each file, every `step`-th."""
    for file in files:
        for each in file.inputs[::step]:
            try:
                state = read_input(each.kind, each.given)
            except Exception as error:  # a fault here is an outcome of its cases, not the end of the run
                state = {"fault": f"{type(error).__name__}: {error}"}
            for check in each.checks:
                outcome, ours = judge(check, state)
                if "fault" in state:
                    outcome, ours = "other", shorten(state["fault"])
                yield Row(
                    format=file.format,
                    kind=each.kind,
                    theirs=check.theirs,
                    ours=ours,
                    outcome=outcome,
                    origin=each.origin,
                )


def format_table(files: Sequence[CaseFile], rows: Sequence[Row]) -> str:
    """Return the sums by format, what is not as the original, and every case, as Markdown."""
    lines = [
        "| format | version | theirs from | cases | same | named | other | silent |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for file in files:
        own = [each for each in rows if each.format == file.format]
        if own:
            counts = " | ".join(str(sum(each.outcome == one for each in own)) for one in OUTCOMES)
            origins = ", ".join(sorted({each.origin for each in own}))
            lines.append(f"| {file.title} | {file.version} | {origins} | {len(own)} | {counts} |")
    counts = " | ".join(str(sum(each.outcome == one for each in rows)) for one in OUTCOMES)
    lines.append(f"| all | | | {len(rows)} | {counts} |")
    lines += ["", f"As the original: {share_same(rows):.1%}.", "", "## Not as the original", ""]
    lines += ["| format | kind | theirs | ours | outcome |", "|---|---|---|---|---|"]
    lines += [_format_row(each) for each in rows if each.outcome != "same"]
    lines += ["", "## All cases", "", "| format | kind | theirs | ours | outcome |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_format_row, rows), ""])


def share_same(rows: Sequence[Row]) -> float:
    """Return the share of cases that are as the original."""
    return sum(each.outcome == "same" for each in rows) / max(len(rows), 1)


def _format_row(row: Row) -> str:
    cells = (row.format, row.kind, row.theirs, row.ours, row.outcome)
    return "| " + " | ".join(each.replace("|", "\\|").replace("\n", " ") for each in cells) + " |"
