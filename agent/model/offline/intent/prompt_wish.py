"""Kind of a prompt: a wish to repair, a question, other work, or unclear.

A question that is taken for a wish changes the user's code; so a repair needs an order (an imperative or its polite
forms), and one inside a question counts for nothing. What is neither is unclear, and is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent.model.offline.intent.foreign_phrases import (
    FOREIGN_NO_CHANGE,
    FOREIGN_QUESTION,
    FOREIGN_REPAIR,
    FOREIGN_WORK,
)
from agent.verify.prompt_intent import asks_for_repair, asks_to_change_nothing, remove_quoted_text

Wish = Literal["repair", "question", "other", "unclear"]

_SENTENCE = re.compile(r"[^.!?;\n]*(?:[.!?;](?!\s|$)[^.!?;\n]*)*[.!?;]*")
_BREAK = re.compile(r"[,:()—–]|\s-+\s|\b(?:then|but)\b", re.IGNORECASE)
"""Between parts of a sentence of which each may be an order of its own."""
_AND = re.compile(r"\b(?:and|so)\b", re.IGNORECASE)
_CITED = re.compile(r"[\"“”][^\"“”\n]*[\"“”]|(?<!\w)'[^'\n]+'(?!\w)")

_ADVERBS = (
    r"(?:please|pls|plz|kindly|just|now|ok|okay|hey|hi|hello|yo|yes|yeah|first|next|again|quickly|also|maybe|perhaps"
    r"|possibly|well|so|right|alright|thanks|time to|try to|try and|go ahead and|go ahead|try|already)"
)
_YOU = r"(?:you|u|we|i)"
_ASKED = (
    r"(?:(?:can|could|would|will)\s+" + _YOU + r"(?:\s+be\s+(?:so\s+kind|kind\s+enough|able)(?:\s+as)?\s+to)?"
    r"|do you think " + _YOU + r" (?:can|could)|any chance (?:that )?" + _YOU + r" (?:can|could)"
    r"|it would be (?:great|nice|good|lovely) if " + _YOU + r" (?:can|could|would)"
    r"|i(?:'m| am) asking you to|i(?:'d| would) (?:like|love) (?:you )?to|i want (?:you )?to|i need (?:you )?to"
    r"|we (?:need|want|have) to|you (?:should|must|can|need to|have to)|let's|let us|help (?:me|us)(?: to)?"
    r"|(?:your|the) task(?: is|:)(?: to)?|how about you)"
)
_COURTESY = re.compile(rf"(?:(?:{_ADVERBS}|{_ASKED})\b[\s,:!]*)+", re.IGNORECASE)
_GERUND_COURTESY = re.compile(
    r"(?:(?:would|do|could)\s+you\s+)?(?:mind|(?:perhaps\s+|please\s+|maybe\s+)?(?:have|having|take|give)\s+a\s+(?:go|stab|shot|try)\s+at"
    r"|try|give)\s+(?=fixing|repairing|mending|correcting|resolving|solving|healing|unbreaking)",
    re.IGNORECASE,
)

_REPAIR_VERB = (
    r"(?:fix|repair|mend|heal|unbreak|solve|resolve|correct|rectify|cure|patch(?=\s+(?:the|this|that|it|up)\b)"
    r"|debug and \w+"
    r"|sort\s+(?:it|this|that|them|out)|take care of|get rid of|eliminate|squash"
    r"|(?:attempt|apply|make|write|do)\s+(?:a|the)\s+fix|put\s+(?:it|this|that|the\s+\w+|\w+)\s+right(?!\s+\w)"
    r"|make\s+(?:it|this|that)\s+right"
    r"|(?:address|tackle|deal with|handle)(?=\s+(?:\S+\s+){0,3}(?:fail|bug|test|error|crash|regression)))"
)
_GERUND = r"(?:fixing|repairing|mending|correcting|resolving|solving|healing|unbreaking)"
_ORDER = re.compile(
    rf"(?:{_REPAIR_VERB}|to {_GERUND})\b(?!\s+(?:me|nothing|you)\b)(?P<object>.*)", re.IGNORECASE
)
"""At the start of a part of a sentence; "to fixing" stands for the gerund after "would you mind"."""
_NOUN_ORDER = re.compile(r"(?:a|the) (?:fix|repair) for\b(?P<object>.*)", re.IGNORECASE)

_GOOD = r"\b(?:pass(?:es|ing)?|green|succeed(?:s|ing)?|work(?:s|ing)?)\b"
_FAULTY = r"(?:fail(?:s|ing)?|crash(?:es|ing)?|break(?:s|ing)?|throwing|raising)"
_TO_PASS = re.compile(
    r"(?:(?:i|we)\s+)?(?:make|get|getting|bring|turn|ensure|want|need|see to it)\b(?!\s+(?:an?|me|sense)\b)"
    r"(?:(?!\b(?:which|list|names?|report|summary|table|count|number|why|how|what|whether|understand|sense)\b).)*?"
    + _GOOD
    + r"|(?:make|stop|prevent|keep)\b.*?\b(?:stop|from|not)\s+" + _FAULTY + r"\b"
    + r"|stop\b.*?\b" + _FAULTY + r"\b",
    re.IGNORECASE,
)  # fmt: skip
_UNTIL_PASS = re.compile(
    r"(?:change|edit|work on|undo|revert|adapt|adjust|modify|do|keep)\b.*?"
    r"\b(?:so(?: that)?|until|till|to make|such that)\b.*?" + _GOOD,
    re.IGNORECASE,
)

_NO_CODE = re.compile(
    r"\s*(?:\S+\s+){0,4}?(?:typos?|spelling|grammar|wording|formatting|indentation|style|docs?|documentation"
    r"|docstrings?|readme(?:\.\w+)?|comments?|changelog(?:\.\w+)?|conflicts?|lint|linter|warnings?|typing"
    r"|type hints?)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b(?:tests?|test_\w+|bugs?|fail\w*|crash\w*|errors?|suite|regressions?)\b", re.IGNORECASE
)
_WORK = re.compile(
    r"(?:add|implement|write|create|build|introduce|refactor|rename|delete|remove|upgrade|update|migrate|document"
    r"|translate|convert|move|extract|optimi[sz]e|rewrite|port|commit|push|open|skip|bump|install|generate|format"
    r"|deploy|release|drop|replace|split|merge|simplify|speed up|clean up|clean|undo|revert"
    r"|i want an?|want an?|make\b.*\b(?:faster|slower|shorter|smaller|nicer|prettier|simpler|cleaner))\b",
    re.IGNORECASE,
)
_OPENING_WORK = re.compile(rf"{_WORK.pattern}(?!\s+(?:nothing|no|none|what|how|why)\b)", re.IGNORECASE)
"""At the start of a prompt that is no question, whatever it forbids beside."""
_BESIDE = re.compile(
    r"(?:add|implement|write|create|build|introduce|refactor|rename|delete|upgrade|update|migrate|document|translate"
    r"|convert|extract|optimi[sz]e|rewrite|port)\b",
    re.IGNORECASE,
)
"""Work beside a repair that makes the prompt one for a model; a commit belongs to the repair."""

_INTERROGATIVE = re.compile(
    r"(?:(?:and|but|so|well|ok|okay|hey|hi|please|also|wtf|now)\b[\s,:]*)*"
    r"(?:what(?:'s|s)?|which|who(?:'s|m|se)?|where(?:'s)?|why|how|is|are|am|was|were|does|did|has|can|could"
    r"|(?:do|have|had)(?=\s+(?:i|you|u|we|they|it|the|this|that|these|those|there|any|all|some|my|our|your|tests?)\b)"
    r"|when(?=\s+(?:was|were|did|is|are|does|do|will|has|have|should|can)\b)"
    r"|isn't|aren't|doesn't|don't (?:i|you|we|they|the)|didn't|can't|couldn't|shouldn't|won't|wasn't|weren't|hasn't"
    r"|can|could|should|would|will|may|might|must|any idea|wtf|in (?:which|what)|to (?:which|what)|since when"
    r"|for what)\b",
    re.IGNORECASE,
)
_INQUIRY = re.compile(
    r"(?:explain|describe|tell (?:me|us)|show(?: (?:me|us))?|list|summari[sz]e|enumerate|clarify|point (?:me|us)"
    r"|walk (?:me|us)|guide (?:me|us)|give (?:me|us) (?:an? )?(?:overview|summary|idea|list|explanation|reason)"
    r"|find out (?:why|what|where|which|whether|who|how)"
    r"|find (?:the |all |any )?(?:definitions?|usages?|uses|references|callers|tests)|locate|diagnose|analy[sz]e"
    r"|understand|suggest|propose|count|name|outline|compare|run (?:the |all |my |our )?(?:tests|suite|pytest)"
    r"|check (?:if|whether|that)|see (?:if|whether|why)|look up|search for"
    r"|i(?:'m| am) (?:wondering|trying to understand|curious|not sure|new here|lost|looking for)|i wonder"
    r"|i (?:do not|don't|dont|can't|cannot|can not|didn't) (?:understand|get|see|know|figure)"
    r"|i(?:'d| would) like to (?:know|understand|see)|i want to (?:know|understand|see)|i need to (?:know|understand)"
    r"|just (?:explain|tell|show|list|describe)|what about)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"\b(?:ok|okay|right|correct|green|red|status)\s*\?", re.IGNORECASE)
_REPORTED = re.compile(r"\b(?:said|says|told me|reads|asks|asked|wrote|writes)$", re.IGNORECASE)
_ALTERNATIVE = re.compile(
    r"\bor\s+(?:is|are|do|does|did|can|should|would|will|what|why|not|which|who)\b", re.IGNORECASE
)
_INDIRECT = re.compile(
    r"\b(?:how|what|whether|when|where|if)\s+(?:to|i|you|we|one)\b|\bthe way to\b", re.IGNORECASE
)
_SPARED = re.compile(
    r"\bleave (?:the |my |all )?(?:code|files?|everything|(?P<pronoun>it|them)) "
    r"(?:alone|as (?:it|they) (?:is|are)|unchanged|untouched)\b"
    r"|\bno (?:edits?|changes?|modifications?|writes?|fix(?:es)?|repairs?)\b"
    r"|\b(?:do not|don't|dont|never|without) (?:\w+ )?"
    r"(?:apply|applying|repair|repairing|mend|mending|write|writing|save|saving)\b"
    r"|\bwithout (?:changing|touching|editing|fixing) (?:any ?(?:thing|code|file|files)|code|files|it)\b"
    r"|\bjust (?:looking|asking|curious)\b",
    re.IGNORECASE,
)
_ABOUT_TESTS = re.compile(
    r"(?:^|(?<=[.!?]\s)|\n|[;:,]\s)\s*(?:all |both )?(?:the |my |our |its |these |those )?(?:\w+ )?tests?"
    r"(?:\s+(?:in|of)\s+[`\"']?\w*test\w*(?:\.\w+)?[`\"']?(?:(?:,|\s+and)\s+[`\"']?\w*test\w*(?:\.\w+)?[`\"']?)*)?"
    r"\s+(?:is|are|has|have|must|should|need|needs)\b(?P<rest>(?:[^.!?]|\.(?=\w))*)[.!?]?\s*$",
    re.IGNORECASE,
)
"""Before a pronoun that stands for the tests: "the tests have to pass; leave them as they are" forbids nothing but
changed tests."""
_OF_CODE = re.compile(r"\bcode\b|\b\w+\.[a-z]\w*", re.IGNORECASE)
LONG = 80
"""Words from which on a prompt is likely to hold a report, whose middle is no part of the request."""
_CURIOUS = re.compile(r"\b(?:understand|know|explain|why|how)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence: its text, and whether it ends in a question mark."""

    text: str
    asks: bool


def classify_prompt(prompt: str) -> Wish:
    """Return what a prompt asks for."""
    text = _CITED.sub(" ", remove_quoted_text(prompt)).strip()
    sentences = list(_split_sentences(text))
    asks = any(_is_question(each) for each in sentences) or bool(FOREIGN_QUESTION.search(text))
    if forbids_changes(prompt):
        # "add …, and don't change the names" forbids a part of the work; a description of rules, all kinds of things.
        is_work = not asks and bool(sentences) and _OPENING_WORK.match(sentences[0].text) is not None
        return "other" if is_work or _ends_in_work(text) else "question"
    if any(_orders_repair(each) for each in sentences) or (FOREIGN_REPAIR.search(text) and not asks):
        return _weigh_other_work(sentences, "repair")
    if asks_for_repair(prompt) and "?" not in text and not _CURIOUS.search(sentences[0].text):
        return "repair"  # a report of a bug has sentences of all kinds
    if asks:
        return "other" if _ends_in_work(text) else "question"
    if _names_other_work(sentences) or FOREIGN_WORK.search(text):
        return "other"
    return "other" if any(_repairs_no_code(each) for each in sentences) else "unclear"


def _ends_in_work(text: str) -> bool:
    """Return whether the last paragraph of a long prompt orders work and asks nothing: what is before describes it."""
    if len(text.split()) <= LONG:
        return False
    last = list(_split_sentences(text.rstrip().rpartition("\n\n")[2]))
    return _names_other_work(last) and not any(_is_question(each) for each in last)


def orders_repair(prompt: str) -> bool:
    """Return whether a prompt orders a repair, even if it forbids to write one."""
    text = _CITED.sub(" ", remove_quoted_text(prompt)).strip()
    return any(_orders_repair(each) for each in _split_sentences(text))


def forbids_changes(prompt: str) -> bool:
    """Return whether a prompt forbids changes of the code, in one of the languages that are understood."""
    text = remove_quoted_text(prompt).strip()
    if len(text.split()) > LONG:  # the report of a bug: what it says of writing is not said of this work
        first, *_, last = paragraphs if len(paragraphs := text.split("\n\n")) > 1 else (text, "")
        text = f"{first}\n{last}"
    return asks_to_change_nothing(prompt) or _spares_code(text) or bool(FOREIGN_NO_CHANGE.search(text))


def _spares_code(text: str) -> bool:
    return any(
        match["pronoun"] is None or not _speaks_of_tests(text[: match.start()])
        for match in _SPARED.finditer(text)
    )


def _speaks_of_tests(text: str) -> bool:
    """Return whether tests, and no code, are the subject of the sentence at the end of a text."""
    subject = _ABOUT_TESTS.search(text)
    return subject is not None and not _OF_CODE.search(subject["rest"])


def _split_sentences(text: str) -> Iterator[_Sentence]:
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip(" \t*#>\"'[]`")
        if sentence.strip(".!?; "):
            yield _Sentence(sentence.rstrip(".!?; "), "?" in match.group())


def _is_question(sentence: _Sentence) -> bool:
    """Return whether a sentence asks for an answer, not for work in the polite form of a question."""
    text = sentence.text
    if _orders_repair(sentence):
        return False
    stripped = _strip_courtesy(text)
    if _INQUIRY.match(text) or _INQUIRY.match(stripped):
        return True
    if _WORK.match(stripped) and stripped != text:
        return False
    return (
        sentence.asks or bool(_INTERROGATIVE.match(text)) or bool(_TAG.search(f"{text}?") and sentence.asks)
    )


def _orders_repair(sentence: _Sentence) -> bool:
    """Return whether a sentence, or a part of it that is an order of its own, orders a repair."""
    parts = [stripped for each in _BREAK.split(sentence.text) if (stripped := each.strip(" \t\"'`"))]
    for number, part in enumerate(parts):
        polite = _strip_courtesy(part)
        if number == 0 and _INTERROGATIVE.match(part) and polite == part:
            continue
        if number and _REPORTED.search(parts[number - 1]):
            continue
        if sentence.asks and _ALTERNATIVE.search(part):
            continue
        if sentence.asks and polite == part and not (number == 0 and _TAGGED.match(sentence.text)):
            continue
        if _orders_in_part(polite):
            return True
    return False


_TAGGED = re.compile(
    rf"(?:{_REPAIR_VERB})\b.*(?:\b(?:please|pls|thanks)\b|,\s*(?:(?:will|would|can|could) you|ok|okay|yes|right)$)",
    re.IGNORECASE,
)
"""An order with a question mark: "fix it please?", "fix it, will you?"."""


def _orders_in_part(part: str) -> bool:
    if _orders_at_start(part):
        return True
    first, *more = (each.strip(" ,") for each in _AND.split(part))
    if _INTERROGATIVE.match(first) or (_INQUIRY.match(first) and _INDIRECT.search(first)):
        return False
    return any(_orders_at_start(_strip_courtesy(each)) for each in more)


def _orders_at_start(text: str) -> bool:
    order = _ORDER.match(text) or _NOUN_ORDER.match(text)
    if order is not None:
        return bool(_CODE.search(order["object"])) or not _NO_CODE.match(order["object"])
    return bool(_TO_PASS.match(text) or _UNTIL_PASS.match(text))


def _repairs_no_code(sentence: _Sentence) -> bool:
    """Return whether a sentence orders to correct something that no test shows: texts, style, conflicts."""
    order = _ORDER.match(_strip_courtesy(sentence.text))
    return order is not None and bool(_NO_CODE.match(order["object"]))


def _strip_courtesy(text: str) -> str:
    for _ in range(2):
        if (match := _COURTESY.match(text)) is not None:
            text = text[match.end() :].lstrip(" ,:")
        if (match := _GERUND_COURTESY.match(text)) is not None:
            text = f"to {text[match.end() :].lstrip(' ,:')}"
    return text


def _names_other_work(sentences: list[_Sentence]) -> bool:
    return any(
        bool(_WORK.match(stripped)) and not _orders_at_start(stripped)
        for stripped in (_strip_courtesy(each.text) for each in sentences)
    )


def _weigh_other_work(sentences: list[_Sentence], wish: Wish) -> Wish:
    """Return the wish, unless the first sentence names work that needs a model, too."""
    heading = sentences[0].text.partition(": ")[0]
    parts = (_strip_courtesy(each.strip()) for each in _AND.split(_BREAK.sub(" and ", heading)))
    if _names_other_work(sentences[:1]) or any(_BESIDE.match(each) for each in parts):
        return "other"
    return wish
