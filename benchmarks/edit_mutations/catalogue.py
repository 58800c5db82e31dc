"""All perturbations by name, and the cases that they make of a hunk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from benchmarks.edit_mutations import dressing, twins, whitespace, wording
from benchmarks.edit_mutations.draft import Draft, as_diff, as_patch, new_lines, old_lines, plain
from benchmarks.edit_mutations.oracle import Verdict, exact_places, verdict
from benchmarks.edit_mutations.whitespace import leading

Perturbation = Callable[[Random, Draft], Draft | None]

Form = Literal["block", "patch", "diff"]
"""How a case is written: search and replace, `*** Begin Patch`, unified diff."""


def _none(rng: Random, draft: Draft) -> Draft | None:
    return draft


WRITTEN: Mapping[str, Perturbation] = {
    "none": _none,
    "unindented": whitespace.unindented,
    "indented less": whitespace.outdented,
    "indented more": whitespace.indented,
    "first line unindented": whitespace.first_line_unindented,
    "tabs as spaces": whitespace.tabs_as_spaces,
    "spaces as tabs": whitespace.spaces_as_tabs,
    "trailing space lost": whitespace.trailing_lost,
    "trailing space added": whitespace.trailing_added,
    "columns collapsed": whitespace.runs_collapsed,
    "operators spaced": whitespace.spaced_out,
    "operators tightened": whitespace.tightened,
    "blank lines dropped": whitespace.blank_dropped,
    "blank line added": whitespace.blank_added,
    "blank lines around": whitespace.blank_around,
    "blank line before old": whitespace.blank_before_old,
    "word drifted": wording.word_drifted,
    "comment reworded": wording.comment_reworded,
    "typo in removed line": wording.typo,
    "context line missing": wording.line_missing,
    "context line invented": wording.line_invented,
    "wrong lines at an end": wording.wrong_ends,
    "context truncated": wording.truncated,
    "curly quotes": wording.curly,
    "curly quotes throughout": wording.curly_throughout,
    "plain for curly": wording.straightened,
    "no-break spaces": wording.no_break_spaces,
    "context elided": wording.elided,
    "removed lines elided": wording.removed_elided,
}
"""The hunk's lines are written otherwise."""

DRESSED: Mapping[str, Perturbation] = {
    "line numbers": dressing.numbered,
    "line numbers, old only": dressing.old_numbered,
    "fenced": dressing.fenced,
    "escaped twice": dressing.escaped,
    "line ends escaped": dressing.line_ends_escaped,
    "last line unended": dressing.unended,
    "CRLF": dressing.crlf,
}
"""Something stands around the lines: search/replace only."""

TRAPS: Mapping[str, Perturbation] = {
    "duplicated": twins.duplicated,
    "removed lines duplicated": twins.removed_duplicated,
    "duplicated deeper": twins.duplicated_deeper,
    "near twin": twins.near_twin,
    "glued twin": twins.glued_twin,
    "contested": twins.contested,
    "within a longer name": twins.within_a_name,
}
"""The file holds the place twice, or nearly so."""

SLIPS = tuple(name for name in WRITTEN if name not in ("none", "context elided", "removed lines elided"))
"""Perturbations that can follow another."""

TWO, TRAPPED = "two at once", "a trap and a slip"
"""Two perturbations one after the other, three such pairs of each hunk."""

HEADERS = ("diff: wrong numbers", "diff: wrong counts", "diff: no numbers")
"""What the header of a unified diff may be; elsewhere it is right."""

HEADED = "patch: head"
"""The patch format with the enclosing block's first line after `@@`; elsewhere without."""

NAMES: tuple[str, ...] = (*WRITTEN, *DRESSED, *TRAPS, TWO, TRAPPED, *HEADERS, HEADED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A hunk as it is written in one form, and what is right.

    right: the content that the file should have afterwards; where `refuse`, what it would have had
    refuse: nothing tells which place is meant: only a refusal is right
    line: the number at which a diff says that it stands, counted: and its counts are right
    """

    name: str
    form: Form
    draft: Draft
    before: bytes
    right: bytes
    refuse: bool
    sent: str = ""
    head: str = ""
    line: int | None = None
    counted: bool = False

    @property
    def by_line(self) -> bool:
        """To the letter it says another thing than by lines: a blank line before the old text alone joins two."""
        return self.form == "block" and "a blank line before the old text" in self.draft.note


def cases(hunk: Draft, key: str, only: Collection[str] = NAMES) -> Iterator[Case]:
    """All cases of one hunk. `key` seeds them, each name for itself: fewer names give the same cases."""
    for name in only:
        rng = Random(f"{key} {name}")
        for draft in _drafts(rng, name, hunk):
            yield from _forms(rng, name, draft)


def _drafts(rng: Random, name: str, hunk: Draft) -> Sequence[Draft]:
    """The hunk perturbed, in one way, or in three drawn from many."""
    single = {**WRITTEN, **DRESSED, **TRAPS, **dict.fromkeys((*HEADERS, HEADED), _none)}
    if name in single:
        draft = single[name](rng, hunk)
        return [draft] if draft else []
    first = SLIPS if name == TWO else tuple(TRAPS)
    pairs = [(rng.choice(first), rng.choice(SLIPS)) for _ in range(12)]
    drafts = []
    for one, other in pairs:
        draft = single[one](rng, hunk)
        draft = draft and single[other](rng, draft)
        if draft and one != other and other != "plain for curly":  # it might undo the first
            drafts.append(draft)
    return drafts[:3]


def _forms(rng: Random, name: str, draft: Draft) -> Iterator[Case]:
    says = verdict(draft)
    before, right = (draft.source.content(draft.text.lines), draft.source.content(draft.applied()))
    if before == right or says is Verdict.DROP:
        return
    case = Case(
        name=name, form="block", draft=draft, before=before, right=right, refuse=says is Verdict.REFUSE
    )
    if name in HEADERS:
        yield from _numbered(rng, case)
    elif name == HEADED:
        yield from _headed(case)
    else:
        yield case
        if draft.dress is plain and draft.meant and not case.by_line:
            yield replace(case, form="patch", sent=as_patch(draft, ""))
            yield _diff(case, draft.start + 1, 0)


def _diff(case: Case, line: int, more: int) -> Case:
    """With a header that says the line and so many old and new lines more than there are.

    A right one tells which place is meant, whatever else there is.
    """
    old, new = (len(side(case.draft.given)) + more for side in (old_lines, new_lines))
    header = f"@@ -{line},{old} +{line},{new} @@"
    return replace(
        case, form="diff", refuse=False, sent=as_diff(case.draft, header), line=line, counted=more == 0
    )


def _numbered(rng: Random, case: Case) -> Iterator[Case]:
    """With a header that is wrong. Where the lines alone do not tell the place, a wrong number says another."""
    start = case.draft.start + 1
    if case.name == "diff: no numbers":
        yield replace(case, form="diff", sent=as_diff(case.draft, "@@ @@"))
    elif not case.refuse and case.name == "diff: wrong numbers":
        yield _diff(case, max(1, start + rng.choice((-1, 1)) * rng.choice((1, 2, 3, 7, 20, 60))), 0)
    elif not case.refuse:
        yield _diff(case, start, rng.choice((-1, 1, 2, 3)))


def _headed(case: Case) -> Iterator[Case]:
    """With the nearest line before that is indented less, if it stands once and the old lines once after it."""
    lines, start = case.draft.text.lines, case.draft.start
    depth = min((len(leading(line)) for line in old_lines(case.draft.given) if line.strip()), default=0)
    heads = (index for index in range(start - 1, -1, -1) if _heads(lines[index], depth))
    index = next(heads, None)
    if index is None or case.draft.text.where[case.draft.text.squeezed[index]] != [index]:
        return
    if len(exact_places(lines[index + 1 :], old_lines(case.draft.given))) != 1:
        return
    head = lines[index].strip()
    yield replace(case, form="patch", refuse=False, head=head, sent=as_patch(case.draft, head))


def _heads(line: str, depth: int) -> bool:
    """A line that can stand for the block below it."""
    return len(leading(line)) < max(depth, 1) and sum(map(str.isalnum, line)) >= 4
