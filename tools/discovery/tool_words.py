"""Words of tools and of questions about them, reduced so that "listing the issues" meets `list_issues`."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily

_PIECE = compile_lazily(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

_COMMON_WORDS = (
    "a an and any are as at be by can do does for from given has have how i if in into is it its like me my need of on"
    " one or our out please so some something that the their them there these this to tool use used using want we"
    " what when where which who will with you your"
)

_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that tell nothing about a tool."""

_ALIKE = (
    "list enumerate all every which show browse",
    "get fetch read retrieve show view see look open load obtain inspect",
    "create add make new insert open start write begin set",
    "delete remove drop destroy erase discard purge clear",
    "update edit change modify patch alter set rename adjust",
    "search find query lookup look locate discover grep",
    "send post publish notify email deliver message",
    "run execute start launch trigger invoke call",
    "stop kill cancel terminate abort halt end",
    "restart reboot reload",
    "merge combine join",
    "comment reply note respond answer",
    "close resolve finish complete",
    "assign delegate allocate",
    "upload attach import push",
    "download export save pull",
    "copy duplicate clone fork",
    "move relocate transfer",
    "user person people member colleague teammate account",
    "picture image screenshot photo capture",
    "folder directory",
    "table schema column",
    "database db sql",
    "repository repo project",
    "pr pull merge",
    "issue ticket bug task error problem",
    "page document doc article note",
    "meeting event appointment calendar invite",
    "schedule plan create book later",
    "mail email inbox newsletter",
    "access permission see share role grant",
    "rain snow sun wind temperature weather forecast",
    "euro dollar pound yen currency money exchange",
    "mile kilometre kilometer metre foot inch gram unit measure convert",
    "pollution polluted quality air",
    "state status progress workflow",
    "detail describe info metadata configuration",
    "report file submit create",
    "give assign hand",
    "now current present",
    "cause blame suspect",
    "big size large space",
    "postpone push move update later reschedule snooze",
    "approve accept review",
    "mute silence ignore snooze",
    "holiday vacation away",
    "audio recording speech voice",
    "text word content",
    "cheap discount coupon",
    "machine instance server host virtual",
    "cpu processor memory usage",
    "unzip zip archive extract compress",
    "invoice bill",
    "customer client",
    "payment charge pay money",
    "refund reimburse",
    "price cost",
    "log logs",
    "metric metrics statistic stats number",
    "alert alarm incident page",
    "deploy release rollout ship",
    "pod container",
    "branch ref",
    "diff change compare difference",
    "weather forecast",
    "translate language",
    "chart graph plot",
    "web internet online site website url",
    "click press tap",
    "type fill enter input",
    "scale replica resize",
    "history past previous",
    "key secret credential token password",
)
"""Words that people use for one another; each meets the others at a part of its weight."""


def reduce_word(word: str) -> str:
    """Return the stem of an English word: without the endings of plurals and of forms of verbs."""
    word = word.lower()
    for ending, least, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)] + replacement
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]  # planned → plan
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


_ENDINGS = (
    ("ies", 5, "y"), ("ied", 5, "y"), ("sses", 6, "ss"), ("xes", 5, "x"), ("ches", 6, "ch"), ("shes", 6, "sh"),
    ("ations", 9, "at"), ("ation", 8, "at"), ("ings", 7, ""), ("ing", 6, ""), ("edly", 7, ""), ("ed", 5, ""),
    ("ments", 8, ""), ("ment", 7, ""), ("ss", 4, "ss"), ("us", 4, "us"), ("is", 4, "is"), ("s", 4, ""),
)  # fmt: skip
"""Endings, the least length of a word that has one, and what takes its place; the first that fits is taken."""


def split_words(text: str) -> Iterator[str]:
    """Yield the stems of a text's words, also of names like `list_issues` and `listIssues`, without common words."""
    for piece in _PIECE.findall(text):
        if piece.lower() not in _COMMON:
            yield reduce_word(piece)


def _collect_alike() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in _ALIKE:
        stems = {reduce_word(each) for each in group.split()}
        for each in stems:
            found.setdefault(each, set()).update(stems - {each})
    return {word: frozenset(others) for word, others in found.items()}


ALIKE = _collect_alike()
"""By stem, the stems that may be meant by it."""
