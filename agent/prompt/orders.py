"""Orders and questions in the clauses of a prompt, in the languages that are read by tables."""

from __future__ import annotations

import re

from agent.prompt.languages import Language
from agent.prompt.prompt_intent import Kind
from agent.prompt.prompt_text import find_paths, split_clauses
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_SENTENCE = compile_lazily(r"[^.!?\n。！？]*(?:\.(?!\s|$)[^.!?\n。！？]*)*[.!?。！？]*")
_TESTS = compile_lazily(r"\btests?\b|test_\w+|テスト|测试|用例|pruebas?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOrder:
    """What the words of a prompt order, whatever is forbidden beside."""

    kind: Kind
    orders_repair: bool = False
    wants_passing_tests: bool = False


def classify_foreign_text(text: str, language: Language) -> FoundOrder:
    """Return what a text in one of the tables' languages orders: the first order counts, else a question."""
    found: list[Kind] = []
    passing = False
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip()
        if not sentence:
            continue
        is_request = bool(language.search("request", sentence))
        asks = sentence[-1] in "?？" and not is_request
        if not asks and language.search("passing", _drop_bans(sentence, language)):
            passing = True
            found.append("repair")
        for clause in split_clauses(sentence):
            if (kind := _read_clause(clause, language, asks=asks)) is not None:
                found.append(kind)
                passing |= kind == "repair" and bool(_TESTS.search(clause))
    wanted: Kind = next((each for each in _ORDER_OF_KINDS if each in found), "unclear")
    if wanted == "repair" and "change" in found and found.index("change") < found.index("repair"):
        wanted = "change"  # the repair belongs to it
    return FoundOrder(kind=wanted, orders_repair="repair" in found, wants_passing_tests=passing)


_ORDER_OF_KINDS: tuple[Kind, ...] = ("repair", "change", "task", "answer")


def _drop_bans(text: str, language: Language) -> str:
    return language.compile("ban").sub(" ", text)


def _read_clause(clause: str, language: Language, *, asks: bool) -> Kind | None:
    """Return what one clause wants, beside what it forbids; None where it neither orders nor asks."""
    if ban := language.search("ban", clause):
        clause = clause[ban.end() :] if language.name == "Japanese" else clause[: ban.start()]
    bare = clause.strip(" ¿¡?？!！、，")
    if not bare:
        return None
    is_request = bool(language.search("request", bare))
    polite = language.compile("polite").match(bare)
    order = bare[polite.end() :].strip() if polite else bare
    if language.search("asks", order) or (language.search("asks", bare) and not is_request):
        return "answer"
    if (asks or language.search("tail", bare)) and not is_request:
        return "answer"
    if language.search("repair", order):
        return "change" if language.search("texts", order) and not _TESTS.search(order) else "repair"
    if language.search("task", order):
        return "task"
    if language.search("change", order):
        return None if language.search("product", order) and not find_paths(order) else "change"
    return "answer" if is_request else None
