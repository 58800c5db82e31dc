"""Detection of constraints in user messages: demanding sentences, found by cue words of each language.

A false positive costs a line in a summary; a false negative may be forgotten. So the lists are broad, and the
language is not detected: the cues of all are searched. Languages written without spaces are searched within words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from sandbox.lazy_pattern import compile_lazily

CUES: Mapping[str, str] = {
    "English": r"must|never|always|do not|don't|doesn't|should not|shouldn't|may not|cannot|can't|only|without"
    r"|no longer|keep|avoid|leave|make sure|ensure|important|require[sd]?|at most|at least|not allowed|prefer"
    r"|instead of|use",
    "German": r"muss|müssen|musst|müsst|nicht|nichts|nie|niemals|immer|stets|kein|keine|keinen|keiner|keinesfalls"
    r"|nur|ohne|behalte|behaltet|lass|lasse|lasst|vermeide|vermeidet|achte|sicherstellen|stelle sicher|wichtig"
    r"|mindestens|höchstens|statt|anstatt|stattdessen|verwende|verwendet|benutze|nutze|darf|dürfen|soll|sollen"
    r"|verboten",
    "French": r"doit|doivent|devez|il faut|jamais|toujours|pas|seulement|uniquement|sans|évite|évitez|éviter|garde"
    r"|gardez|garder|conserve|conservez|important|obligatoire|interdit|au moins|au plus|plutôt|au lieu|utilise"
    r"|utilisez|laisse|laissez|veille|veillez",
    "Spanish": r"debe|debes|deben|hay que|tiene que|tienes que|nunca|jamás|siempre|no (?:toques|cambies|modifiques"
    r"|uses|borres|elimines|añadas|hagas|edites|escribas|rompas|se puede|puede|puedes)|solo|sólo|solamente|únicamente"
    r"|sin(?= \w)|evita|evite|evitar|mantén|mantenga|mantener|asegúrate|importante|obligatorio|prohibido"
    r"|al menos|como máximo|en lugar de|en vez de|utiliza|utilice",
    "Portuguese": r"deve|devem|nunca|sempre|não|apenas|somente|só|sem|evite|evitar|mantenha|deixe|certifique-se"
    r"|garanta|importante|obrigatório|proibido|pelo menos|no máximo|em vez de|utilize",
    "Italian": r"deve|devi|devono|mai|sempre|non (?:\w+(?:are|ere|ire)|deve|devi|si)|soltanto|solamente|senza|evita"
    r"|evitare|mantieni|lascia|assicurati|importante|obbligatorio|vietato|almeno|al massimo|invece di",
    "Russian": r"долж(?:ен|на|но|ны)|никогда|всегда|нельзя|не|только|без|оставь|оставьте|избегай|избегайте|важно"
    r"|обязательно|минимум|максимум|вместо|используй|используйте|запрещено",
}
"""Cue words, matched as whole words. None is a common word of another of these languages."""

WITHIN: Mapping[str, str] = {
    "Chinese": "必须|必須|务必|務必|一定要|不要|不能|不得|不可|不许|不允许|不应|不應|禁止|切勿|请勿|請勿|只|仅|僅"
    "|始终|始終|总是|總是|保持|保留|避免|确保|確保|至少|至多|最多|而不是|使用|应该|應該|应当|應當",
    "Japanese": "必ず|絶対|禁止|ないで|しない|いけない|いけません|ならない|なりません|べき|のみ|だけ|常に|いつも"
    "|決して|避け|維持|保持|使って|使用|以上|以下",
    "Korean": "반드시|절대|항상|언제나|하지 마|지 마|마세요|말 것|금지|안 됩니다|안 된다|안 돼|해야|없이|대신"
    "|사용하|유지|최소|최대",
}
"""Cues matched within words, or in scripts without spaces."""

_DEMAND = compile_lazily(
    rf"\b(?:{'|'.join(CUES.values())})\b|{'|'.join(WITHIN.values())}",
    re.IGNORECASE,
)
_SENTENCE = compile_lazily(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_DENSE = compile_lazily(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

SHORTEST, SHORTEST_DENSE = 8, 4
"""Minimum characters of a sentence; fewer in scripts where one character is a syllable or a word."""


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, without list markers; one by one, as an answer may have a million."""
    start = 0
    for gap in chain(_SENTENCE.finditer(text), [None]):
        sentence = " ".join(text[start : gap.start() if gap else len(text)].split()).strip("-* ")
        is_dense = not sentence.isascii() and _DENSE.search(sentence)
        if len(sentence) >= (SHORTEST_DENSE if is_dense else SHORTEST):
            yield sentence
        start = gap.end() if gap else len(text)


def find_demand_cue(sentence: str) -> int | None:
    """Return the offset of the cue that makes a sentence a demand; None if there is none."""
    found = _DEMAND.search(sentence)
    return found.start() if found else None
