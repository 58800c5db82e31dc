"""Notes of people clustered into named behaviors, without a model.

AutoLibra (Zhu et al., 2025, arXiv 2505.02820) grounds each note in what the agent did, and clusters notes on the same
behavior, praised or blamed, into a metric with name and examples; coverage judges the set. There, models do both; here
a note is grounded in its step, and its words and the step's deed are compared, rare ones weighing more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any

from packages.trace.feedback.notes import Note
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

ALIKE = 0.3
"""Cosine between a note and a behavior from which on the note is of it."""

_WORD = compile_lazily(r"[^\W\d_]{2,}")
_STOP = (
    "it its the this that these those and or but not no nor never did do does done doing was were is are be been being"
    " has have had having to of in on at by for from with without into as than then so if when where which who what"
    " all any some each every more most very too again also just only before after while instead should would could"
    " can will must may might you your he she they them their we our my me us there here out up down off over"
)
"""Words that say nothing of a behavior; praise and blame are told apart by the person."""

_IRREGULAR: Mapping[str, str] = {
    "ran": "run", "wrote": "writ", "written": "writ", "broke": "break", "broken": "break", "forgot": "forget",
    "forgotten": "forget", "made": "mak", "found": "find", "said": "say", "told": "tell", "took": "tak", "taken": "tak",
    "went": "go", "gone": "go", "gave": "giv", "given": "giv", "kept": "keep", "left": "leav", "lost": "los",
    "understood": "understand", "thought": "think", "chose": "choos", "chosen": "choos",
}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Behavior:
    """Notes on one behavior, the oldest first. name: the words that most of them share, in the order of the first"""

    notes: list[Note]
    name: str = ""

    @property
    def good(self) -> int:
        return sum(each.is_good for each in self.notes)

    @property
    def bad(self) -> int:
        return len(self.notes) - self.good

    def as_data(self) -> dict[str, Any]:
        """Return it as JSON: counts, weeks, the newest example of each kind, and places of its notes."""
        by_week = Counter(each.week for each in self.notes)
        examples = {("good" if each.is_good else "bad"): each.text for each in self.notes}
        return {
            "behavior": self.name,
            "good": self.good,
            "bad": self.bad,
            "weeks": dict(sorted(by_week.items())),
            "deeds": list(dict.fromkeys(each.deed for each in self.notes)),
            "examples": examples,
            "places": [f"{each.session}#step-{each.step}" for each in self.notes],
        }


def cluster_notes(notes: Sequence[Note]) -> list[Behavior]:
    """Return the behaviors that notes are about, those with most notes first.

    The notes come in their order: each joins the behavior that it is most like, or begins one.
    """
    features = [collect_features(note) for note in notes]
    counts = Counter(name for each in features for name in each)
    rareness = {name: math.log1p(len(notes) / count) for name, count in counts.items()}
    found: list[tuple[Behavior, Counter[str]]] = []
    for note, names in zip(notes, features, strict=True):
        near = [(_measure_cosine(names, centre, rareness), place) for place, (_, centre) in enumerate(found)]
        score, place = max(near, key=lambda each: (each[0], -each[1]), default=(0.0, 0))
        if score < ALIKE:
            found.append((Behavior(notes=[]), Counter()))
            place = len(found) - 1
        found[place][0].notes.append(note)
        found[place][1].update(names)
    for behavior, _ in found:
        behavior.name = name_behavior(behavior.notes)
    return sorted((each for each, _ in found), key=lambda each: -len(each.notes))


def collect_features(note: Note) -> frozenset[str]:
    """Return the stems of a note's words, and what its step did."""
    return frozenset({find_stem(word) for word in _list_words(note.text)} | {f"@{note.deed}"})


def find_stem(word: str) -> str:
    """Return the stem of an English word, roughly: "running", "runs" and "ran" are "run"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending in ("ing", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            if ending in ("ing", "ed") and word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def name_behavior(notes: Sequence[Note]) -> str:
    """Return up to four words that at least half of the notes have, as the first one has them."""
    stems = Counter(stem for note in notes for stem in {find_stem(word) for word in _list_words(note.text)})
    words = {find_stem(word): word for word in reversed(_list_words(notes[0].text))}
    shared = [word for stem, word in reversed(words.items()) if stems[stem] * 2 >= len(notes)]
    ranked = sorted(shared, key=lambda word: -stems[find_stem(word)])[:4]
    return " ".join(word for word in shared if word in ranked) or notes[0].deed


def _list_words(text: str) -> list[str]:
    stop = _STOP.split()
    return [word for word in (match[0].lower() for match in _WORD.finditer(text)) if word not in stop]


def _measure_cosine(names: Set[str], centre: Mapping[str, int], rareness: Mapping[str, float]) -> float:
    product = sum(centre[name] * rareness[name] ** 2 for name in names if name in centre)
    one = math.sqrt(sum(rareness[name] ** 2 for name in names))
    other = math.sqrt(sum((count * rareness[name]) ** 2 for name, count in centre.items()))
    return product / (one * other) if product else 0.0
