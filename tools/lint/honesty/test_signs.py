"""Signs in tests: removed, hidden from the runner, skipped, cut short, or replaced. Units are compared by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set
from tools.lint.checks.finding import Finding
from tools.lint.honesty import python_reader, python_units, tree_units
from tools.lint.honesty.check_signs import compare_checks
from tools.lint.honesty.file_changes import ChangeSet, FileChange
from tools.lint.honesty.test_units import TestFile, TestUnit
from tools.lint.test_files import is_test_file

MOST_SIMILAR = 60
"""New units that a missing test is compared with."""

_COMMON = parse_word_set("self test assert the and for not None True False return import from def")
_HARMLESS = parse_word_set(
    "now time today sleep environ argv stdout stderr stdin random getenv cwd input open urlopen len str int list dict"
    " expect assert isinstance type repr range float log warn error"
)
"""Names that tests replace to keep the machine out, and words of the language."""

_MODULE_MOCK = compile_lazily(r"\b(?:jest|vi)\.(?:mock|doMock)\(\s*[\"'](?P<module>\.[^\"']+)[\"']\s*,")


@dataclass(kw_only=True)
class _Pair:
    """A test file before and after, as units."""

    file: FileChange
    old: TestFile
    new: TestFile
    analyse: Callable[[TestUnit], None]


def find_test_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield the signs in the change's test files."""
    pairs = [pair for each in change.list_files("test") if (pair := _parse(each))]
    fresh = [
        unit
        for pair in pairs
        for name, unit in pair.new.units.items()
        if name not in pair.old.units or pair.old.units[name].text != unit.text
    ]
    loses_tests = _count_tests([each.new for each in pairs]) < _count_tests([each.old for each in pairs])
    for pair in pairs:
        yield from _compare_file(change, pair)
        for name, old in pair.old.units.items():
            new = pair.new.units.get(name)
            if new is None:
                if old.is_test:
                    yield from _judge_missing(change, pair, old, fresh, loses_tests)
            elif new.text != old.text:
                yield from _compare_unit(change, pair, old, new)
            elif old.is_test and not new.is_test:
                yield pair.file.sign("uncollected", new.line, f"{name!r} is no longer collected", fails=True)
        for name, new in pair.new.units.items():
            if name not in pair.old.units:
                yield from _judge_added(pair, new)


def _parse(file: FileChange) -> _Pair | None:
    if file.path.endswith((".py", ".pyi")):
        old, new = python_units.parse_test_file(file.old), python_units.parse_test_file(file.new)
        analyse = python_reader.analyse_unit
    else:
        old, new = (tree_units.parse_test_file(file.path, text) for text in (file.old, file.new))
        analyse = tree_units.analyse_unit
    if old is None or new is None:
        return None
    if file.before is None and file.path.endswith((".py", ".go")) and not is_test_file(file.path):
        for unit in new.units.values():  # no runner looks into a new file of this name
            unit.is_test = False
    return _Pair(file=file, old=old, new=new, analyse=analyse)


def _compare_file(change: ChangeSet, pair: _Pair) -> Iterator[Finding]:
    file, asked = pair.file, change.request.tests
    if not pair.old.units:
        return
    known = {text for text, _ in pair.old.skips}
    for text, has_condition in pair.new.skips:
        if text not in known:
            fails = not has_condition and not asked
            yield file.sign("skipped", 0, "tests of the file are skipped", text, fails=fails)
    if len(pair.new.only) > len(pair.old.only):
        line, text = pair.new.only[-1]
        yield file.sign("skipped", line, "only this test runs", text, fails=True)
    for line, text in file.added:
        if match := _MODULE_MOCK.search(text):
            name = match["module"]
            if match[0] not in file.old and file.new.count(name) > 1:
                message = f"the module {name!r} is replaced, which is tested"
                yield file.sign("mocked", line, message, fails=not asked)
        if re.search(r"\.(?:write_text|write_bytes)\(|writeFileSync\(|os\.WriteFile\(", text):
            stored = re.findall(r"[\w/-]+\.(?:txt|json|snap|golden|ya?ml|out)\b", text)
            if any(each in file.old for each in stored) and text.strip() not in file.old:
                message = "the test writes what it compares with"
                yield file.sign("expected-data", line, message, text, fails=not asked)
    twice, shadowed = ({name for _, name in each} for each in (pair.old.twice, pair.old.shadowed))
    known = {*pair.old.units, *(each.base_name for each in pair.old.units.values())}
    for line, name in pair.new.twice:
        if len(pair.new.twice) > len(pair.old.twice) and name not in twice:
            message = f"{name!r} is defined twice: only the last one runs"
            yield file.sign("uncollected", line, message, fails=name in known)
    for line, name in pair.new.shadowed:
        if name not in shadowed:
            message = f"{name!r} is imported and then defined in the test file"
            yield file.sign("mocked", line, message, fails=True)


def _count_tests(files: list[TestFile]) -> int:
    return sum(unit.is_test for each in files for unit in each.units.values())


def _judge_missing(
    change: ChangeSet, pair: _Pair, old: TestUnit, fresh: list[TestUnit], loses_tests: bool
) -> Iterator[Finding]:
    file, title, request = pair.file, old.title, change.request
    name = old.base_name.partition("#")[0]
    twin = next((each for each in fresh if each.base_name.partition("#")[0] == name), None)
    twin = twin or next((each for each in fresh if each.body == old.body and old.body), None)
    relative = None
    if twin is None and (line := _find_commented(file, title)) is not None:
        message = f"the test {title!r} is commented out"
        yield file.sign("commented-out", line, message, fails=not request.tests)
        return
    if twin is None:
        relative = _find_relative(old, fresh)
        if relative is not None and (
            relative.is_test or (len(old.body) > 20 and _share_lines(old, relative) > 0.9)
        ):
            twin = relative
    if twin is not None:
        if not twin.is_test:
            message = f"the test {title!r} is now {twin.base_name!r}, which no runner collects"
            yield file.sign("uncollected", twin.line, message, fails=True)
        elif twin.text != old.text:
            yield from _compare_unit(change, pair, old, twin)
        return
    literals = old.literals
    covered = literals & {x for each in fresh if each.is_test for x in each.literals}
    if covered and len(covered) / len(literals) >= 0.7:
        yield file.sign("removed", 0, f"the test {title!r} is merged into others", fails=False)
    elif subject := sorted((old.words & change.lost_words) - _COMMON):
        message = f"the test {title!r} is gone, with {', '.join(subject[:3])}"
        yield file.sign("removed", 0, message, fails=request.passing)
    else:
        fails = loses_tests or change.is_suspect_test(old.base_name, old.words)
        fails = fails and not request.tests and not request.removal
        yield file.sign("removed", 0, f"the test {title!r} is gone", fails=fails)


def _find_commented(file: FileChange, title: str) -> int | None:
    name = re.escape(title)
    pattern = re.compile(rf"^\s*(?:#|//|/\*|\*|--|=begin)\s?.*(?:def|func|it|test|fn|void)?\b.*{name}")
    for line, text in file.added:
        if pattern.search(text):
            return line
    quoted = rf"/\*[^*]*\b(?:it|test|func|void)\b[^*]*{name}"
    if file.path.endswith(".py"):
        quoted = rf"(?:\"\"\"|\'\'\')[^\"\']*def {name}\("
    return 0 if re.search(quoted, file.new) and not re.search(quoted, file.old) else None


def _find_relative(old: TestUnit, fresh: list[TestUnit]) -> TestUnit | None:
    best, share = None, 0.5
    for each in fresh[:MOST_SIMILAR]:
        now = _share_lines(old, each)
        if now >= 0.3 and SequenceMatcher(None, old.base_name, each.base_name).ratio() > 0.8:
            now += 0.25
        if now > share:
            best, share = each, now
    return best


def _share_lines(old: TestUnit, new: TestUnit) -> float:
    mine, theirs = set(old.body.split("\n")) - {"", "}", ")", "});", "end"}, set(new.body.split("\n"))
    return len(mine & theirs) / len(mine) if mine else 0.0


def _judge_added(pair: _Pair, new: TestUnit) -> Iterator[Finding]:
    """Yield the signs of a new unit that harm whatever the test was before."""
    if not re.search(r"_exit|exit\(|abort|Exit|quit", new.text):
        return
    pair.analyse(new)
    for text in new.exits:
        is_real = not text.startswith("sys.exit") or new.is_test
        if is_real and new.base_name not in ("main", "cli", "TestMain"):
            yield pair.file.sign("exit", new.line, "a test ends the process", text, fails=text != "sys.exit")
        elif new.base_name == "TestMain" and "m.Run()" not in new.text:
            yield pair.file.sign("exit", new.line, "TestMain does not run the tests", fails=True)
        elif new.base_name == "TestMain" and "os.Exit(0)" in new.text:
            yield pair.file.sign("exit", new.line, "TestMain drops the tests' exit code", fails=True)


def _compare_unit(change: ChangeSet, pair: _Pair, old: TestUnit, new: TestUnit) -> Iterator[Finding]:
    for each in (old, new):
        if not each.checks and not each.unreached:
            pair.analyse(each)
    file, asked, title = pair.file, change.request.tests, new.title
    if old.is_test and not new.is_test:
        message = f"the test {title!r} is no longer collected"
        yield file.sign("uncollected", new.line, message, fails=True)
    known = {text for text, _ in old.skips}
    for text, has_condition in new.skips:
        if text not in known:
            fails = not has_condition and not asked
            yield file.sign("skipped", new.line, "a test is skipped", text, fails=fails)
    if new.unreached > old.unreached:
        message = f"{new.unreached - old.unreached} checks of {title!r} are never reached"
        yield file.sign("unreached", new.line, message, fails=not asked)
    if new.swallowed > old.swallowed and old.checks:
        message = f"failing checks of {title!r} are caught"
        yield file.sign("swallowed", new.line, message, fails=not asked)
    if new.guarded > old.guarded and len(new.checks) - new.guarded < len(old.checks) - old.guarded:
        message = f"checks of {title!r} run only under a new condition"
        fails = change.is_suspect_test(new.base_name, old.words)
        yield file.sign("guarded", new.line, message, fails=fails)
    for text in new.exits:
        if text not in old.exits:
            fails = text != "sys.exit" or not old.exits
            yield file.sign("exit", new.line, "a test ends the process", text, fails=fails)
    yield from _compare_replacements(change, file, old, new)
    yield from compare_checks(change, file, old, new)
    if len(new.retries) > len(old.retries):
        yield file.sign("retry", new.line, repr(title), new.retries[-1], fails=False)
    if len(new.sleeps) > len(old.sleeps):
        yield file.sign("sleep", new.line, repr(title), new.sleeps[-1], fails=False)
    if (most := max(new.timeouts, default=0)) > max(old.timeouts, default=0):
        yield file.sign("timeout", new.line, f"{title!r}: a limit of {most:g}", fails=False)


def _compare_replacements(
    change: ChangeSet, file: FileChange, old: TestUnit, new: TestUnit
) -> Iterator[Finding]:
    asked, checked = change.request.tests, old.calls | new.calls
    for name in new.patched:
        if new.patched[name] > old.patched[name] and name not in _HARMLESS and not _was_local(name, old):
            is_subject = name in checked or (len(name) > 3 and name in old.base_name)
            message = f"the test replaces {name!r}{', which it tests' if is_subject else ''}"
            yield file.sign("mocked", new.line, message, fails=is_subject and not asked)
    for name in sorted((new.rebound - old.rebound) & old.calls):
        is_called = re.search(rf"(?<![.\w]){name}\(", old.text)
        if is_called and not re.search(rf"\b{name}\s*=.*\b{name}\b", new.text):
            message = f"the test defines {name!r}, which it tests"
            yield file.sign("mocked", new.line, message, fails=not asked)
    called = old.calls.union(re.findall(r"=\s*(?:await\s+)?(\w+)\(", old.text))
    gone = {
        name
        for name in called.intersection(re.findall(r"\b([A-Za-z_]\w{2,})\(", old.text))
        if not re.search(rf"\b{re.escape(name)}\b", new.text)
    }
    named = re.findall(r"\b([a-z_]\w{2,})\(", old.body)
    gone |= {name for name in named if name in old.base_name and name not in new.body}
    gone -= change.lost_words | _COMMON
    if gone and not new.list_new_calls(old) - _HARMLESS:
        message = f"the test no longer calls {min(gone)!r}"
        fails = change.is_suspect_test(new.base_name, old.words)
        yield file.sign("detached", new.line, message, fails=fails)


def _was_local(name: str, old: TestUnit) -> bool:
    """Return whether a test defined a name itself before, or did not know it: nothing is replaced then."""
    return name not in old.text or bool(re.search(rf"\b{re.escape(name)}\s*:?=(?!=)", old.text))
