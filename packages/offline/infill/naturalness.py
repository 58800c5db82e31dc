"""Naturalness of a change: what the model thinks of the new lines in their place, against the lines that were there.

Of changes that pass the same tests, the right one is mostly the likelier text (Yang et al. 2024, Revisiting
unnaturalness for automated program repair in the era of large language models).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from agent.model.infill.fill_forms import Gap
from agent.model.infill.filler import Filler
from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from sandbox.lazy_dataclass import dataclass

LONGEST = 240
"""Characters of the lines, old or new, that are measured: each token takes a processor a tenth of a second."""

MOST_TOKENS = 128

SAMPLES = 3
"""Fillings of which some may be the old or the new line, where a server tells no probability of a given text."""

WARM = 0.8
"""Temperature of the samples after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """Whole lines between the texts before and after, old and new; the first without its indentation."""

    before: str
    old: str
    new: str
    after: str


def find_line_change(text: str, changed: str) -> LineChange | None:
    """Return the lines in which two texts differ; None if they do not, or in more than can be measured.

    Where lines are only added or removed, the line behind them belongs to both.
    """
    old, new = text.split("\n"), changed.split("\n")
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    tail = next((at for at in range(shortest - head) if old[-1 - at] != new[-1 - at]), shortest - head)
    if head + tail in (len(old), len(new)) and tail and old != new:
        tail -= 1
    one, other = "\n".join(old[head : len(old) - tail]), "\n".join(new[head : len(new) - tail])
    if one == other or not one.strip() or not other.strip() or max(len(one), len(other)) > LONGEST:
        return None
    depth = min(len(each) - len(each.lstrip()) for each in (one, other))
    before = "".join(f"{line}\n" for line in old[:head]) + one[:depth]
    after = "".join(f"\n{line}" for line in old[len(old) - tail :])
    return LineChange(before=before, old=one[depth:], new=other[depth:], after=after)


async def measure_candidate(
    filler: Filler, candidate: Candidate, beside: Sequence[tuple[str, str]]
) -> float | None:
    """Return the naturalness of a candidate of the engine, the sum of its changes'; None if one is not told."""
    total = 0.0
    for part in candidate.parts:
        text, edit = part.source.text, part.change
        told = await measure_texts(filler, text, text[: edit.start] + edit.text + text[edit.end :], beside)
        if told is None:
            return None
        total += told
    return total


async def measure_texts(
    filler: Filler, text: str, changed: str, beside: Sequence[tuple[str, str]] = ()
) -> float | None:
    """Return the naturalness of the change of a file's text; None if it is not told."""
    change = find_line_change(text, changed)
    return await measure_naturalness(filler, change, beside) if change is not None else None


async def measure_naturalness(
    filler: Filler, change: LineChange, beside: Sequence[tuple[str, str]] = ()
) -> float | None:
    """Return how much likelier the new lines are than the old ones, as a difference of log-probabilities.

    Of the mean token each, times the tokens of the longer text: else whatever leaves something out is likelier.
    None if the model tells nothing. beside: other files that the model is shown
    """
    if not await filler.tells_probabilities():
        return await _measure_agreement(filler, change, beside)
    values = []
    for text in (change.old, change.new):
        gap = Gap(
            prefix=change.before, suffix=change.after, beside=beside, forced=text, tokens=MOST_TOKENS, stop=()
        )
        values.append(await filler.measure_probability(gap))
    old, new = values
    if old is None or new is None:
        return None
    return (new[0] / new[1] - old[0] / old[1]) * max(old[1], new[1])


async def _measure_agreement(
    filler: Filler, change: LineChange, beside: Sequence[tuple[str, str]]
) -> float | None:
    """Return the logarithm of how much oftener samples are the new lines than the old ones, one of each added."""
    counts = {change.old: 1, change.new: 1}
    answered = False
    for seed in range(SAMPLES):
        gap = Gap(
            prefix=change.before, suffix=change.after, beside=beside, seed=seed,
            temperature=WARM if seed else 0.0, stop=() if "\n" in change.old + change.new else ("\n",),
        )  # fmt: skip
        filling = await filler.fill(gap)
        answered |= filling is not None
        for text in counts:
            if filling is not None and _is_same(filling.text, text):
                counts[text] += 1
    return math.log(counts[change.new] / counts[change.old]) if answered else None


def _is_same(filled: str, text: str) -> bool:
    """Return whether a filling begins with a text, but for blanks; it may go on behind several lines."""
    one, other = filled.split(), text.split()
    return one[: len(other)] == other if "\n" in text else one == other
