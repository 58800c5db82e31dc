"""What a turn's prompts excuse: changed tests, removed code, lowered thresholds, other runners and pipelines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.prompt.prohibitions import remove_bans
from agent.prompt.prompt_reader import read_intent
from agent.prompt.prompt_text import remove_citations, remove_quoted_text, says
from sandbox.lazy_pattern import compile_lazily
from tools.lint.honesty.file_changes import Request

_REMOVAL = compile_lazily(
    r"\b(?:remov|delet|drop|deprecat|revert|replac|mov|merg|consolidat|clean|refactor"
    r"|simplif|rewrit|migrat|convert|split|extract|inlin|reorgani[sz]|restructur|get rid|strip|prun|unif)\w*"
    r"|\b(?:lösch|entfern|ersetz|verschieb|vereinfach|refaktor|umbau)\w*(?![^.,;!?\n]*\b(?:nicht|nichts|keine?)\b)|\b(?:supprim|retir|enlèv|remplac|déplac|simplifi)\w*"
    r"|\b(?:elimin|borr|quit|reemplaz|sustitu|muev|simplific|refactoriz)\w*"
    r"|删除|移除|删掉|去掉|替换|移动|重构|简化|合并|拆分|削除|置き換え|置換|移動|リファクタ|書き換え|消し",
    re.IGNORECASE,
)

_ABOUT_TESTS = compile_lazily(
    r"\b(?:tests?|testing|tst|test_\w+|\w+_test|testsuite|test ?cases?|doctests?|specs?|fixtures?"
    r"|snapshots?|goldens?|ci|travis|lint\w*|typos?"
    r"|format\w*|typing)\b",
    re.IGNORECASE,
)

_TOPICS: dict[str, re.Pattern[str]] = {
    "threshold": compile_lazily(
        r"\b(?:lower|reduce|decrease|relax|change|set|adjust|remove|drop)\w*\b[^.?!\n]{0,60}\b(?:coverage"
        r"|threshold|fail[_-]under)",
        re.IGNORECASE,
    ),
    "selection": compile_lazily(
        r"\b(?:exclude|ignore|deselect|skip|only (?:run|collect)|configure|change|set|move|rename"
        r"|collect)\w*\b[^.?!\n]{0,60}"
        r"\b(?:tests?|pytest|testpaths|addopts|jest|mocha)",
        re.IGNORECASE,
    ),
    "runner": compile_lazily(
        r"\b(?:conftest|test runner|makefile|noxfile|tox|package\.json|test script|sitecustomize|pytest (?:hook"
        r"|plugin)s?)\b",
        re.IGNORECASE,
    ),
    "test-detection": compile_lazily(
        r"\b(?:test|testing)[- ]?(?:mode|binary|env\w*|detection)\b|\bdetect\w*[^.?!\n]{0,40}\btest"
        r"|\bwhen run\w*[^.?!\n]{0,20}\btests?\b",
        re.IGNORECASE,
    ),
    "ci": compile_lazily(
        r"\b(?:ci|pipeline|workflows?|github actions?|travis|gitlab|azure|build matrix)\b", re.IGNORECASE
    ),
}


def read_request(prompts: Sequence[str]) -> Request:
    """Return what the prompts of a turn ask for."""
    text = "\n".join(remove_citations(remove_quoted_text(each)) for each in prompts)
    allowed = remove_bans(text)
    intents = [read_intent(each) for each in prompts]
    passing = any(each.wants_passing_tests for each in intents)
    repair = any(each.kind == "repair" for each in intents)
    return Request(
        tests=any(each.wants_changed_tests for each in intents),
        about_tests=bool(_ABOUT_TESTS.search(text)) and not passing and not repair,
        passing=passing,
        repair=repair,
        removal=says(allowed, _REMOVAL),
        topics=frozenset(name for name, pattern in _TOPICS.items() if says(allowed, pattern)),
    )
