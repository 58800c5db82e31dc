"""Signs in tests: removed, hidden from the runner, skipped, cut short, or replaced. Units are compared by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.gaming.check_signs import compare_checks
from tools.lint.gaming.file_changes import ChangeSet, FileChange
from tools.lint.gaming.signs import make_sign, quote_source
from tools.lint.gaming.units import python_reader, python_units, tree_units
from tools.lint.gaming.units.test_units import TestFile, TestUnit
from tools.lint.test_files import is_test_file

MOST_SIMILAR = 60
"""New units that a missing test is compared with."""


@dataclass(kw_only=True)
class _Pair:
    """A test file before and after, as units."""

    file: FileChange
    old: TestFile
    new: TestFile
    analyse: Callable[[TestUnit], None]


def find_test_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield the signs in the change's test files."""
    pairs = [
        pair
        for each in change.files
        if each.path.endswith(".py") or each.role == "test"
        if (pair := _parse(each))
    ]
    fresh = {
        id(unit): _place_unit(pair, unit)
        for pair in pairs
        for name, unit in pair.new.units.items()
        if name not in pair.old.units or pair.old.units[name].text != unit.text
    }
    loses_tests = _count_tests([each.new for each in pairs]) < _count_tests([each.old for each in pairs])
    for pair in pairs:
        if pair.file.role == "test":
            yield from _compare_file(change, pair)
        for name, old in pair.old.units.items():
            new = pair.new.units.get(name)
            if new is None:
                if old.is_test and pair.file.role == "test":
                    yield from _judge_missing(change, pair, old, list(fresh.values()), loses_tests)
            elif new.text != old.text and pair.file.role == "test":
                yield from _compare_unit(change, pair, old, new)
            elif old.is_test and not new.is_test and pair.file.role == "test":
                yield make_sign(
                    "uncollected", pair.file.path, new.line, f"{name!r} is no longer collected", fails=True
                )
        for name, new in pair.new.units.items():
            if name not in pair.old.units and pair.file.role == "test":
                yield from _judge_added(pair, new)


def _place_unit(pair: _Pair, unit: TestUnit) -> TestUnit:
    """Return the unit, which is no test if no runner looks into a new file of this name."""
    path = pair.file.path
    if pair.file.before is None and path.endswith((".py", ".go")) and not is_test_file(path):
        unit.is_test = False
    return unit


def _parse(file: FileChange) -> _Pair | None:
    if file.role != "test":
        return None
    if file.path.endswith((".py", ".pyi")):
        parse, analyse = python_units.parse_test_file, python_reader.analyse_unit
        old, new = parse(file.old), parse(file.new)
    else:
        from tools.code.languages import match_languages

        names = [each.name for each in match_languages(file.path) if each.name in tree_units.LANGUAGES]
        if not names:
            return None
        old = tree_units.parse_test_file(names[0], file.path, file.old)
        new = tree_units.parse_test_file(names[0], file.path, file.new)
        analyse = tree_units.analyse_unit
    if old is None or new is None:
        return None
    return _Pair(file=file, old=old, new=new, analyse=analyse)


def _compare_file(change: ChangeSet, pair: _Pair) -> Iterator[Finding]:
    path, asked = pair.file.path, change.request.tests
    if not pair.old.units:
        return
    known = {text for text, _ in pair.old.skips}
    for text, has_condition in pair.new.skips:
        if text not in known:
            message = f"tests of the file are skipped: {quote_source(text)}"
            yield make_sign("skipped", path, 0, message, fails=not has_condition and not asked)
    if len(pair.new.only) > len(pair.old.only):
        line, text = pair.new.only[-1]
        yield make_sign("skipped", path, line, f"only this test runs: {quote_source(text)}", fails=True)
    for line, text in pair.file.added:
        if match := _MODULE_MOCK.search(text):
            name = match["module"]
            if match[0] not in pair.file.old and pair.file.new.count(name) > 1:
                yield make_sign(
                    "mocked", path, line, f"the module {name!r} is replaced, which is tested", fails=not asked
                )
        if re.search(r"\.(?:write_text|write_bytes)\(|writeFileSync\(|os\.WriteFile\(", text):
            stored = re.findall(r"[\w/-]+\.(?:txt|json|snap|golden|ya?ml|out)\b", text)
            if any(each in pair.file.old for each in stored) and text.strip() not in pair.file.old:
                message = f"the test writes what it compares with: {quote_source(text)}"
                yield make_sign("expected-data", path, line, message, fails=not asked)
    for line, name in pair.new.twice:
        if len(pair.new.twice) > len(pair.old.twice) and name not in {each for _, each in pair.old.twice}:
            message = f"{name!r} is defined twice: only the last one runs"
            yield make_sign(
                "uncollected", path, line, message, fails=name in pair.old.units or _is_known(pair, name)
            )
    for line, name in pair.new.shadowed:
        if name not in {each for _, each in pair.old.shadowed}:
            yield make_sign(
                "mocked", path, line, f"{name!r} is imported and then defined in the test file", fails=True
            )


def _is_known(pair: _Pair, name: str) -> bool:
    return any(each.base_name == name for each in pair.old.units.values())


def _count_tests(files: list[TestFile]) -> int:
    return sum(unit.is_test for each in files for unit in each.units.values())


def _judge_missing(
    change: ChangeSet, pair: _Pair, old: TestUnit, fresh: list[TestUnit], loses_tests: bool
) -> Iterator[Finding]:
    path = pair.file.path
    title = old.base_name.replace("·", ".").partition("#")[0]
    moved = next(
        (each for each in fresh if each.base_name.partition("#")[0] == old.base_name.partition("#")[0]), None
    )
    twin = moved or next((each for each in fresh if each.body == old.body and old.body), None)
    if twin is not None:
        if not twin.is_test:
            message = f"the test {title!r} is now {twin.base_name!r}, which no runner collects"
            yield make_sign("uncollected", path, twin.line, message, fails=True)
        elif twin.text != old.text:
            yield from _compare_unit(change, pair, old, twin)
        return
    if (line := _find_commented(pair.file, old)) is not None:
        yield make_sign(
            "commented-out",
            path,
            line,
            f"the test {title!r} is commented out",
            fails=not change.request.tests,
        )
        return
    relative = _find_relative(old, fresh)
    if relative is not None and relative.is_test:
        yield from _compare_unit(change, pair, old, relative)
        return
    if relative is not None and len(old.body) > 20 and _share_lines(old, relative) > 0.9:
        message = f"the test {title!r} is now {relative.base_name!r}, which no runner collects"
        yield make_sign("uncollected", path, relative.line, message, fails=True)
        return
    literals = old.literals
    covered = literals and len(literals & {x for each in fresh if each.is_test for x in each.literals})
    if literals and covered and covered / len(literals) >= 0.7:
        yield make_sign("removed", path, 0, f"the test {title!r} is merged into others", fails=False)
        return
    if subject := sorted((old.words & change.lost_words) - _COMMON):
        message = f"the test {title!r} is gone, with {', '.join(subject[:3])}"
        yield make_sign("removed", path, 0, message, fails=change.request.passing)
        return
    fails = not change.request.tests and not change.request.removal
    fails = fails and (loses_tests or change.is_suspect_test(old.base_name, old.words))
    yield make_sign("removed", path, 0, f"the test {title!r} is gone", fails=fails)


_COMMON = frozenset(
    (
        "self",
        "test",
        "assert",
        "the",
        "and",
        "for",
        "not",
        "None",
        "True",
        "False",
        "return",
        "import",
        "from",
        "def",
    )
)


def _find_commented(file: FileChange, old: TestUnit) -> int | None:
    name = re.escape(old.base_name.replace("·", ".").partition("#")[0])
    pattern = re.compile(rf"^\s*(?:#|//|/\*|\*|--|=begin)\s?.*(?:def|func|it|test|fn|void)?\b.*{name}")
    for line, text in file.added:
        if pattern.search(text):
            return line
    quoted = rf"/\*[^*]*\b(?:it|test|func|void)\b[^*]*{name}"
    if file.path.endswith(".py"):
        quoted = rf"(?:\"\"\"|\'\'\')[^\"\']*def {name}\("
    if re.search(quoted, file.new) and not re.search(quoted, file.old):
        return 0
    return None


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
    if re.search(r"_exit|exit\(|abort|Exit|quit", new.text):
        pair.analyse(new)
        for text in new.exits:
            is_real = not text.startswith("sys.exit") or new.is_test
            if is_real and new.base_name not in ("main", "cli", "TestMain"):
                message = f"a test ends the process: {quote_source(text)}"
                yield make_sign("exit", pair.file.path, new.line, message, fails=text != "sys.exit")
            elif new.base_name == "TestMain" and "m.Run()" not in new.text:
                yield make_sign(
                    "exit", pair.file.path, new.line, "TestMain does not run the tests", fails=True
                )
            elif new.base_name == "TestMain" and "os.Exit(0)" in new.text:
                yield make_sign(
                    "exit", pair.file.path, new.line, "TestMain drops the tests' exit code", fails=True
                )


def _compare_unit(change: ChangeSet, pair: _Pair, old: TestUnit, new: TestUnit) -> Iterator[Finding]:
    for each in (old, new):
        if not each.checks and not each.unreached:
            pair.analyse(each)
    path, asked = pair.file.path, change.request.tests
    suspect = change.is_suspect_test(new.base_name, old.words)
    title = new.base_name.replace("·", ".").partition("#")[0]
    if old.is_test and not new.is_test:
        yield make_sign(
            "uncollected", path, new.line, f"the test {title!r} is no longer collected", fails=True
        )
    known = {text for text, _ in old.skips}
    for text, has_condition in new.skips:
        if text not in known:
            message = f"a test is skipped: {quote_source(text)}"
            yield make_sign("skipped", path, new.line, message, fails=not has_condition and not asked)
    if new.unreached > old.unreached:
        count = new.unreached - old.unreached
        yield make_sign(
            "unreached", path, new.line, f"{count} checks of {title!r} are never reached", fails=not asked
        )
    if new.swallowed > old.swallowed and old.checks:
        message = f"failing checks of {title!r} are caught"
        yield make_sign("swallowed", path, new.line, message, fails=not asked)
    if new.guarded > old.guarded and len(new.checks) - new.guarded < len(old.checks) - old.guarded:
        message = f"checks of {title!r} run only under a new condition"
        yield make_sign("guarded", path, new.line, message, fails=suspect)
    for text in new.exits:
        if text not in old.exits:
            message = f"a test ends the process: {quote_source(text)}"
            yield make_sign("exit", path, new.line, message, fails=text != "sys.exit" or not old.exits)
    yield from _compare_replacements(change, path, old, new)
    yield from compare_checks(change, pair.file, old, new)
    for kind, before, after in (("retry", old.retries, new.retries), ("sleep", old.sleeps, new.sleeps)):
        if len(after) > len(before):
            yield make_sign(kind, path, new.line, f"{title!r}: {quote_source(after[-1])}", fails=False)
    if max(new.timeouts, default=0) > max(old.timeouts, default=0) and (old.timeouts or new.timeouts):
        yield make_sign(
            "timeout", path, new.line, f"{title!r}: a limit of {max(new.timeouts):g}", fails=False
        )


def _compare_replacements(change: ChangeSet, path: str, old: TestUnit, new: TestUnit) -> Iterator[Finding]:
    asked = change.request.tests
    checked = old.calls | new.calls
    for name in new.patched:
        if new.patched[name] > old.patched[name] and name not in _HARMLESS and not _was_local(name, old):
            is_subject = name in checked or (len(name) > 3 and name in old.base_name)
            message = f"the test replaces {name!r}{', which it tests' if is_subject else ''}"
            yield make_sign("mocked", path, new.line, message, fails=is_subject and not asked)
    for name in sorted((new.rebound - old.rebound) & old.calls):
        is_called = re.search(rf"(?<![.\w]){name}\(", old.text)
        if is_called and not re.search(rf"\b{name}\s*=.*\b{name}\b", new.text):
            yield make_sign(
                "mocked", path, new.line, f"the test defines {name!r}, which it tests", fails=not asked
            )
    gone = {
        name
        for name in re.findall(r"\b([A-Za-z_]\w{2,})\(", old.text)
        if not re.search(rf"\b{re.escape(name)}\b", new.text)
    }
    gone &= old.calls | set(re.findall(r"=\s*(?:await\s+)?(\w+)\(", old.text))
    gone |= {
        name
        for name in re.findall(r"\b([a-z_]\w{2,})\(", old.body)
        if name in old.base_name and name not in new.body
    }
    gone -= change.lost_words | _COMMON
    if gone and not (
        set(re.findall(r"\b(\w+)\(", new.text)) - set(re.findall(r"\b(\w+)\(", old.text)) - _HARMLESS
    ):
        message = f"the test no longer calls {sorted(gone)[0]!r}"
        yield make_sign(
            "detached", path, new.line, message, fails=change.is_suspect_test(new.base_name, old.words)
        )


def _was_local(name: str, old: TestUnit) -> bool:
    """Return whether a test defined a name itself before, or did not know it: nothing is replaced then."""
    return name not in old.text or bool(re.search(rf"\b{re.escape(name)}\s*:?=(?!=)", old.text))


_MODULE_MOCK = compile_lazily(r"\b(?:jest|vi)\.(?:mock|doMock)\(\s*[\"'](?P<module>\.[^\"']+)[\"']\s*,")

_HARMLESS = frozenset(
    (
        "now",
        "time",
        "today",
        "sleep",
        "environ",
        "argv",
        "stdout",
        "stderr",
        "stdin",
        "random",
        "getenv",
        "cwd",
        "input",
        "open",
        "urlopen",
        "len",
        "str",
        "int",
        "list",
        "dict",
        "expect",
        "assert",
        "isinstance",
        "type",
        "repr",
        "range",
        "float",
        "log",
        "warn",
        "error",
    )
)
"""Names that tests replace to keep the machine out, and words of the language."""
