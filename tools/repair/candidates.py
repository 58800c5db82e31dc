"""Candidates in the order in which they are worth trying, made line by line as they are needed."""

from __future__ import annotations

import ast
import difflib
import heapq
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.repair.localization import Suspect
from tools.repair.templates import PRECISION, TEMPLATES, Change, Hints, Site, Source

# A template that has many candidates at a line spreads its chance over them; not wholly, since the
# likelier of them come first (0.75 was the best of the exponents tried on small programs).
SPREAD = 0.75
# Two changes at once fit the tests by chance more often than one.
PAIRED = 0.8
# Of equally good candidates at a line, the first that a template names is the likelier one.
ORDER_DISCOUNT = 1e-4
_TOKEN = re.compile(r"\w+|[<>=!*/]=|\*\*|//|\S")
# Templates above this speak only of what does not exist or has no effect; where nothing is of that kind, no
# candidate is likelier, so that the following statements can wait until their turn.
ORDINARY = 1.2
_HIGHEST_PRIOR = max(template.prior for template in TEMPLATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One edit of one file, before it was tried.

    rank: its place in the order of trial
    size: tokens that it changes
    also: another candidate that is made together with it
    """

    rank: int
    suspect: Suspect
    template: str
    change: Change
    priority: float
    size: int
    also: Candidate | None = None

    @property
    def path(self) -> str:
        return self.suspect.path

    @property
    def parts(self) -> list[Candidate]:
        """Its single changes, such that each can be made without moving the ones after it."""
        both = [self] if self.also is None else [self, self.also]
        return sorted(both, key=lambda each: (each.path, -each.change.start))

    @property
    def precision(self) -> float:
        """How often such a change is right when the tests pass with it."""
        found = 1.0
        for each in self.parts:
            found *= PRECISION[each.template]
        return found if self.also is None else found * PAIRED

    @property
    def why(self) -> str:
        return "; ".join(each.change.why for each in reversed(self.parts))


def candidates(
    suspects: Sequence[Suspect], sources: Mapping[str, Source], hints: Hints
) -> Iterator[Candidate]:
    """Every candidate once, by falling suspiciousness × prior ÷ number of like candidates at that line."""
    heap: list[tuple[float, int, int, Suspect, str, Change]] = []
    written: set[str] = set()
    meant: set[tuple[str, int, str] | None] = {None}
    number = rank = 0
    bounds = _bounds(suspects, sources, hints)
    for position, suspect in enumerate(suspects):
        for order, (priority, name, change) in enumerate(
            at_statement(suspect, sources[suspect.path], hints, written)
        ):
            heapq.heappush(heap, (-priority, number, order, suspect, name, change))
            number += 1
        meant.add(unchanged(sources[suspect.path], suspect.statement))
        while heap and -heap[0][0] >= bounds[position + 1]:
            priority, _, _, of, name, change = heapq.heappop(heap)
            meaning = identity(sources[of.path], of.statement, change)
            if meaning in meant:  # no Python, or said before in other words
                continue
            meant.add(meaning)
            size = _tokens_changed(sources[of.path].text[change.start : change.end], change.text)
            yield Candidate(
                rank=rank, suspect=of, template=name, change=change, priority=-priority, size=size
            )
            rank += 1


def _bounds(suspects: Sequence[Suspect], sources: Mapping[str, Source], hints: Hints) -> list[float]:
    """For each position, what no candidate of the suspects from there on can exceed."""
    bounds = [0.0]
    for suspect in reversed(suspects):
        site = Site(source=sources[suspect.path], statement=suspect.statement, hints=hints)
        most = _HIGHEST_PRIOR if _is_odd(site) else ORDINARY
        bounds.append(max(bounds[-1], suspect.score * most))
    return bounds[::-1]


def _is_odd(site: Site) -> bool:
    """Something in it does not exist, or comes to nothing."""
    statement = site.statement
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Compare):
        return True
    for node in site.nodes:
        if isinstance(node, ast.Name) and not site.known(node.id):
            return True
        if isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            known = node.attr in site.source.attributes_bound
            if (own and not known) or node.attr in site.hints.missing_attributes:
                return True
    return False


def _tokens_changed(old: str, new: str) -> int:
    """How many words, numbers and signs come and go; an exchange counts once, as does a change of places."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if sorted(before) == sorted(after):
        return 1
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def at_statement(
    suspect: Suspect, source: Source, hints: Hints, seen: set[str]
) -> list[tuple[float, str, Change]]:
    """(priority, template, change) for every candidate at a statement that is not among those `seen`."""
    site = Site(source=source, statement=suspect.statement, hints=hints)
    text = source.text
    by_template: dict[str, list[Change]] = defaultdict(list)
    for template in TEMPLATES:
        for change in template.changes(site):
            if text[change.start : change.end] == change.text:
                continue
            written = _as_written(source, change)
            if written not in seen:
                seen.add(written)
                by_template[template.name].append(change)
    result = []
    for template in TEMPLATES:
        found = by_template[template.name]
        each = suspect.score * template.prior / max(1, len(found)) ** SPREAD
        for place, change in enumerate(found):
            result.append((each * (1 - ORDER_DISCOUNT * min(place, 1000)), template.name, change))
    return result


# Characters around a change that tell two of them apart: more than any expression that is changed has.
_AROUND = 200


def _as_written(source: Source, change: Change) -> str:
    """The same for changes that come to the same text, but for blanks; cheap, for many are never tried."""
    text, start, end = source.text, change.start, change.end
    line = text.rfind("\n", 0, start) + 1
    first = max(line, start - _AROUND)
    last = text.find("\n", end)
    last = min(last if last >= 0 else len(text), end + _AROUND)
    whole = text[first:start] + change.text + text[end:last]
    lines = text.count("\n", start, end), change.text.count("\n")
    written = whole if any(lines) else whole.replace(" ", "")  # indentation counts where lines are changed
    return f"{source.path}:{first}:{lines[0]}:{written}"


def identity(source: Source, statement: ast.stmt, change: Change) -> tuple[str, int, str] | None:
    """What the statement means after the change, however it is written; None if it is no Python at all."""
    start, end = source.span(statement)[0], _header_end(source, statement)
    if start <= change.start and change.end <= end:
        changed = source.text[start : change.start] + change.text + source.text[change.end : end]
        return _meaning(source, statement, changed)
    # Whole lines come, go or move: the text itself tells such changes apart.
    return source.path, change.start, f"{change.end}\n{change.text}"


def unchanged(source: Source, statement: ast.stmt) -> tuple[str, int, str] | None:
    """The identity of a statement as it is."""
    return _meaning(
        source, statement, source.text[source.span(statement)[0] : _header_end(source, statement)]
    )


def _meaning(source: Source, statement: ast.stmt, chunk: str) -> tuple[str, int, str] | None:
    if isinstance(getattr(statement, "body", None), list) and not isinstance(statement, ast.Try):
        chunk = _completed(chunk, statement)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of texts such as `0or`, which nobody will see
            tree = ast.parse(chunk)
    except SyntaxError:  # a template went beyond what the grammar allows here
        return None
    if any(map(_idle, ast.walk(tree))) and not any(map(_idle, ast.walk(statement))):
        return None
    return source.path, statement.lineno, ast.dump(tree)


_SUM, _PRODUCT = (ast.Add, ast.Sub), (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)


def _idle(node: ast.AST) -> bool:
    """Arithmetic that another candidate says plainly: `x - 0`, `x * 1`, `x + 1 - 1`, `x += -1`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, _SUM) and _is_negative(node.value)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, _SUM) and _is_negative(node.right):
        return True
    right, left = _number(node.right), node.left
    if (right == 0 and isinstance(node.op, _SUM)) or (right == 1 and isinstance(node.op, _PRODUCT)):
        return True
    if not isinstance(left, ast.BinOp) or type(left.op) is type(node.op):
        return False
    sums = isinstance(node.op, _SUM) and isinstance(left.op, _SUM)
    return sums and right is not None and _number(left.right) == right


def _is_negative(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    )


def _number(node: ast.expr) -> int | float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _header_end(source: Source, statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    if not isinstance(body, list) or isinstance(statement, ast.Try):
        return source.span(statement)[1]
    first = body[0]
    decorated = [each.lineno for each in getattr(first, "decorator_list", [])]
    return (
        source.offset(first.lineno, first.col_offset) if not decorated else source.line_start(min(decorated))
    )


def _completed(chunk: str, statement: ast.stmt) -> str:
    """A compound statement's header with the least body that makes it whole."""
    text = chunk.rstrip()
    if isinstance(statement, ast.If) and text.startswith("elif"):
        text = text[2:]
    return f"{text}\n pass" if text.endswith(":") or "#" in text.split("\n")[-1] else f"{text} pass"
