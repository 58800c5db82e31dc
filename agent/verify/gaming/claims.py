"""Claims of a turn's answer that its events do not bear out."""

from __future__ import annotations

import re

from agent.verify.gaming.turn_trace import TurnTrace
from sandbox.lazy_pattern import compile_lazily

_SUCCESS = compile_lazily(
    r"\b(?:all|the|every)?\s*(?:\d+\s+)?(?:unit\s+)?(?:tests?|suite|specs?|checks?|build)\b"
    r"(?!\s+(?:to"
    r"|should|must|that))[^.!?\n]{0,30}"
    r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b"
    r"|\b(?:it|everything|the (?:code|fix|change|program|function|bug))\s+(?:now\s+)?(?:works?|runs?"
    r"|is fixed)\b"
    r"|\bi(?:'ve| have)?\s+(?:just\s+)?(?:ran|run|tested|verified|checked|confirmed|executed)\b"
    r"|\b(?:verified|tested|confirmed)\s+(?:that|it|by|with)\b",
    re.IGNORECASE,
)
_DOUBT = compile_lazily(
    r"\b(?:not|n't|never|cannot|could not|unable|without|untested|should|would|might|may|if|once|please"
    r"|un(?:tested|verified))\b",
    re.IGNORECASE,
)
_QUOTED = compile_lazily(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


_NEEDLESS = compile_lazily(
    r"\balready\b|\bnothing (?:to|needs? to be|has to be|had to be|else to) (?:do|done|change|changed|fix"
    r"|fixed)\b|\bnothing to \w+\b"
    r"|\bno (?:code |further )?(?:changes?|fix(?:es)?|edits?|action) (?:is|are|was|were)?\s*(?:needed"
    r"|necessary|required)\b"
    r"|\b(?:not|n't) (?:need|require) (?:any |a )?(?:changes?|fix|edits?)\b|\bno need to\b|\bunnecessary\b"
    r"|\b(?:bereits|schon)\b|\bnichts zu (?:tun|ändern)\b|\bkeine Änderung\w* (?:nötig|notwendig"
    r"|erforderlich)\b"
    r"|\bdéjà\b|\brien à (?:faire|changer|modifier)\b|\b(?:aucun|pas de) (?:changement"
    r"|modification)\w* (?:n'est )?nécessaire"
    r"|\bya (?:existe|est[áa]|hay|devuelve|tiene|funciona|pasan?)\b|\bnada que (?:hacer|cambiar)\b"
    r"|\bno hace falta\b"
    r"|已经|已有|无需|不需要|没有需要|既に|すでに|必要(?:は)?(?:ありません|ない)|不要です",
    re.IGNORECASE,
)
_DONE_WORK = compile_lazily(
    r"\b(?:i|we)(?:'ve| have)?\s+(?:just |now |already |also |successfully )*(?:added|renamed|changed|fixed"
    r"|updated|removed|deleted"
    r"|created|implemented|replaced|moved|edited|modified|wrote|written|refactored|made|corrected|repaired)\b"
    r"|\b(?:has|have) been (?:added|renamed|changed|fixed|updated|removed|created|implemented|replaced|moved"
    r"|modified|refactored)\b",
    re.IGNORECASE,
)


def says_needless(answer: str) -> bool:
    """Return whether an answer says that nothing has to be done, and does not claim to have done it."""
    text = _QUOTED.sub("", answer)
    return bool(_NEEDLESS.search(text)) and not _DONE_WORK.search(text)


def find_unbacked_claim(answer: str, trace: TurnTrace) -> str:
    """Return the sentence that claims success though nothing ran since the last edit; "" if there is none."""
    if not trace.has_edited or trace.ran_since:
        return ""
    for sentence in re.split(r"(?<=[.!?])\s|\n", _QUOTED.sub("", answer)):
        if _SUCCESS.search(sentence) and not _DOUBT.search(sentence):
            return " ".join(sentence.split())[:100]
    return ""
