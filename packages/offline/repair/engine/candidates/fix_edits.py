"""Fixes as edits that a user or a tool can make."""

from __future__ import annotations

from collections.abc import Sequence

from packages.offline.repair.engine.candidates.ranking import (
    PlausiblePatch,
    compute_confidence,
    explain_doubts,
)
from packages.offline.repair.localize.coverage_spectrum import Spectrum
from packages.offline.repair.result import Fix


def build_fixes(
    found: PlausiblePatch,
    texts: dict[str, str],
    others: Sequence[PlausiblePatch],
    spectrum: Spectrum,
    statements: int,
    checks: int | None = None,
) -> list[Fix]:
    """Return a patch as edits to make one after the other; updates `texts`.

    others: equally good patches
    statements: number of suspicious statements
    checks: number of results that the failing tests check; None if unknown
    """
    doubt = explain_doubts(found, others, checks)
    names = {test.index: test.id for test in spectrum.tests}
    fixes = []
    for part in found.candidate.parts:
        change, before = part.change, texts[part.path]
        after = before[: change.start] + change.text + before[change.end :]
        old, new = extract_unique_lines(before, after)
        where = part.suspect.function or part.path
        fixes.append(
            Fix(
                path=part.path,
                line=before.count("\n", 0, change.start) + 1,
                function=part.suspect.function,
                old=old,
                new=new,
                template=part.template,
                why=f"{change.why} in {where}, line {part.suspect.line}",
                tests=tuple(names[index] for index in sorted(found.helped)),
                confidence=compute_confidence(found, others, statements, checks),
                doubt=doubt,
            )
        )
        texts[part.path] = after
    return fixes


def extract_unique_lines(before: str, after: str) -> tuple[str, str]:
    """Return the changed lines, old and new, with enough context to make each unique in its text.

    Unique both ways, so that the change can be reverted by the same means.
    """
    old, new = before.split("\n"), after.split("\n")
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    while True:
        one, other = old[head : len(old) - tail], new[head : len(new) - tail]
        pair = "\n".join(one), "\n".join(other)
        told = pair[0].strip() and pair[1].strip()
        if (told and before.count(pair[0]) == after.count(pair[1]) == 1) or not (head or tail):
            return pair
        head, tail = max(0, head - 1), max(0, tail - 1)
