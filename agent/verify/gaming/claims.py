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
    r"\balready\b|\b(?:working tree|work tree|tree) is clean\b"
    r"|\bno (?:\w+ )?changes? to \w+\b"
    r"|\bnothing (?:to|needs? to be|has to be|had to be|else to) (?:do|done|change|changed|fix"
    r"|fixed)\b|\bnothing to \w+\b"
    r"|\bno (?:code |further )?(?:changes?|fix(?:es)?|edits?|action) (?:is|are|was|were)?\s*(?:needed"
    r"|necessary|required)\b"
    r"|\b(?:not|n't) (?:need|require) (?:any |a )?(?:changes?|fix|edits?)\b|\bno need to\b|\bunnecessary\b"
    r"|\b(?:bereits|schon)\b|\bnichts zu \w+\b|\bkeine Änderung\w* (?:nötig|notwendig"
    r"|erforderlich)\b"
    r"|\bdéjà\b|\brien à \w+\b|\b(?:aucun|pas de) (?:changement"
    r"|modification)\w* (?:n'est )?nécessaire"
    r"|\bya (?:existe|est[áa]|hay|devuelve|tiene|funciona|pasan?)\b|\bnada que \w+\b"
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

_RAN_TESTS = compile_lazily(
    r"\b(?:(?:i|we)\s+(?:\w+\s+){0,2}?(?:ran(?! into)|executed)"
    r"|(?:i|we)(?:'ve| have)\s+(?:\w+\s+){0,2}?(?:run(?! into)|executed))\s"
    r"[^.!?\n]{0,40}\b(?:tests?|suite|specs?|pytest|unittest|jest|vitest|mocha)\b"
    r"|\bich habe\b[^.!?\n]{0,40}\btests?\b[^.!?\n]{0,20}\b(?:ausgeführt|laufen lassen|gestartet)\b"
    r"|\bj'ai\s+(?:lancé|exécuté)\b[^.!?\n]{0,30}\btests?\b"
    r"|\b(?:he ejecutado|ejecuté|he corrido|corrí)\b[^.!?\n]{0,30}\b(?:tests?|pruebas?)\b"
    r"|(?:我|已经?)(?:已经?)?(?:运行|执行|跑)(?:了|过)[^。！？\n]{0,10}测试|テストを(?:実行し|走らせ)ました",
    re.IGNORECASE,
)
_TESTS_PASS = compile_lazily(
    r"\b(?:all|the|every|\d+)\s+(?:\d+\s+)?(?:unit\s+|of the\s+)?(?:tests?|suite|specs?)\b(?!\s+(?:to|that|which)\b)"
    r"[^.!?\n]{0,20}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|fail(?:s|ed|ing)?)\b"
    r"|\b(?:alle|die)\s+(?:\d+\s+)?tests?\b[^.!?\n]{0,20}\b(?:grün|laufen|bestehen|bestanden)\b"
    r"|\b(?:tous )?les\s+(?:\d+\s+)?tests\s+(?:passent|sont passés|réussissent)\b"
    r"|\b(?:todas?|todos)?\s*(?:las pruebas|los tests)\s+(?:pasan|pasaron|han pasado)\b"
    r"|(?:所有|全部)(?:的)?测试(?:都|均|已)*通过|(?:すべて|全て|全部)の?テスト(?:が|は|に)(?:通|パス|合格|成功)",
    re.IGNORECASE,
)
_COMMITTED = compile_lazily(
    r"^\W*(?:done\W+)?(?:committed|committet|commité|confirmado)\b"
    r"|\b(?:i|we)(?:'ve| have)?\s+(?:\w+\s+){0,2}?committed\b|\b(?:has|have) been (?:\w+ )?committed\b"
    r"|\b(?:are|is|were|was) (?:now |successfully )?committed\b"
    r"|\b(?:made|created) (?:a|the) (?:\w+ )?commit\b"
    r"|\bcommitte?t\b|\bj'ai (?:commité|committé|fait (?:un|le) commit)\b"
    r"|\bhe (?:hecho (?:el |un )?commit|confirmado)\b"
    r"|(?:已经?|成功)(?:将|把)?[^。！？\n]{0,12}提交|提交(?:了|成功|完成)|コミットしました",
    re.IGNORECASE,
)


def claims_test_run(answer: str, *, has_order: bool) -> bool:
    """Return whether an answer tells of a run of the tests. has_order: work was asked for, so that tests that pass are
    those of the project, and not those that it explains"""
    return _has_sentence(answer, _RAN_TESTS) or (has_order and _has_sentence(answer, _TESTS_PASS))


def claims_commit(answer: str) -> bool:
    """Return whether an answer tells of a commit."""
    return _has_sentence(answer, _COMMITTED)


def _has_sentence(answer: str, claim: re.Pattern[str]) -> bool:
    """Return whether a sentence of an answer, outside its code, makes a claim and leaves no doubt."""
    return any(claim.search(each) and not _DOUBT.search(each) for each in _split_sentences(answer))


def _split_sentences(answer: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s|\n", _QUOTED.sub("", answer))


def says_needless(answer: str) -> bool:
    """Return whether an answer says that nothing has to be done, and does not claim to have done it."""
    text = _QUOTED.sub("", answer)
    return bool(_NEEDLESS.search(text)) and not _DONE_WORK.search(text)


def find_unbacked_claim(answer: str, trace: TurnTrace) -> str:
    """Return the sentence that claims success though nothing ran since the last edit; "" if there is none."""
    if not trace.has_edited or trace.ran_since:
        return ""
    for sentence in _split_sentences(answer):
        if _SUCCESS.search(sentence) and not _DOUBT.search(sentence):
            return " ".join(sentence.split())[:100]
    return ""
