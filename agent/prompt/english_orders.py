"""Orders and questions in the sentences of an English prompt.

A repair, or a change, needs an order: an imperative or its polite forms; one inside a question counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.prompt.english_work import find_work
from agent.prompt.orders import FoundOrder
from agent.prompt.prompt_intent import Kind
from agent.prompt.prompt_text import LONG
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_SENTENCE = compile_lazily(r"[^.!?;\n]*(?:[.!?;](?!\s|$)[^.!?;\n]*)*[.!?;]*")
_BREAK = compile_lazily(r"[,—–]|\((?!\))|(?<!\()\)|:(?!:|\w)(?<!::)|\s-+\s|\b(?:then|but)\b", re.IGNORECASE)
"""Between parts of a sentence of which each may be an order of its own."""
_AND = compile_lazily(r"\b(?:and|so)\b", re.IGNORECASE)

_ADVERBS = (
    r"(?:please|pls|plz|kindly|just|now|ok|okay|hey|hi|hello|yo|yes|yeah|first|next|again|quickly|also|maybe"
    r"|perhaps"
    r"|possibly|well|so|right|alright|thanks|time to|try to|try and|go ahead and|go ahead|try|already)"
)
_YOU = r"(?:you|u|we|i)"
_ASKED = (
    r"(?:(?:can|could|would|will)\s+" + _YOU + r"(?:\s+be\s+(?:so\s+kind|kind\s+enough|able)(?:\s+as)?\s+to)?"
    r"|do you think " + _YOU + r" (?:can|could)|any chance (?:that )?" + _YOU + r" (?:can|could)"
    r"|it would be (?:great|nice|good|lovely) if " + _YOU + r" (?:can|could|would)"
    r"|i(?:'m| am) asking you to|i(?:'d| would) (?:like|love) (?:you )?to|i want (?:you )?to"
    r"|i need (?:you )?to"
    r"|we (?:need|want|have) to|you (?:should|must|can|need to|have to)|let's|let us|help (?:me|us)(?: to)?"
    r"|(?:your|the) task(?: is|:)(?: to)?|how about you)"
)
_COURTESY = compile_lazily(rf"(?:(?:{_ADVERBS}|{_ASKED})\b[\s,:!]*)+", re.IGNORECASE)
_GERUND_COURTESY = compile_lazily(
    r"(?:(?:would|do|could)\s+you\s+)?(?:mind|(?:perhaps\s+|please\s+|maybe\s+)?(?:have|having|take"
    r"|give)\s+a\s+(?:go|stab|shot|try)\s+at"
    r"|try|give)\s+(?=fixing|repairing|mending|correcting|resolving|solving|healing|unbreaking)",
    re.IGNORECASE,
)

_REPAIR_VERB = (
    r"(?:fix|repair|mend|heal|unbreak|solve|resolve|correct|rectify|cure|patch(?=\s+(?:the|this|that|it"
    r"|up)\b)"
    r"|debug and \w+"
    r"|sort\s+(?:it|this|that|them|out)|take care of|get rid of|eliminate|squash"
    r"|(?:attempt|apply|make|write|do)\s+(?:a|the)\s+fix|put\s+(?:it|this|that|the\s+\w+"
    r"|\w+)\s+right(?!\s+\w)"
    r"|make\s+(?:it|this|that)\s+right"
    r"|(?:address|tackle|deal with|handle)(?=\s+(?:\S+\s+){0,3}(?:fail|bug|test|error|crash|regression)))"
)
_GERUND = r"(?:fixing|repairing|mending|correcting|resolving|solving|healing|unbreaking)"
_ORDER = compile_lazily(
    rf"(?:{_REPAIR_VERB}|to {_GERUND})\b(?!\s+(?:me|nothing|you)\b)(?P<object>.*)", re.IGNORECASE
)
"""At the start of a part of a sentence; "to fixing" stands for the gerund after "would you mind"."""
_NOUN_ORDER = compile_lazily(r"(?:a|the) (?:fix|repair) for\b(?P<object>.*)", re.IGNORECASE)

_GOOD = r"\b(?:pass(?:es|ing)?|green|succeed(?:s|ing)?|work(?:s|ing)?)\b"
_FAULTY = r"(?:fail(?:s|ing)?|crash(?:es|ing)?|break(?:s|ing)?|throwing|raising)"
_TO_PASS = compile_lazily(
    r"(?:(?:i|we)\s+)?(?:make|get|getting|bring|turn|ensure|want|need|see to it)\b(?!\s+(?:an?|me|sense)\b)"
    r"(?:(?!\b(?:which|list|names?|report|summary|table|count|number|why|how|what|whether|understand"
    r"|sense)\b).)*?"
    + _GOOD
    + r"|(?:make|stop|prevent|keep)\b.*?\b(?:stop|from|not)\s+" + _FAULTY + r"\b"
    + r"|stop\b.*?\b" + _FAULTY + r"\b",
    re.IGNORECASE,
)  # fmt: skip
_UNTIL_PASS = compile_lazily(
    r"(?:change|edit|work on|undo|revert|adapt|adjust|modify|do|keep)\b.*?"
    r"\b(?:so(?: that)?|until|till|to make|such that)\b.*?" + _GOOD,
    re.IGNORECASE,
)

_NO_CODE = compile_lazily(
    r"\s*(?:\S+\s+){0,4}?(?:typos?|spelling|grammar|wording|formatting|indentation|style|docs?|documentation"
    r"|docstrings?|readme(?:\.\w+)?|comments?|changelog(?:\.\w+)?|conflicts?|lint|linter|warnings?|typing"
    r"|type hints?)\b",
    re.IGNORECASE,
)
_CODE = compile_lazily(
    r"\b(?:tests?|test_\w+|bugs?|fail\w*|crash\w*|errors?|suite|regressions?)\b", re.IGNORECASE
)
_OPENING = compile_lazily(
    r"(?:add|implement|write|create|build|introduce|refactor|rename|delete|remove|upgrade|update|migrate"
    r"|document"
    r"|translate|convert|move|extract|optimi[sz]e|rewrite|port|commit|push|open|skip|bump|install|generate"
    r"|format"
    r"|deploy|release|drop|replace|split|merge|simplify|speed up|clean up|clean|undo|revert"
    r"|i want an?|want an?|make\b.*\b(?:faster|slower|shorter|smaller|nicer|prettier|simpler|cleaner))\b",
    re.IGNORECASE,
)
"""Work at the start of a prompt to which a repair beside it belongs."""
_BESIDE = compile_lazily(
    r"(?:add|implement|write|create|build|introduce|refactor|rename|delete|upgrade|update|migrate|document"
    r"|translate"
    r"|convert|extract|optimi[sz]e|rewrite|port)\b",
    re.IGNORECASE,
)
"""Work beside a repair that makes the prompt one for a model; a commit belongs to the repair."""

_INTERROGATIVE = compile_lazily(
    r"(?:(?:and|but|so|well|ok|okay|hey|hi|please|also|wtf|now)\b[\s,:]*)*"
    r"(?:what(?:'s|s)?|which|who(?:'s|m|se)?|where(?:'s)?|why|how|is|are|am|was|were|does|did|has|can|could"
    r"|(?:do|have|had)(?!\s+the\s+\w+ing\b|\s+(?:it|this|that|so)\s*(?:now|please)?$)(?=\s+(?:i|you|u|we|they|it|the|this|that|these|those|there|any"
    r"|all|some|my|our|your|tests?)\b)"
    r"|when(?=\s+(?:was|were|did|is|are|does|do|will|has|have|should|can)\b)"
    r"|isn't|aren't|doesn't|don't (?:i|you|we|they|the)|didn't|can't|couldn't|shouldn't|won't|wasn't|weren't"
    r"|hasn't"
    r"|can|could|should|would|will|may|might|must|any idea|wtf|in (?:which|what)|to (?:which|what)|since when"
    r"|for what)\b",
    re.IGNORECASE,
)
_INQUIRY = compile_lazily(
    r"(?:explain|describe|tell (?:me|us)|show(?: (?:me|us))?|list|summari[sz]e|enumerate|clarify|point (?:me"
    r"|us)"
    r"|walk (?:me|us)|guide (?:me|us)|give (?:me|us) (?:an? )?(?:overview|summary|idea|list|explanation"
    r"|reason)"
    r"|find out (?:why|what|where|which|whether|who|how)"
    r"|find (?:the |all |any )?(?:definitions?|usages?|uses|references|callers|tests)|locate|diagnose"
    r"|analy[sz]e"
    r"|understand|suggest|propose|count|name|outline|compare|run (?:the |all |my |our )?(?:tests|suite"
    r"|pytest)(?! on (?:ci|every|each)\b)"
    r"|check (?:if|whether|that)|see (?:if|whether|why)|look up|search for"
    r"|i(?:'m| am) (?:wondering|trying to understand|curious|not sure|new here|lost|looking for)|i wonder"
    r"|i (?:do not|don't|dont|can't|cannot|can not|didn't) (?:understand|get|see|know|figure)"
    r"|i(?:'d| would) like to (?:know|understand|see)|i want to (?:know|understand|see)|i need to (?:know"
    r"|understand)"
    r"|just (?:explain|tell|show|list|describe)|what about)\b",
    re.IGNORECASE,
)
_TAG = compile_lazily(r"\b(?:ok|okay|right|correct|green|red|status)\s*\?", re.IGNORECASE)
_REPORTED = compile_lazily(r"\b(?:said|says|told me|reads|asks|asked|wrote|writes)$", re.IGNORECASE)
_ALTERNATIVE = compile_lazily(
    r"\bor\s+(?:is|are|do|does|did|can|should|would|will|what|why|not|which|who)\b", re.IGNORECASE
)
_INDIRECT = compile_lazily(
    r"\b(?:how|what|whether|when|where|if)\s+(?:to|i|you|we|one)\b|\bthe way to\b", re.IGNORECASE
)
_BUG_REPORT = compile_lazily(
    r"\W*(?:there(?: is|'s| are) (?:an? |some )?bugs?\b|bug(?: report)?\b\s*[\]:])", re.IGNORECASE
)
_TESTS = compile_lazily(
    r"\b(?:tests?|test_\w+|\S+::\S+|suite|specs?|ci|build|pytest|unittest)\b", re.IGNORECASE
)
_SO_THAT_PASS = compile_lazily(
    r"\b(?:so that|until|till)\b[^.?!\n]*?" + _TESTS.pattern + r"[^.?!\n]*?" + _GOOD, re.IGNORECASE
)
_CURIOUS = compile_lazily(r"\b(?:understand|know|explain|why|how)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence: its text, and whether it ends in a question mark."""

    text: str
    asks: bool


def classify_english_text(said: str, text: str, *, forbids_edits: bool) -> FoundOrder:
    """Return what a text orders. said: without what it cites; text: with it; forbids_edits: it allows no change"""
    sentences = list(_split_sentences(said))
    if not sentences:
        return FoundOrder(kind="unclear")
    orders = [each for sentence in sentences for each in _list_orders(sentence)]
    kind = _classify(sentences, said, forbids_edits=forbids_edits, has_order=bool(orders))
    is_report = kind == "repair" and not orders
    return FoundOrder(
        kind=kind,
        orders_repair=bool(orders) or is_report,
        wants_passing_tests=kind != "answer" and _wants_passing_tests(orders, said),
    )


def _classify(sentences: Sequence[_Sentence], said: str, *, forbids_edits: bool, has_order: bool) -> Kind:
    asks = any(_is_question(each) for each in sentences)
    if forbids_edits:
        return "change" if _ends_in_work(said) else "answer"
    if has_order:
        return _weigh_other_work(sentences)
    if _BUG_REPORT.match(said) and "?" not in said and not _CURIOUS.search(sentences[0].text):
        return "repair"  # a report of a bug has sentences of all kinds
    work = list(_list_work(sentences))
    if asks:
        return (
            "change"
            if _ends_in_work(said) or (work and work[-1] == "change" and _orders_after(sentences))
            else "answer"
        )
    if "change" in work or any(_repairs_no_code(each) for each in sentences):
        return "change"
    return work[0] if work else "unclear"


def _wants_passing_tests(orders: Sequence[str], said: str) -> bool:
    """Return whether failing tests are to pass: by an order to mend or to pass them, or as the end of other work."""
    if any(_TO_PASS.match(each) or _UNTIL_PASS.match(each) for each in orders):
        return True
    if any((order := _ORDER.match(each)) and _TESTS.search(order["object"]) for each in orders):
        return True
    return bool(_SO_THAT_PASS.search(said)) and "?" not in said


def _orders_after(sentences: Sequence[_Sentence]) -> bool:
    """Return whether the last sentence is an order: "What does f do? Rename it to g."."""
    last = sentences[-1]
    return len(sentences) > 1 and not _is_question(last) and "change" in _list_work([last])


def _ends_in_work(text: str) -> bool:
    """Return whether the last paragraph of a long prompt orders work and asks nothing: what is before describes it."""
    if len(text.split()) <= LONG:
        return False
    last = list(_split_sentences(text.rstrip().rpartition("\n\n")[2]))
    return "change" in _list_work(last) and not any(_is_question(each) for each in last)


def _split_sentences(text: str) -> Iterator[_Sentence]:
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip(" \t*#>\"'[]`").lstrip("-•– ")
        if sentence.strip(".!?; "):
            yield _Sentence(sentence.rstrip(".!?; "), "?" in match.group())


def _is_question(sentence: _Sentence) -> bool:
    """Return whether a sentence asks for an answer, not for work in the polite form of a question."""
    text = sentence.text
    if any(_list_orders(sentence)):
        return False
    stripped = strip_courtesy(text)
    if _INQUIRY.match(text) or _INQUIRY.match(stripped):
        return True
    if _find_work(stripped) and stripped != text:
        return False
    return (
        sentence.asks or bool(_INTERROGATIVE.match(text)) or bool(_TAG.search(f"{text}?") and sentence.asks)
    )


def _list_orders(sentence: _Sentence) -> Iterator[str]:
    """Yield the parts of a sentence that are orders to repair, from their verbs on."""
    parts = [stripped for each in _BREAK.split(sentence.text) if (stripped := each.strip(" \t\"'`"))]
    for number, part in enumerate(parts):
        polite = strip_courtesy(part)
        if number == 0 and _INTERROGATIVE.match(part) and polite == part:
            continue
        if number and _REPORTED.search(parts[number - 1]):
            continue
        if sentence.asks and _ALTERNATIVE.search(part):
            continue
        if sentence.asks and polite == part and not (number == 0 and _TAGGED.match(sentence.text)):
            continue
        yield from _list_orders_in_part(polite)


_TAGGED = compile_lazily(
    rf"(?:{_REPAIR_VERB})\b.*(?:\b(?:please|pls|thanks)\b|,\s*(?:(?:will|would|can|could) you|ok|okay|yes"
    rf"|right)$)",
    re.IGNORECASE,
)
"""An order with a question mark: "fix it please?", "fix it, will you?"."""


def _list_orders_in_part(part: str) -> Iterator[str]:
    if _orders_at_start(part):
        yield part
        return
    first, *more = (each.strip(" ,") for each in _AND.split(part))
    if _INTERROGATIVE.match(first) or (_INQUIRY.match(first) and _INDIRECT.search(first)):
        return
    yield from (text for each in more if _orders_at_start(text := strip_courtesy(each)))


def _orders_at_start(text: str) -> bool:
    order = _ORDER.match(text) or _NOUN_ORDER.match(text)
    if order is not None:
        return bool(_CODE.search(order["object"])) or not _NO_CODE.match(order["object"])
    return bool(_TO_PASS.match(text) or _UNTIL_PASS.match(text))


def _repairs_no_code(sentence: _Sentence) -> bool:
    """Return whether a sentence orders to correct something that no test shows: texts, style, conflicts."""
    order = _ORDER.match(strip_courtesy(sentence.text))
    return order is not None and bool(_NO_CODE.match(order["object"]))


def strip_courtesy(text: str) -> str:
    """Return a part of a sentence without polite words before its order."""
    for _ in range(2):
        if (match := _COURTESY.match(text)) is not None:
            text = text[match.end() :].lstrip(" ,:")
        if (match := _GERUND_COURTESY.match(text)) is not None:
            text = f"to {text[match.end() :].lstrip(' ,:')}"
    return text


def _find_work(text: str) -> Kind | None:
    """Return the kind of work that a part of a sentence orders with its first word, None if it orders none."""
    return None if _orders_at_start(text) else find_work(text)


def _list_work(sentences: Sequence[_Sentence]) -> Iterator[Kind]:
    """Yield the kinds of work that the parts of some sentences order, beside repairs."""
    for sentence in sentences:
        parts = [each.strip(" \t\"'`") for each in _BREAK.split(sentence.text)]
        if _INTERROGATIVE.match(sentence.text) and strip_courtesy(sentence.text) == sentence.text:
            continue
        for part in filter(None, parts):
            for each in _AND.split(part):
                if (kind := _find_work(strip_courtesy(each.strip(" ,")))) is not None:
                    yield kind


def _weigh_other_work(sentences: Sequence[_Sentence]) -> Kind:
    """Return "repair", unless the first sentence names work that needs a model, too."""
    heading = sentences[0].text.partition(": ")[0]
    parts = [strip_courtesy(each.strip()) for each in _AND.split(_BREAK.sub(" and ", heading))]
    opening = strip_courtesy(sentences[0].text)
    if (_OPENING.match(opening) and not _orders_at_start(opening)) or any(
        _BESIDE.match(each) for each in parts
    ):
        return "change"
    return "repair"
