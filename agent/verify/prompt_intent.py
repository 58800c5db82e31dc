"""Intent of a user's prompt, by its words: a repair, passing tests, changed tests, or no change at all.

Deliberately narrow: an unrecognised request costs one more prompt, a question mistaken for a request changes
the user's code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from tools.core.untrusted_output import remove_foreign_text

_FOREIGN = re.compile(r"```.*?(?:```|\Z)|^  \| [^\n]*", re.DOTALL | re.MULTILINE)
"""Code blocks and quoted output: material, not part of the request."""

_CLAUSE_END = re.compile(r"[.!?;:](?=\s|$)|[\n,()—–]|\s-+\s|\b(?:and|then|but|also)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")

_POLITENESS = re.compile(
    r"(?:(?:please|pls|kindly|now|ok|okay|hey|hi|hello|first|next|just|again|quickly|go ahead|try to"
    r"|(?:can|could|would|will) (?:you|we)|let's|let us|you (?:should|must|can|need to|have to)"
    r"|(?:i|we) (?:want|need|would like)(?: you)? to|(?:i|we)'d like(?: you)? to|help (?:me|us)(?: to)?"
    r"|your task is to|the task is to)\b[\s,:]*)+",
    re.IGNORECASE,
)
_REPAIR = re.compile(
    r"(?:fix|repair|mend|heal|unbreak|solve|resolve|correct)\b(?!\s+(?:me|nothing)\b)(?P<object>.*)",
    re.IGNORECASE,
)
_BUG_REPORT = re.compile(
    r"\W*(?:there(?: is|'s| are) (?:an? |some )?bugs?\b|bug(?: report)?\b\s*[\]:])", re.IGNORECASE
)
_ABOUT_CODE = re.compile(
    r"\b(?:tests?|test_\w+|bugs?|fail\w*|crash\w*|errors?|suite|regressions?)\b", re.IGNORECASE
)
_NOT_CODE = re.compile(
    r"\s*(?:\S+\s+){0,4}?(?:typos?|spelling|grammar|wording|formatting|indentation|style|docs?|documentation"
    r"|docstrings?|readme(?:\.\w+)?|comments?|changelog(?:\.\w+)?|conflicts?|lint|linter|warnings?|typing"
    r"|type hints?)\b",
    re.IGNORECASE,
)
_OTHER_WORK = re.compile(
    r"(?:add|implement|write|create|build|introduce|refactor|rename|delete|remove|upgrade|update|migrate|document"
    r"|translate|convert|move|extract|optimi[sz]e|rewrite|port)\b",
    re.IGNORECASE,
)

_PASSING = r"\b(?:pass(?:es|ing)?|green|succeed(?:s|ing)?|work(?:s|ing)?)\b"
_TESTS = r"\b(?:tests?|test_\w+|\S+::\S+|suite|specs?|ci|build|pytest|unittest)\b"
_MAKE_PASS = re.compile(
    r"(?:make sure|ensure|see to it)\b.*?"
    + _TESTS
    + r".*?"
    + _PASSING
    + r"|(?:make|get|bring|turn)\b(?!\s+(?:an?|me)\b)"
    + r"(?:(?!\b(?:that|which|list|names?|report|summary|table|count|number)\b).)*?"
    + _PASSING,
    re.IGNORECASE,
)
_SO_THAT_PASS = re.compile(
    r"\b(?:so that|until|till)\b[^.?!\n]*?" + _TESTS + r"[^.?!\n]*?" + _PASSING, re.IGNORECASE
)

_NO_CHANGE = re.compile(
    r"(?:^|[.,;:!?()\n—–-]|\b(?:and|but|please|just|also)\b)\s*(?:please\s+)?"
    r"(?:do not|don't|dont|never)\s+(?:\w+\s+)?(?:change|modify|edit|touch|alter|write|fix)\b"
    r"(?P<imperative>[^.,;!?\n]*)"
    r"|\bwithout\s+(?:changing|modifying|editing|touching|altering|writing|fixing)\b(?P<without>[^.,;!?\n]*)"
    r"|\b(?:change|modify|edit|touch|write|fix) nothing\b"
    r"|\b(?:no|not any) (?:code |file )?(?:changes?|edits?|modifications?)\b"
    r"|\bread[- ]only\b|\bdry[- ]run\b"
    r"|\b(?:just|only) (?:explain|tell|show|describe|list|look|answer)\b",
    re.IGNORECASE,
)
_NO_COMMIT = re.compile(
    r"\b(?:(?:do not|don't|dont|never) commit|without committing|no commits?)\b", re.IGNORECASE
)
_TESTS_ONLY = re.compile(
    r"\s*(?:(?:the|any|any of|my|our|its|existing|of|a|one|single|unit|failing)\s+)*"
    r"(?:tests?|test files?|test_\w+\S*|tests/\S*)\b",
    re.IGNORECASE,
)

_TEST_WORDS = (
    r"(?:tests?\b|test_\w+|\S*tests?\S*\.\w+|tests/\S*|specs?\b|assertions?\b|asserts?\b|expectations?\b|expected \w+"
    r"|snapshots?\b|golden files?\b)"
)
_DETERMINERS = (
    r"(?:(?:the|all|any|every|my|our|its|their|this|that|these|those|existing|old|failing|broken|unit|integration"
    r"|obsolete|outdated|stale|wrong|flaky|slow|relevant|corresponding|affected|of|in|values? (?:in|of)|both"
    r"|two|\d+)\s+){0,6}"
)
_CHANGE = (
    r"(?:update|change|adapt|adjust|edit|modify|rewrite|remove|delete|drop|skip|disable|xfail|mark|relax|loosen|weaken"
    r"|replace|rename|refactor|simplify|convert|migrate|port|regenerate|move|merge|correct)"
)
_CHANGE_TESTS = re.compile(
    rf"(?<!not )(?<!n't )(?<!never )\b{_CHANGE}\s+(?:{_DETERMINERS}{_TEST_WORDS}"
    rf"|[^.?!\n]{{0,80}}?\b(?:and|with|including|plus|as well as)\s+"
    r"(?:its|their|the|all|any)\s+(?:\w+\s+){0,2}tests?\b)",
    re.IGNORECASE,
)
_WRONG_TEST = re.compile(
    r"\b(?:tests?|test_\w+)\b[^.?!\n]{0,60}\b(?:is|are|was|were|seems?|looks?)\s+(?:\w+\s+)?"
    r"(?:wrong|outdated|obsolete|incorrect|stale|mistaken|out of date)\b"
    r"|\bwrong (?:tests?|assertions?|expectations?|expected)\b"
    r"|\b(?:tests?|test_\w+)\b[^.?!\n]{0,40}\bshould (?:expect|assert|check"
    r"|be (?:changed|updated|removed|deleted|skipped|\d))",
    re.IGNORECASE,
)


_TEST_NAME = re.compile(r"\b(?:test_\w+|\w+_test(?=\.py\b))(?:\.py\b)?")


def asks_for_repair(prompt: str) -> bool:
    """Return whether the prompt clearly asks to fix code: an order to repair, or a report of a bug; never a
    question."""
    text = remove_quoted_text(prompt)
    if asks_to_change_nothing(prompt):
        return False
    if _BUG_REPORT.match(text) and "?" not in text:
        return True
    heading = list(_split_clauses(text.strip().split("\n", 1)[0].split(": ", 1)[0]))
    if any(_OTHER_WORK.match(each) for each in heading):
        return False
    return any(_orders_repair(each) for each in _split_clauses(text)) or _asks_to_make_pass(text)


def asks_for_passing_tests(prompt: str) -> bool:
    """Return whether the prompt wants failing tests to pass, whatever else it wants."""
    text = remove_quoted_text(prompt)
    if asks_to_change_nothing(prompt):
        return False
    fixes_tests = any(
        (order := _REPAIR.match(clause)) and re.search(_TESTS, order["object"], re.IGNORECASE)
        for clause in _split_clauses(text)
    )
    return fixes_tests or _asks_to_make_pass(text) or bool(_SO_THAT_PASS.search(text) and "?" not in text)


def list_named_tests(prompt: str, tests: Collection[str]) -> set[str] | None:
    """Return those of some tests, by their ids, that a prompt names by file, class or function; None if it names no
    test."""
    named = set(_TEST_NAME.findall(remove_foreign_text(prompt)))
    return {each for each in tests if named & _split_test_id(each)} if named else None


def list_wanted_tests(prompt: str, failing: Collection[str]) -> set[str]:
    """Return those of the failing tests, by their ids, that a prompt is about: the named ones, or all of them where
    it wants tests to pass or orders a repair."""
    if (named := list_named_tests(prompt, failing)) is not None:
        return named
    return set(failing) if asks_for_passing_tests(prompt) or asks_for_repair(prompt) else set()


def asks_to_change_nothing(prompt: str) -> bool:
    """Return whether the prompt forbids changes. Forbidding changes to tests only does not count."""
    for match in _NO_CHANGE.finditer(remove_quoted_text(prompt)):
        spared = match["imperative"] if match["imperative"] is not None else match["without"]
        if spared is None or not _TESTS_ONLY.match(spared):
            return True
    return False


def asks_not_to_commit(prompt: str) -> bool:
    """Return whether the prompt forbids a commit."""
    return bool(_NO_COMMIT.search(remove_quoted_text(prompt)))


def asks_to_change_tests(prompts: Sequence[str]) -> bool:
    """Return whether one of a turn's prompts asks for changed tests, or says that they are wrong."""
    texts = map(remove_quoted_text, prompts)
    return any(_CHANGE_TESTS.search(text) or _WRONG_TEST.search(text) for text in texts)


def remove_quoted_text(prompt: str) -> str:
    """Return a prompt without texts of others, code blocks and quoted output, which are no part of the request."""
    return _FOREIGN.sub("\n", remove_foreign_text(prompt)).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _split_test_id(name: str) -> set[str]:
    """Return the file, class and function names of a test's id, without its parameters."""
    return set(re.split(r"::|/|\.(?!py\b)", name.partition("[")[0]))


def _split_clauses(text: str) -> Iterator[str]:
    """Yield the clauses of a text, each without its leading politeness."""
    for clause in _CLAUSE_END.split(text):
        stripped = clause.strip(" \t*#>\"'[]`")
        polite = _POLITENESS.match(stripped)
        yield stripped[polite.end() :] if polite else stripped


def _orders_repair(clause: str) -> bool:
    order = _REPAIR.match(clause)
    if order is None:
        return False
    return bool(_ABOUT_CODE.search(order["object"])) or not _NOT_CODE.match(order["object"])


def _asks_to_make_pass(text: str) -> bool:
    """Return whether a sentence orders to make something pass; not whether it asks how."""
    for sentence in _SENTENCE_END.split(text):
        for clause in _split_clauses(sentence):
            if _MAKE_PASS.match(clause):
                return True
    return False
