"""Claims of a turn's answer that its events do not bear out."""

from __future__ import annotations

import re

from agent.verify.gaming.turn_trace import TurnTrace

_SUCCESS = re.compile(
    r"\b(?:all|the|every)?\s*(?:\d+\s+)?(?:unit\s+)?(?:tests?|suite|specs?|checks?|build)\b"
    r"(?!\s+(?:to"
    r"|should|must|that))[^.!?\n]{0,30}"
    r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b"
    r"|\b(?:it|everything|the (?:code|fix|change|program|function|bug))\s+(?:now\s+)?(?:works?|runs?|is fixed)\b"
    r"|\bi(?:'ve| have)?\s+(?:just\s+)?(?:ran|run|tested|verified|checked|confirmed|executed)\b"
    r"|\b(?:verified|tested|confirmed)\s+(?:that|it|by|with)\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|n't|never|cannot|could not|unable|without|untested|should|would|might|may|if|once|please"
    r"|un(?:tested|verified))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


def find_unbacked_claim(answer: str, trace: TurnTrace) -> str:
    """Return the sentence that claims success though nothing ran since the last edit; "" if there is none."""
    if not trace.has_edited or trace.ran_since:
        return ""
    for sentence in re.split(r"(?<=[.!?])\s|\n", _QUOTED.sub("", answer)):
        if _SUCCESS.search(sentence) and not _DOUBT.search(sentence):
            return " ".join(sentence.split())[:100]
    return ""
