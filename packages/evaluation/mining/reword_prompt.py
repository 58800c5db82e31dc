"""Other words for a prompt, without a model: the same request by another person, and the same for the same seed.

Names, paths, code, quotes and lists stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from sandbox.lazy_pattern import compile_lazily

WORDS: Mapping[str, Sequence[str]] = {
    "fault": ("bug", "defect", "mistake"),
    "bug": ("fault", "defect", "problem"),
    "mend": ("fix", "repair", "correct"),
    "fix": ("mend", "repair", "correct"),
    "find": ("locate", "track down"),
    "fail": ("do not pass", "are red"),
    "fails": ("does not pass", "is red"),
    "leave": ("keep",),
    "write": ("put",),
    "has to": ("must", "needs to"),
    "have to": ("must", "need to"),
    "must": ("has to",),
    "add": ("introduce", "put in"),
    "rename": ("change the name of",),
    "remove": ("drop", "take out"),
    "change": ("edit", "modify"),
    "wrong": ("incorrect", "not right"),
    "right": ("correct",),
    "project": ("repository", "code base"),
    "program": ("code",),
    "returns": ("gives back", "yields"),
    "should": ("is supposed to", "ought to"),
}
"""Other words; those that change a name of the code would be none."""

OPENINGS = (
    "",
    "Hi! Could you help with this one?\n\n",
    "From our tracker, as it was reported:\n\n",
    "I am not the author of this code, so I only pass on what I was told:\n\n",
    "Please have a look at the following.\n\n",
)
CLOSINGS = ("", "\n\nThanks a lot!", "\n\nNo rush, but it has to be right.", "\n\nTell me when it is done.")

_KEPT = compile_lazily(
    r"```.*?```|`[^`]*`|\"[^\"]*\"|'[^']*'|^(?:[ ]{4}|\t|[-*>#|]).*$|\S*[/_.]\w\S*", re.DOTALL | re.MULTILINE
)


def reword_prompt(prompt: str, seed: int) -> str:
    """Return the prompt in other words. Raises nothing: a prompt without such words gets another opening."""
    draw = Random(f"{seed} {prompt}")
    pieces: list[str] = []
    at = 0
    for match in _KEPT.finditer(prompt):
        pieces += [_reword(prompt[at : match.start()], draw), match[0]]
        at = match.end()
    pieces.append(_reword(prompt[at:], draw))
    text = "".join(pieces)
    opening, closing = draw.choice(OPENINGS if text != prompt else OPENINGS[1:]), draw.choice(CLOSINGS)
    return f"{opening}{text}{closing}"


def _reword(text: str, draw: Random) -> str:
    def choose(match: re.Match[str]) -> str:
        word = draw.choice(WORDS[match[0].lower()])
        return word[0].upper() + word[1:] if match[0][0].isupper() else word

    known = "|".join(sorted(map(re.escape, WORDS), key=len, reverse=True))
    return re.sub(rf"\b({known})\b", choose, text, flags=re.IGNORECASE)
