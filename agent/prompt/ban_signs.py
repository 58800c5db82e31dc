"""Signs that a prompt may forbid something: one that has none need not be read before its first request."""

from __future__ import annotations

_WORDS = (
    "not n't don’t dont never without only just simply merely leave keep nothing hands avoid refrain stop untouched"
    " unchanged read-only dry off-limits commit limit restrict confine hold stay remain"
    " nicht kein ohne lass finger nur ausschließlich lediglich unverändert eincheck bleib"
    " pas sans aucun laisse rien seulement uniquement ningún ninguna deja nada solo sólo nunca jamás confirm"
)
_SHORT_WORDS = ("no", "nie", "sin", "ne", "n'")


def may_forbid(prompt: str) -> bool:
    """Return whether a prompt has a word that forbids something, in one of the languages that are read."""
    lowered = f" {prompt.lower()} "
    if any("\u2fff" < each < "\ua000" for each in lowered):  # Chinese and Japanese have no words to look for
        return True
    return any(each in lowered for each in _WORDS.split()) or any(
        f" {each}" in lowered or f"\n{each}" in lowered for each in _SHORT_WORDS
    )
