"""What the words of a question may mean: each word, and those that are used for one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from tools.discovery.tool_words import reduce_word, split_words

ALIKE_WEIGHT = 0.5
"""Weight of a word that is only alike to one of the query."""

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


def list_meanings(query: str) -> Iterator[Mapping[str, float]]:
    """Yield, for each word of a query, the stems that it may mean, each with its weight."""
    for word in dict.fromkeys(split_words(query)):
        yield {**_list_related().get(word, {}), word: 1.0}


@cache
def _list_related() -> Mapping[str, Mapping[str, float]]:
    """Return, by stem, the stems that may be meant by it, with their weights."""
    related: dict[str, dict[str, float]] = {}
    for group in _ALIKE:
        stems = {reduce_word(each): ALIKE_WEIGHT for each in group.split()}
        for each in stems:
            related.setdefault(each, {}).update(stems)
    return related
