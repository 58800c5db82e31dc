"""The tables: of each form, perturbation by matcher, and the sums; the same as JSON."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff

from benchmarks.edit_mutations.catalogue import NAMES, Case, Form
from benchmarks.edit_mutations.judge import WRONGLY, Outcome, Tally
from benchmarks.edit_mutations.matchers import Answer

FORMS: Mapping[Form, str] = {
    "block": "Search and replace",
    "patch": "Patch format (no line numbers)",
    "diff": "Unified diff (right line numbers, where not said otherwise)",
}


def lines(tally: Tally) -> Iterator[str]:
    """The report as Markdown."""
    for form, title in FORMS.items():
        names = list(dict.fromkeys(matcher for each, matcher in tally.seconds if each == form))
        if not names:
            continue
        yield f"## {title}"
        yield ""
        yield "Cases that have a right answer: recovered / refused / wrongly applied."
        yield ""
        yield from _table(form, names, tally.counts, ("recovered", "refused"), WRONGLY)
        yield ""
        yield "Cases that nobody can tell, where only a refusal is right: refused / guessed / wrongly applied."
        yield ""
        yield from _table(form, names, tally.traps, ("refused", "guessed"), WRONGLY)
        yield ""
        yield from _sums(form, names, tally)
        yield ""


def _table(
    form: Form,
    matchers: Sequence[str],
    counts: Mapping[tuple[Form, str, str], Counter[Outcome]],
    first: Sequence[Outcome],
    rest: Sequence[Outcome],
) -> Iterator[str]:
    """A row for each perturbation that has cases, and one for all."""
    yield "| perturbation | cases | " + " | ".join(matchers) + " |"
    yield "|---|--:|" + "--:|" * len(matchers)
    named = [name for name in NAMES if any((form, name, matcher) in counts for matcher in matchers)]
    for names in [[name] for name in named] + [named]:
        cells, size = [], 0
        for matcher in matchers:
            total: Counter[Outcome] = Counter()
            for name in names:
                total.update(counts.get((form, name, matcher), Counter()))
            size = max(size, total.total())
            cells.append(
                " / ".join(str(sum(total[o] for o in group)) for group in (*([o] for o in first), rest))
            )
        label = names[0] if len(names) == 1 else "**all**"
        yield f"| {label} | {size} | " + " | ".join(cells) + " |"


def _sums(form: Form, matchers: Sequence[str], tally: Tally) -> Iterator[str]:
    heads = ("matcher", "recovered", "wrongly applied", "text", "white space", "endings", "median", "slowest")
    yield f"| {' | '.join(heads)} |"
    yield "|---" + "|--:" * (len(heads) - 1) + "|"
    for matcher in matchers:
        total = _total(tally.counts, form, matcher)
        both = total + _total(tally.traps, form, matcher)
        seconds = tally.seconds.get((form, matcher), [0.0])
        yield (
            f"| {matcher} | {100 * total['recovered'] / max(1, total.total()):.1f} % "
            f"| {sum(both[o] for o in WRONGLY)} | {both['wrong']} | {both['white space']} | {both['endings']} "
            f"| {1000 * statistics.median(seconds):.2f} ms | {1000 * max(seconds):.0f} ms |"
        )


def _total(
    counts: Mapping[tuple[Form, str, str], Counter[Outcome]], form: Form, matcher: str
) -> Counter[Outcome]:
    total: Counter[Outcome] = Counter()
    for (each, _, name), counter in counts.items():
        if each == form and name == matcher:
            total.update(counter)
    return total


def as_data(tally: Tally) -> dict[str, object]:
    """The counts, for other programs."""

    def rows(counts: Mapping[tuple[Form, str, str], Counter[Outcome]]) -> list[dict[str, object]]:
        return [
            {
                "form": form,
                "perturbation": name,
                "matcher": matcher,
                **{str(outcome): number for outcome, number in counter.items()},
            }
            for (form, name, matcher), counter in sorted(counts.items())
        ]

    seconds = [
        {
            "form": form,
            "matcher": matcher,
            "median": statistics.median(each),
            "slowest": max(each),
            "sum": sum(each),
        }
        for (form, matcher), each in sorted(tally.seconds.items())
    ]
    return {"answerable": rows(tally.counts), "unanswerable": rows(tally.traps), "seconds": seconds}


def shown(matcher: str, hunk: int, case: Case, answer: Answer, outcome: Outcome) -> Iterator[str]:
    """A case in full: where it comes from, what was sent, what should have come out and what did."""
    draft = case.draft
    source = draft.source
    yield f"=== {outcome}: {matcher}, {case.form}, {case.name}{' (only a refusal is right)' if case.refuse else ''}"
    yield f"    hunk {hunk}: {source.repository} {source.commit[:12]} {source.path}:{draft.start + 1}  {draft.note}"
    yield "--- sent"
    if case.form == "block":
        yield f"<<<<<<< SEARCH\n{draft.old()}=======\n{draft.new()}>>>>>>> REPLACE"
    else:
        yield case.sent
    yield "--- the file, and what was meant"
    yield from _difference(case.before, case.right, 4)
    if answer.content is None:
        yield f"--- said\n{answer.why}"
    else:
        yield "--- what was meant, and what came out"
        yield from _difference(case.right, answer.content, 3)


def _difference(before: bytes, after: bytes, context: int) -> Iterable[str]:
    a, b = (content.decode(errors="replace").split("\n") for content in (before, after))
    return (repr(line)[1:-1] for line in list(unified_diff(a, b, lineterm="", n=context))[2:])
