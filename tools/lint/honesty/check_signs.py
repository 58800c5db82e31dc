"""Signs in the checks of one test: those that always hold, accept more, expect something else, or are gone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange
from tools.lint.honesty.signs import quote_source
from tools.lint.honesty.test_units import Check, TestUnit

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
            yield file.sign("tautology", each.line, "a check always holds", each.text, fails=not asked)
    for each in left:
        if (partner := _find_partner(each, rest)) is None:
            lost += 1
            continue
        rest.remove(partner)
        if partner.strength and (kind := _compare(each, partner)):
            message = f"a check was changed: {quote_source(each.text)} to {quote_source(partner.text)}"
            yield file.sign(kind, partner.line, message, fails=suspect)
    lost -= len(rest)
    if lost > 0 and len(new.checks) < len(old.checks) and new.unreached <= old.unreached:
        is_commented = any(_holds_comment(file, each.text) for each in left)
        words = {word for each in left for word in re.findall(r"[A-Za-z_]\w{2,}", each.text)}
        has_subject = change.request.removal or bool(words & change.lost_words)
        gone_all = not new.checks and not has_subject and new.is_test and not new.list_new_calls(old)
        message = f"{new.base_name.replace('·', '.')!r} has {lost} fewer checks than before"
        fails = suspect or (not asked and (is_commented or gone_all))
        yield file.sign("commented-out" if is_commented else "lost-check", new.line, message, fails=fails)


def _holds_comment(file: FileChange, check: str) -> bool:
    return len(check) > 8 and any(
        check in line and re.match(r"\s*(?:#|//|/\*|\*)", line) for _, line in file.added
    )


def _subtract(old: list[Check], new: list[Check]) -> tuple[list[Check], list[Check]]:
    """Return the checks of each side without those that the other side has as well."""
    rest = list(new)
    for key in (lambda each: each.shape, _make_loose_key):
        counts = Counter(map(key, rest))
        left = []
        for each in old:
            if counts[key(each)]:
                counts[key(each)] -= 1
                rest.remove(next(other for other in rest if key(other) == key(each)))
            else:
                left.append(each)
        old = left
    return old, rest


def _make_loose_key(each: Check) -> tuple[object, ...]:
    facts, wrappers = (frozenset(counts.items()) for counts in (each.facts, each.wrappers))
    return facts, each.strength, each.raises, each.has_match, each.tolerance, wrappers


def _find_partner(old: Check, rest: list[Check]) -> Check | None:
    """Return the new check that most likely replaces an old one."""
    words = set(re.findall(r"\w+", old.text))

    def measure(each: Check) -> tuple[int, int]:
        return (each.facts & old.facts).total(), len(words.intersection(re.findall(r"\w+", each.text)))

    return max(rest, key=measure, default=None)


def _compare(old: Check, new: Check) -> Literal["", "loosened", "expected-value"]:
    """Return the kind of sign, "" if the new check asks for no less."""
    if new.raises != old.raises and old.raises:
        was_broad = bool(set(old.raises) & _BROAD)
        if set(new.raises) > set(old.raises) or (set(new.raises) & _BROAD and not was_broad):
            return "loosened"
        if not was_broad:
            return "expected-value"
    facts, before = new.facts, old.facts
    if (
        (old.has_match and not new.has_match)
        or new.strength < old.strength
        or (new.tolerance is not None and new.tolerance > (old.tolerance or 0.0))
        or facts["Or"] > before["Or"]
        or facts["||"] > before["||"]
    ):
        return "loosened"
    gone, come = before - facts, facts - before
    if set(gone) <= {"Eq"} and set(come) == {"Is"}:  # the same object is equal, too
        return ""
    is_gone, are_come = (any(map(_CONSTANT.match, each)) for each in (gone, come))
    is_wrapped = bool(new.wrappers - old.wrappers)
    if is_gone and not are_come and (is_wrapped or (new.strength <= old.strength and not come)):
        return "loosened"
    if gone or (come and old.strength == new.strength == 3 and all(map(_CONSTANT.match, come))):
        return "expected-value"
    if is_wrapped and new.shape != old.shape and new.strength <= old.strength:
        return "loosened"
    return ""
