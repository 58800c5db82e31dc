"""What an answer is worth: recovered, refused or wrong; and what kind of wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.edit_mutations.catalogue import Case, Form
from benchmarks.edit_mutations.draft import squeezed
from benchmarks.edit_mutations.matchers import Answer

Outcome = Literal["recovered", "refused", "guessed", "endings", "white space", "wrong"]
"""recovered: to the byte. refused: the file is left alone. guessed: nothing told the place, and it was hit.

endings: right but for line endings. white space: right but for white space and blank lines, of whatever use
the file is then. wrong: any other content. The last three are wrongly applied.
"""

WRONGLY: tuple[Outcome, ...] = ("wrong", "white space", "endings")


def judged(case: Case, answer: Answer) -> Outcome:
    """What the answer to this case is worth."""
    if answer.content is None or answer.content == case.before:
        return "refused"
    if answer.content == case.right:
        return "guessed" if case.refuse else "recovered"
    if _unix(answer.content) == _unix(case.right):
        return "wrong" if case.refuse else "endings"
    if not case.refuse and _bare(answer.content) == _bare(case.right):
        return "white space"
    return "wrong"


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").rstrip(b"\n")


def _bare(content: bytes) -> str:
    return squeezed(content.decode(errors="replace"))


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts by form, perturbation and matcher: of cases that have a right answer, and of those that have none."""

    counts: dict[tuple[Form, str, str], Counter[Outcome]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    traps: dict[tuple[Form, str, str], Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: dict[tuple[Form, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, matcher: str, case: Case, answer: Answer) -> Outcome:
        """Count an answer."""
        outcome = judged(case, answer)
        table = self.traps if case.refuse else self.counts
        table[case.form, case.name, matcher][outcome] += 1
        self.seconds[case.form, matcher].append(answer.seconds)
        return outcome

    def merge(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        for mine, theirs in ((self.counts, other.counts), (self.traps, other.traps)):
            for key, counter in theirs.items():
                mine[key].update(counter)
        for place, seconds in other.seconds.items():
            self.seconds[place] += seconds
