"""Candidates in the order of their expected value, generated line by line on demand."""

from __future__ import annotations

import ast
import difflib
import heapq
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packages.offline.repair.engine.candidates.composed_edits import Edit, compose_edits
from packages.offline.repair.engine.candidates.likelihood import Traits, compute_likelihood, measure_traits
from packages.offline.repair.engine.candidates.redundant import is_redundant
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates import (
    FITTED,
    PRECISION,
    TEMPLATES,
    Change,
    Hints,
    ProjectSources,
    Site,
    Source,
    Template,
)
from packages.offline.repair.templates.support.source_tree import TOKEN
from sandbox.lazy_dataclass import dataclass

# Two changes at once pass the tests by chance more often than one.
PAIRED = 0.8
# With more suspicious statements, as in libraries, changes are ordered by likelihood; in small programs,
# where fitting gained nothing, by the priors written with the templates.
MANY_STATEMENTS = 50
# Files with more lines count as a library's, however few of their statements are suspicious.
LARGE = 250
# There a template with many candidates at a line spreads its probability over them; not fully, since the
# likelier of them come first (0.75 was the best of the exponents tried on small programs), and the first is
# the likelier of two.
SPREAD, ORDER_DISCOUNT = 0.75, 1e-4
# Likelihoods of changes differ more than suspiciousness, which is therefore squared (of 1, 1.5 and 2 the best
# on QuixBugs).
SUSPICION = 2.0
# A change that the failure itself names (an undefined name, at all its places) is right this often when the
# tests pass.
NAMED = 0.97
# Templates by prior, likeliest first: those of one group are evaluated together at a statement, and unlikely
# ones only when nothing likelier is left anywhere, so that the first candidate need not wait for them all.
_STEPS = (1.2, 0.65, 0.4, 0.25, 0.0)


def group_by_prior(templates: Sequence[Template]) -> tuple[tuple[Template, ...], ...]:
    """Return the templates in such groups, likeliest first."""
    ordered = sorted(templates, key=lambda each: -each.prior)
    steps = zip(_STEPS, (math.inf, *_STEPS), strict=False)
    groups = (tuple(each for each in ordered if low < each.prior <= high) for low, high in steps)
    return tuple(group for group in groups if group)


GROUPS, GROUPS_FITTED = group_by_prior(TEMPLATES), group_by_prior(FITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One untried edit of one file.

    rank: its position in the order of trial
    source: the text that the change's offsets refer to
    traits: the features of its likelihood, in the order of `weights.TRAITS`
    size: number of changed tokens, including those of its base
    base: another candidate that is applied before it, so that `source` is its file with the base applied
    """

    rank: int
    suspect: Suspect
    source: Source
    template: str
    change: Change
    priority: float
    size: int
    traits: Traits = ()
    base: Candidate | None = None

    @property
    def path(self) -> str:
        return self.suspect.path

    @property
    def parts(self) -> list[Candidate]:
        """Its single changes, in the order in which they are made."""
        return [*(self.base.parts if self.base else ()), self]

    @property
    def edits(self) -> list[Edit]:
        """Its edits, all offsets in the text before any change."""
        return compose_edits([(part.path, part.source.text, part.change) for part in self.parts])

    @property
    def precision(self) -> float:
        """Share of such changes that are right when the tests pass."""
        found = 1.0
        for each in self.parts:
            found *= PRECISION[each.template]
        return found * PAIRED ** (len(self.parts) - 1)

    @property
    def why(self) -> str:
        return "; ".join(each.change.why for each in self.parts)


def adjust_suspect_count(suspects: int, sources: Iterable[Source]) -> int:
    """Return the number of suspicious statements; in a library, whose files are large, more than `MANY_STATEMENTS`."""
    large = sum(len(source.statements) for source in sources) > LARGE
    return max(suspects, MANY_STATEMENTS + 1) if large and suspects else suspects


def generate_candidates(
    suspects: Sequence[Suspect],
    sources: Mapping[str, Source],
    hints: Hints,
    kind: Callable[[str], float] | None = None,
    fitted: bool | None = None,
    templates: Sequence[Template] = (),
) -> Iterator[Candidate]:
    """Yield every candidate once, by falling suspiciousness × prior, and by likelihood as far as groups allow.

    kind: factor on the prior of a template, by its name
    fitted: order by likelihood; None: if many statements are suspicious
    templates: instead of all of them
    """
    if fitted is None:
        fitted = adjust_suspect_count(len(suspects), sources.values()) > MANY_STATEMENTS
    groups = GROUPS_FITTED if fitted else GROUPS
    if templates:
        groups = group_by_prior(templates)
    if kind is not None:
        groups = group_by_prior(
            [replace(each, prior=each.prior * kind(each.name)) for group in groups for each in group]
        )
    heap: list[tuple[float, int, int, Suspect, str, Change, Traits]] = []
    written: set[str] = set()
    meant: set[tuple[str, int, str] | None] = {None}
    number = rank = 0
    around = ProjectSources(list(sources.values()))
    sites = [
        Site(source=sources[each.path], statement=each.statement, hints=hints, around=around)
        for each in suspects
    ]
    # No candidate of a group at a statement is likelier than its score times the group's highest prior.
    turns = sorted(
        (-_weigh_suspect(suspect, fitted) * group[0].prior, place, position)
        for position, suspect in enumerate(suspects)
        for place, group in enumerate(groups)
    )
    for turn, (_, place, position) in enumerate(turns):
        suspect, following = suspects[position], -turns[turn + 1][0] if turn + 1 < len(turns) else 0.0
        found = generate_at_statement(suspect, sites[position], groups[place], written, fitted)
        for order, (priority, name, change, known) in enumerate(found):
            heapq.heappush(heap, (-priority, number, order, suspect, name, change, known))
            number += 1
        if place == 0:
            meant.add(identify_statement(sources[suspect.path], suspect.statement))
        while heap and -heap[0][0] >= following:
            priority, _, _, of, name, change, known = heapq.heappop(heap)
            meaning = identify_change(sources[of.path], of.statement, change)
            if meaning in meant:  # not Python, or a duplicate in other words
                continue
            meant.add(meaning)
            size = _count_changed_tokens(sources[of.path].text[change.start : change.end], change.text)
            yield Candidate(
                rank=rank,
                suspect=of,
                source=sources[of.path],
                template=name,
                change=change,
                priority=-priority,
                size=size,
                traits=known,
            )
            rank += 1


def _count_changed_tokens(old: str, new: str) -> int:
    """Return the number of changed words, numbers and operators; a replacement or a swap counts once."""
    before, after = TOKEN.findall(old), TOKEN.findall(new)
    if sorted(before) == sorted(after):
        return 1
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def generate_at_statement(
    suspect: Suspect, site: Site, templates: Sequence[Template], seen: set[str], fitted: bool
) -> list[tuple[float, str, Change, Traits]]:
    """Return (priority, template, change, traits) of the templates' changes to a statement that are not in `seen`."""
    source, text = site.source, site.source.text
    by_template: dict[str, list[Change]] = defaultdict(list)
    for template in templates:
        for change in _iter_changes(template, site):
            if text[change.start : change.end] == change.text:
                continue
            written = _build_text_key(source, change)
            if written not in seen:
                seen.add(written)
                by_template[template.name].append(change)
    result: list[tuple[float, str, Change, Traits]] = []
    for template in templates:
        found = by_template[template.name]
        each = _weigh_suspect(suspect, fitted) * template.prior
        for place, change in enumerate(found):
            if not fitted:
                one = 1 - ORDER_DISCOUNT * min(place, 1000)
                result.append((each * one / len(found) ** SPREAD, template.name, change, ()))
                continue
            known = measure_traits(site, change, place, len(found))
            looks = compute_likelihood(known)
            if template.precision >= NAMED:  # the failure itself names it: no likelihood needed
                looks = max(looks, 1 / (1 + place))
            result.append((each * looks, template.name, change, known))
    return result


def _iter_changes(template: Template, site: Site) -> Iterator[Change]:
    """Yield a template's changes; stop once it has borrowed a text that is not valid Python at its place."""
    try:
        yield from template.changes(site)
    except SyntaxError:
        return


def _weigh_suspect(suspect: Suspect, fitted: bool) -> float:
    return suspect.score**SUSPICION if fitted else suspect.score


# Characters around a change that distinguish two changes: more than any changed expression has.
_AROUND = 200


def _build_text_key(source: Source, change: Change) -> str:
    """Return a cheap key, equal for changes with the same resulting text up to blanks; many are never tried."""
    text, start, end = source.text, change.start, change.end
    line = text.rfind("\n", 0, start) + 1
    first = max(line, start - _AROUND)
    last = text.find("\n", end)
    last = min(last if last >= 0 else len(text), end + _AROUND)
    whole = text[first:start] + change.text + text[end:last]
    lines = text.count("\n", start, end), change.text.count("\n")
    written = whole if any(lines) else whole.replace(" ", "")  # indentation counts where lines are changed
    return f"{source.path}:{first}:{lines[0]}:{written}"


def identify_change(source: Source, statement: ast.stmt, change: Change) -> tuple[str, int, str] | None:
    """Return the syntax of the statement after the change, independent of spelling; None if it is not Python."""
    start, end = source.get_span(statement)[0], _find_header_end(source, statement)
    if start <= change.start and change.end <= end:
        changed = source.text[start : change.start] + change.text + source.text[change.end : end]
        return _identify_text(source, statement, changed)
    # Whole lines are added, removed or moved: the text itself distinguishes such changes.
    return source.path, change.start, f"{change.end}\n{change.text}"


def identify_statement(source: Source, statement: ast.stmt) -> tuple[str, int, str] | None:
    """Return the identity of an unchanged statement."""
    return _identify_text(
        source, statement, source.text[source.get_span(statement)[0] : _find_header_end(source, statement)]
    )


def _identify_text(source: Source, statement: ast.stmt, chunk: str) -> tuple[str, int, str] | None:
    if isinstance(getattr(statement, "body", None), list) and not isinstance(statement, ast.Try):
        chunk = _complete_header(chunk, statement)
    elif isinstance(statement, ast.Try) and statement.col_offset:
        chunk = f"if 1:\n{source.get_indentation(statement.lineno)}{chunk}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of texts such as `0or`, which no user sees
            tree = ast.parse(chunk)
    except SyntaxError:  # the template produced something that the grammar does not allow here
        return None
    if any(map(is_redundant, ast.walk(tree))) and not any(map(is_redundant, ast.walk(statement))):
        return None
    return source.path, statement.lineno, ast.dump(tree)


def _find_header_end(source: Source, statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    if not isinstance(body, list) or isinstance(statement, ast.Try):
        return source.get_span(statement)[1]
    first = body[0]
    decorated = [each.lineno for each in getattr(first, "decorator_list", [])]
    return (
        source.to_offset(first.lineno, first.col_offset)
        if not decorated
        else source.get_line_start(min(decorated))
    )


def _complete_header(chunk: str, statement: ast.stmt) -> str:
    """Return a compound statement's header with a minimal body that completes it."""
    text = chunk.rstrip()
    if isinstance(statement, ast.If) and text.startswith("elif"):
        text = text[2:]
    return f"{text}\n pass" if text.endswith(":") or "#" in text.split("\n")[-1] else f"{text} pass"
