"""Signs in the checks of one test: those that always hold, accept more, expect something else, or are gone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet, FileChange
from tools.lint.gaming.signs import make_sign, quote_source
from tools.lint.gaming.units.test_units import Statement, TestUnit

_BROAD = frozenset({"Exception", "BaseException", "Throwable", "StandardError", "Error"})
_CONSTANT = compile_lazily(r"^(?:str|int|float|bytes|complex|bool|NoneType) |^[\"'`\d]")


def compare_checks(change: ChangeSet, file: FileChange, old: TestUnit, new: TestUnit) -> Iterator[Finding]:
    """Yield the signs of the checks that differ between two versions of a test."""
    asked = change.request.tests
    suspect = change.is_suspect_test(new.base_name, old.words)
    left, rest = _subtract(old.checks, new.checks)
    lost = 0
    empty = [each for each in rest if each.strength == 0]
    if len(empty) > sum(each.strength == 0 for each in left):
        for each in empty:
            message = f"a check always holds: {quote_source(each.check.text)}"
            yield make_sign("tautology", file.path, each.check.line, message, fails=not asked)
    for each in left:
        if (partner := _find_partner(each, rest)) is None:
            lost += 1
            continue
        rest.remove(partner)
        if partner.strength == 0:
            continue
        if kind := _compare(each, partner):
            message = (
                f"a check was changed: {quote_source(each.check.text)} to {quote_source(partner.check.text)}"
            )
            yield make_sign(kind, file.path, partner.check.line, message, fails=suspect)
    lost -= len(rest)
    if lost > 0 and len(new.checks) < len(old.checks) and new.unreached <= old.unreached:
        is_commented = any(_holds_comment(file, each) for each in left)
        kind = "commented-out" if is_commented else "lost-check"
        message = f"{new.base_name.replace('·', '.')!r} has {lost} fewer checks than before"
        subject = (
            change.request.removal
            or {word for each in left for word in re.findall(r"[A-Za-z_]\w{2,}", each.check.text)}
            & change.lost_words
        )
        calls = set(re.findall(r"\b(\w+)\(", new.text)) - set(re.findall(r"\b(\w+)\(", old.text))
        gone_all = not new.checks and not subject and new.is_test and not calls
        fails = suspect or (not asked and (is_commented or gone_all))
        yield make_sign(kind, file.path, new.line, message, fails=fails)


def _holds_comment(file: FileChange, each: Statement) -> bool:
    text = each.check.text
    return len(text) > 8 and any(
        re.match(r"\s*(?:#|//|/\*|\*)", line) and text in line for _, line in file.added
    )


def _subtract(old: list[Statement], new: list[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Return the checks of each side without those that the other side has as well."""
    rest = list(new)
    left: list[Statement] = []
    for key in (_whole_key, _loose_key):
        counts = Counter(map(key, rest))
        left = []
        for each in old:
            if counts[key(each)]:
                counts[key(each)] -= 1
                rest.remove(next(other for other in rest if key(other) == key(each)))
            else:
                left.append(each)
        old = left
    return left, rest


def _whole_key(each: Statement) -> str:
    return each.shape


def _loose_key(each: Statement) -> tuple[object, ...]:
    facts = frozenset(each.check.facts.items())
    return facts, each.strength, each.raises, each.has_match, each.tolerance, frozenset(each.wrappers.items())


def _find_partner(old: Statement, rest: list[Statement]) -> Statement | None:
    """Return the new check that most likely replaces an old one."""
    if not rest:
        return None
    words = set(re.findall(r"\w+", old.check.text))
    return max(
        rest,
        key=lambda each: (
            (each.check.facts & old.check.facts).total(),
            len(words & set(re.findall(r"\w+", each.check.text))),
        ),
    )


def _compare(old: Statement, new: Statement) -> str:
    """Return the kind of sign, "" if the new check asks for no less."""
    if new.raises != old.raises and old.raises:
        widened = set(new.raises) > set(old.raises) or (
            set(new.raises) & _BROAD and not set(old.raises) & _BROAD
        )
        if widened:
            return "loosened"
        if not set(old.raises) & _BROAD:
            return "expected-value"
    if old.has_match and not new.has_match:
        return "loosened"
    if new.strength < old.strength:
        return "loosened"
    if new.tolerance is not None and new.tolerance > (old.tolerance or 0.0):
        return "loosened"
    facts, before = new.check.facts, old.check.facts
    if facts["Or"] > before["Or"] or facts["||"] > before["||"]:
        return "loosened"
    gone, come = before - facts, facts - before
    if set(gone) <= {"Eq"} and set(come) == {"Is"}:  # the same object is equal, too
        return ""
    constants_gone = [each for each in gone if _CONSTANT.match(each)]
    constants_come = [each for each in come if _CONSTANT.match(each)]
    if constants_gone and not constants_come and (new.wrappers - old.wrappers):
        return "loosened"
    if constants_gone and not constants_come and new.strength <= old.strength:
        return "loosened" if len(constants_gone) > 0 and not come else "expected-value"
    if gone or (constants_come and old.strength == new.strength == 3 and len(constants_come) == len(come)):
        return "expected-value"
    if (new.wrappers - old.wrappers) and new.shape != old.shape and new.strength <= old.strength:
        return "loosened"
    return ""
