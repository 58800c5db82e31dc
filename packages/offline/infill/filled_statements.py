"""Candidates of a repair that a local model fills in: at each suspicious statement, a few ways to write it anew."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from agent.model.infill.fill_forms import Filling
from agent.model.infill.fill_forms import Gap as Request
from agent.model.infill.filler import Filler
from agent.model.infill.logical_line import measure_logical_line
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates import FILLED, Change, Site, Source, Template
from packages.offline.repair.templates.support.source_tree import list_header_nodes
from sandbox.lazy_dataclass import dataclass

MOST_PLACES = 10
"""Statements at which the model is asked, the most suspicious ones."""

WARM = 0.8
"""Temperature of the later rounds: the likeliest filling was tried in the first."""


MOST_SHOWN = 200
"""Characters of a filling in the words for a change."""

MOST_LINES = 8
"""Lines of a block that is written anew: of a longer one more is right than wrong."""

LINE_TOKENS, BLOCK_TOKENS = 64, 128
"""Of one filling: a line of code is seldom longer; each token takes a processor a tenth of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Characters start…end of a source that are to be written anew.

    after: what follows a filling in the text; is_block: a filling may have several lines
    """

    start: int
    end: int
    after: str = ""
    is_block: bool = False


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


def find_part_gap(source: Source, statement: ast.stmt) -> Gap | None:
    """Return a part of a statement's own line as the gap: a comparison, an operand, the arguments of a call."""
    span = _find_own_span(source, statement)
    if span is None:
        return None
    for node in list_header_nodes(statement, source):
        if isinstance(node, ast.BinOp):
            node = node.right
        elif isinstance(node, ast.Call) and node.args:
            start, end = source.get_span(node.args[0])[0], source.get_span(node.args[-1])[1]
            return Gap(start=start, end=end) if end < span[1] else None
        elif not isinstance(node, ast.Compare):
            continue
        start, end = source.get_span(node)
        if span[0] < start and end < span[1] and "\n" not in source.text[start:end]:
            return Gap(start=start, end=end)
    return None


def find_block_gap(source: Source, statement: ast.stmt) -> Gap | None:
    """Return a statement with those that follow it in its block as the gap, if they are a few lines."""
    start = source.get_span(statement)[0]
    first = source.text.rfind("\n", 0, start) + 1
    is_inside = source.find_enclosing_function(statement) is not None
    if source.text[first:start].strip() or not is_inside or source.text.startswith("elif", start):
        return None
    end = source.get_span(source.get_block(statement)[-1])[1]
    lines = source.text.count("\n", start, end) + 1
    return Gap(start=start, end=end, is_block=True) if 1 < lines <= MOST_LINES else None


ROUNDS = (
    Round(find=find_whole_gap),
    Round(find=find_value_gap),
    Round(find=find_whole_gap, temperature=WARM, seed=1),
    Round(find=find_gap_before),
    Round(find=find_part_gap),
    Round(find=find_block_gap),
    Round(find=find_value_gap, temperature=WARM, seed=2),
    Round(find=find_whole_gap, temperature=WARM, seed=3),
)
"""The likeliest text of each kind first, then warmer ones; the order was not measured."""


async def iterate_filled_templates(
    filler: Filler,
    suspects: Sequence[Suspect],
    sources: Mapping[str, Source],
    beside: Sequence[tuple[str, str]],
    seconds_left: Callable[[], float],
) -> AsyncIterator[Template]:
    """Yield, round by round, a template with the fillings of all places, likeliest first.

    beside: the failing tests' files; seconds_left: returns the time for fillings
    """
    seen: set[tuple[str, int, int, str]] = set()
    places = select_places(suspects, sources)
    for each in ROUNDS:
        found: dict[ast.stmt, list[tuple[Gap, Filling]]] = {}
        for suspect in places:
            if seconds_left() <= 0 or filler.works is False or filler.is_resting:
                break
            source = sources[suspect.path]
            gap = each.find(source, suspect.statement)
            if gap is None:
                continue
            request = Request(
                prefix=source.text[: gap.start],
                suffix=gap.after + source.text[gap.end :],
                beside=beside,
                temperature=each.temperature,
                seed=each.seed,
                seconds=seconds_left(),
                tokens=BLOCK_TOKENS if gap.is_block else LINE_TOKENS,
                stop=() if gap.is_block else ("\n",),
            )
            filling = await filler.fill(request)
            if filling is not None:
                filling = cut_filling(filling, gap, source)
            if filling is not None and not filling.text.strip():
                continue
            key = (suspect.path, gap.start, gap.end, filling.text.strip() if filling else "")
            if filling is not None and key not in seen:
                seen.add(key)
                found.setdefault(suspect.statement, []).append((gap, filling))
        if found:
            yield make_filled_template(found)


def select_places(suspects: Sequence[Suspect], sources: Mapping[str, Source]) -> list[Suspect]:
    """Return the suspects at which the model is asked: placeholders first, since something is known to miss there."""
    first = [each for each in suspects if is_placeholder(sources[each.path], each.statement)]
    known = {id(each) for each in first}
    return [*first, *(each for each in suspects if id(each) not in known)][:MOST_PLACES]


def is_placeholder(source: Source, statement: ast.stmt) -> bool:
    """Return whether a statement only holds the place of another: a stub, or a `pass` that could be left out."""
    block = source.get_block(statement)
    is_stub = len(block) == 1 and isinstance(
        source.parents[statement], ast.FunctionDef | ast.AsyncFunctionDef
    )
    if isinstance(statement, ast.Raise):
        name = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return is_stub and isinstance(name, ast.Name) and name.id == "NotImplementedError"
    is_dots = isinstance(statement, ast.Expr) and getattr(statement.value, "value", None) is ...
    if not is_dots and not isinstance(statement, ast.Pass):
        return False
    return is_stub or (len(block) > 1 and source.find_enclosing_function(statement) is not None)


def cut_filling(filling: Filling, gap: Gap, source: Source) -> Filling:
    """Return a filling without what leads out of its gap: the rest of the line anew, lines outside of its block."""
    text = filling.text
    if gap.is_block:
        start = source.text.rfind("\n", 0, gap.start) + 1
        depth = gap.start - start
        lines = text.split("\n")
        outside = (
            number
            for number, line in enumerate(lines)
            if number and line.strip() and len(line) - len(line.lstrip()) < depth
        )
        return replace(filling, text="\n".join(lines[: next(outside, len(lines))]).rstrip())
    text = text[: measure_logical_line(text)]
    rest = source.text[gap.end :].partition("\n")[0].rstrip()
    if rest and not gap.after and text.rstrip().endswith(rest):
        text = text.rstrip().removesuffix(rest)
    return replace(filling, text=text.rstrip())


def make_filled_template(found: Mapping[ast.stmt, Sequence[tuple[Gap, Filling]]]) -> Template:
    """Return a template whose changes are the fillings of each statement."""

    def list_fillings(site: Site) -> Iterator[Change]:
        for gap, filling in sorted(found.get(site.statement, ()), key=lambda each: -each[1].score):
            text = filling.text.strip()
            shown = textwrap.shorten(" ".join(text.split()), MOST_SHOWN, placeholder=" …")
            why = f"`{shown}` is what the model writes at line {site.statement.lineno}"
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
