"""Whether a prompt wants tests to be changed."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_TEST_WORDS = (
    r"(?:tests?\b|test_\w+|\S*tests?\S*\.\w+|tests/\S*|specs?\b|assertions?\b|asserts?\b|expectations?\b"
    r"|expected \w+"
    r"|snapshots?\b|golden files?\b)"
)
_DETERMINERS = (
    r"(?:(?:the|all|any|every|my|our|its|their|this|that|these|those|existing|old|failing|broken|unit"
    r"|integration"
    r"|obsolete|outdated|stale|wrong|flaky|slow|relevant|corresponding|affected|of|in|values? (?:in|of)|both"
    r"|two|\d+)\s+){0,6}"
)
_CHANGE = (
    r"(?:update|change|adapt|adjust|edit|modify|rewrite|remove|delete|drop|skip|disable|xfail|mark|relax"
    r"|loosen|weaken"
    r"|replace|rename|refactor|simplify|convert|migrate|port|regenerate|move|merge|correct)"
)
_CHANGE_TESTS = compile_lazily(
    rf"(?<!not )(?<!n't )(?<!never )\b{_CHANGE}\s+(?:{_DETERMINERS}{_TEST_WORDS}"
    rf"|[^.?!\n]{{0,80}}?\b(?:and|with|including|plus|as well as)\s+"
    r"(?:its|their|the|all|any)\s+(?:\w+\s+){0,2}tests?\b)",
    re.IGNORECASE,
)
_WRONG_TEST = compile_lazily(
    r"\b(?:tests?|test_\w+)\b[^.?!\n]{0,60}\b(?:is|are|was|were|seems?|looks?)\s+(?:\w+\s+)?"
    r"(?:wrong|outdated|obsolete|incorrect|stale|mistaken|out of date)\b"
    r"|\bwrong (?:tests?|assertions?|expectations?|expected)\b"
    r"|\b(?:tests?|test_\w+)\b[^.?!\n]{0,40}\bshould (?:expect|assert|check"
    r"|be (?:changed|updated|removed|deleted|skipped|\d))",
    re.IGNORECASE,
)
_FOREIGN = compile_lazily(
    r"\b(?:aktualisiere?|ändere?|passe?|korrigiere?|lösche|entferne)\s+(?:bitte\s+)?(?:auch\s+)?(?:die|den"
    r"|alle)\s+(?:\w+\s+)?tests?\b(?!.*\bnicht\b)"
    r"|\b(?:mets à jour|modifie|change|adapte|supprime"
    r"|corrige)\s+(?:aussi\s+)?les\s+tests\b(?=.*\b(?:attendu|à jour|nouvel)|\s*$)"
    r"|\b(?:actualiza|cambia|modifica|adapta|elimina)\s+(?:también\s+)?(?:los|las)\s+(?:tests|pruebas)\b"
    r"|(?<!不)(?<!要)(?<!别)(?<!勿)(?:更新|修改|调整|删除)(?:相关|对应|所有"
    r"|这些)?(?:的)?(?:单元)?测试(?!通过)|テスト(?:も|を)(?:更新|変更|修正|書き換え|削除)(?:して|せよ|しろ)",
    re.IGNORECASE,
)


def asks_for_changed_tests(text: str) -> bool:
    """Return whether a text, without its quotations, asks for changed tests, or says that they are wrong."""
    return bool(_CHANGE_TESTS.search(text) or _WRONG_TEST.search(text) or _FOREIGN.search(text))
