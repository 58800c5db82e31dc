"""Candidates of a repair that a local model fills in: at each suspicious statement, a few ways to write it anew."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

from packages.offline.infill.filler import Filler, Filling
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates import FILLED, Change, Site, Source, Template
from sandbox.lazy_dataclass import dataclass

MOST_PLACES = 10
"""Statements at which the model is asked, the most suspicious ones."""

WARM = 0.8
"""Temperature of the later rounds: the likeliest filling was tried in the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Characters start…end of a source that are to be written anew. after: what follows a filling in the text"""

    start: int
    end: int
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One way to ask at every place. find: returns the gap at a statement, None where the way does not apply"""

    find: Callable[[Source, ast.stmt], Gap | None]
    temperature: float = 0.0
    seed: int = 0


def find_whole_gap(source: Source, statement: ast.stmt) -> Gap | None:
    """Return a statement without its body as the gap."""
    span = _find_own_span(source, statement)
    return Gap(start=span[0], end=span[1]) if span is not None else None


def find_value_gap(source: Source, statement: ast.stmt) -> Gap | None:
    """Return the value of a statement as the gap: of a return, an assignment, a condition, a loop."""
    value = next(
        (
            found
            for name in ("value", "test", "iter")
            if isinstance(found := getattr(statement, name, None), ast.expr)
        ),
        None,
    )
    if (
        value is None
        or isinstance(statement, ast.Expr)
        or (span := _find_own_span(source, statement)) is None
    ):
        return None
    start = source.get_span(value)[0]
    return Gap(start=start, end=span[1]) if span[0] < start < span[1] else None


def find_gap_before(source: Source, statement: ast.stmt) -> Gap | None:
    """Return the empty gap for one more line before a statement."""
    start = source.get_span(statement)[0]
    indentation = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    if indentation.strip() or source.text.startswith(
        "elif", start
    ):  # behind another statement, or within one
        return None
    return Gap(start=start, end=start, after=f"\n{indentation}")


ROUNDS = (
    Round(find=find_whole_gap),
    Round(find=find_value_gap),
    Round(find=find_whole_gap, temperature=WARM, seed=1),
    Round(find=find_gap_before),
    Round(find=find_value_gap, temperature=WARM, seed=2),
    Round(find=find_whole_gap, temperature=WARM, seed=3),
)
"""The likeliest text of each kind first, then warmer ones; the order was not measured."""


async def iterate_filled_templates(
    filler: Filler,
    suspects: Sequence[Suspect],
    sources: Mapping[str, Source],
    beside: Sequence[tuple[str, str]],
    has_time: Callable[[], bool],
) -> AsyncIterator[Template]:
    """Yield, round by round, a template with the fillings of all places, likeliest first.

    beside: the failing tests' files; has_time: whether another filling may be asked for
    """
    seen: set[tuple[str, int, int, str]] = set()
    for each in ROUNDS:
        found: dict[ast.stmt, list[tuple[Gap, Filling]]] = {}
        for suspect in suspects[:MOST_PLACES]:
            if not has_time() or filler.works is False:
                break
            source = sources[suspect.path]
            gap = each.find(source, suspect.statement)
            if gap is None:
                continue
            filling = await filler.fill(
                source.text[: gap.start],
                gap.after + source.text[gap.end :],
                beside=beside,
                temperature=each.temperature,
                seed=each.seed,
            )
            key = (suspect.path, gap.start, gap.end, filling.text.strip() if filling else "")
            if filling is not None and key not in seen:
                seen.add(key)
                found.setdefault(suspect.statement, []).append((gap, filling))
        if found:
            yield make_filled_template(found)


def make_filled_template(found: Mapping[ast.stmt, Sequence[tuple[Gap, Filling]]]) -> Template:
    """Return a template whose changes are the fillings of each statement."""

    def list_fillings(site: Site) -> Iterator[Change]:
        for gap, filling in sorted(found.get(site.statement, ()), key=lambda each: -each[1].score):
            text = filling.text.strip()
            why = f"`{text}` is what the model writes at line {site.statement.lineno}"
            yield Change(start=gap.start, end=gap.end, text=text + gap.after, why=why)

    return Template(name=FILLED.name, prior=FILLED.prior, precision=FILLED.precision, changes=list_fillings)


def _find_own_span(source: Source, statement: ast.stmt) -> tuple[int, int] | None:
    """Return the span of a statement, of a compound one its first line; None for definitions and one-line blocks."""
    start, end = source.get_span(statement)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Try):
        return None
    body = getattr(statement, "body", None)
    if not isinstance(body, list):
        return start, end
    if body[0].lineno == statement.lineno:
        return None
    return start, source.text.find("\n", start)
