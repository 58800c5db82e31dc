"""Signs in configuration: fewer tests selected, thresholds lowered, rules off, runners and pipelines defused.

Configuration is compared by text, line by line: each row of a table is a pattern that only a new line matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange
from tools.lint.honesty.setup_tables import HOOKS, MAKE_TARGET, MARKS, NUMBERS, ROWS, RUNS_TESTS, WHOLE
from tools.lint.honesty.signs import Kind

_WORDS: dict[Kind, str] = {
    "selection": "fewer tests may run",
    "runner": "the tests' exit code is lost",
    "threshold": "a threshold is switched off",
    "ci": "a failing step passes",
    "lint-off": "a rule is switched off",
    "timeout": "a limit of time is raised",
    "retry": "tests are repeated",
}

_COLLECTED = [
    "testpaths",
    "python_files",
    "python_functions",
    "python_classes",
    "testMatch",
    "roots",
    "include",
]
"""Settings of the tests to collect."""


def find_setup_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield the signs in the change's configuration and in what starts the tests."""
    for file in change.files:
        if file.role not in ("setup", "test", "other"):
            continue
        if file.role == "setup" or re.search(r"\.(?:toml|cfg|ini|ya?ml|json)$|rc$", file.path):
            yield from _find_rows(change, file)
            yield from _find_numbers(change, file)
        if file.role == "setup":
            yield from _find_runner_signs(change, file)


def _find_rows(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    removed = {text.strip() for _, text in file.removed}
    removed_text = "\n".join(removed)
    for line, text in file.added:
        if text.strip() in removed or not text.strip():
            continue
        for kind, files, pattern, is_failure in ROWS:
            if (files and not re.search(files, file.path)) or not (match := re.search(pattern, text)):
                continue
            if (
                (match[0] in removed_text and not _is_longer(kind, text, file))
                or (kind != "threshold" and re.match(r"\s*(?:#|//|;)", text))
                or (kind == "timeout" and not _is_raised(text, removed_text))
            ):
                continue
            fails = is_failure and file.before is not None and kind not in change.request.topics
            if kind == "selection" and "collect_ignore" in text and (text[:1].isspace() or "= []" in text):
                fails = False  # below a condition, or of nothing
            yield file.sign(kind, line, _WORDS[kind], text, fails=fails)
            break
    yield from _find_narrowed(change, file)


def _is_longer(kind: str, text: str, file: FileChange) -> bool:
    """Return whether a list of exceptions got longer in place."""
    key = text.partition("=")[0].strip()
    return kind in ("lint-off", "threshold") and any(
        old.partition("=")[0].strip() == key and (len(old) < len(text) or "ignore" in text.replace(key, ""))
        for _, old in file.removed
    )


def _is_raised(text: str, removed: str) -> bool:
    new = [float(each) for each in re.findall(r"\d+(?:\.\d+)?", text)]
    old = [float(each) for each in re.findall(r"(?i)timeout\D*(\d+(?:\.\d+)?)", removed)]
    return bool(old) and bool(new) and max(new) > max(old)


def _find_narrowed(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    """Yield settings of the tests to collect whose value changed."""
    for key in _COLLECTED:
        pattern = re.compile(
            rf"^\s*[\"']?{key}[\"']?\s*[=:]\s*(?P<value>[^\n]*(?:\n\s+[^\n=:]+)*)", re.MULTILINE
        )
        old, new = pattern.search(file.old), pattern.search(file.new)
        is_matrix = "/workflows/" in file.path or "test" not in file.path.rpartition("/")[2]
        if new is None or (key == "include" and is_matrix):
            continue
        was, now = old["value"].strip() if old else None, new["value"].strip()
        if was == now:
            continue
        before, after = (set(re.findall(r"[\w./*-]+", each or "")) for each in (was, now))
        names_files = was is None and bool(re.search(r"\.py$|::", now.strip("'\"[] ")))
        is_narrower = names_files or (bool(before) and not before <= after)
        moves_tests = any(each.before is None or each.after is None for each in change.list_files("test"))
        fails = is_narrower and file.before is not None and not moves_tests
        fails = fails and "selection" not in change.request.topics
        line = file.find_line(new.start())
        yield file.sign("selection", line, "other tests are collected", new[0], fails=fails)


def _find_numbers(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    fails = "threshold" not in change.request.topics
    for pattern in NUMBERS:
        compiled = re.compile(pattern, re.MULTILINE | re.IGNORECASE)
        old, new = (
            [float(match["n"]) for _, text in lines for match in compiled.finditer(text)]
            for lines in (file.removed, file.added)
        )
        if old and new and sum(new) / len(new) < sum(old) / len(old):
            line = next(number for number, text in file.added if compiled.search(text))
            message = f"a threshold is lowered from {max(old):g} to {min(new):g}"
            yield file.sign("threshold", line, message, fails=fails)
            return
        if old and not new and "fail" in pattern and file.after is not None and not compiled.search(file.new):
            yield file.sign("threshold", 0, f"a threshold of {max(old):g} is gone", fails=fails)
            return


def _find_runner_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    name, topics = file.path.rpartition("/")[2], change.request.topics
    fails = "runner" not in topics
    if (name in ("sitecustomize.py", "usercustomize.py") or name.endswith(".pth")) and file.added:
        yield file.sign("runner", 0, "code that runs at each start of Python", fails=fails)
    lost = [text for _, text in file.removed if re.search(RUNS_TESTS, text)]
    own = [text for text in lost if "deps" not in text]
    if name == "tox.ini" and own and not re.search(RUNS_TESTS, file.new.partition("commands")[2]):
        yield file.sign("runner", 0, "the command of the tests is gone", own[0], fails=fails)
    if name == "conftest.py":
        yield from _find_conftest_signs(change, file)
    if name.lower() in ("makefile", "gnumakefile"):
        yield from _find_target_signs(file)
    if name == "package.json":
        old, new = (re.search(r"\"test\"\s*:\s*\"(?P<v>[^\"]*)\"", text) for text in (file.old, file.new))
        if old and not new and file.after is not None:
            yield file.sign("runner", 0, "the script `test` is gone", fails=fails)
        elif (
            old
            and new
            and re.search(RUNS_TESTS, old["v"])
            and not re.search(rf"{RUNS_TESTS}|npm|yarn|pnpm|run|node|nx|turbo", new["v"])
        ):
            message = "the script `test` no longer runs tests"
            yield file.sign("runner", 0, message, new["v"], fails=fails)
    if re.search(r"\.github/workflows/|\.gitlab-ci|circleci|travis|azure-pipelines", file.path):
        trigger = re.compile(r"\b(?:push|pull_request)\b")
        if file.after is not None and trigger.search(file.old) and not trigger.search(file.new):
            yield file.sign("ci", 0, "the pipeline no longer runs on a push", fails="ci" not in topics)
        steps = [text for text in lost if re.search(r"(?:run|script)\s*:|^\s*-", text)]
        if steps and not any(re.search(RUNS_TESTS, text) for _, text in file.added):
            fails = not change.changes_product and "ci" not in topics
            yield file.sign("ci", 0, "a step that runs checks is gone", steps[0], fails=fails)


def _find_conftest_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    asked = "runner" in change.request.topics
    for line, text in file.added:
        if match := HOOKS.search(text):
            conditional = re.search(r"getoption|getvalue|config\.|environ|platform|keyword", file.new)
            fails = not asked and not (conditional and re.search(r"items|\.obj", match[0]))
            if match[0] not in file.old:
                yield file.sign("runner", line, "reports or exit code are changed", text, fails=fails)
        elif match := WHOLE.search(text):
            body = file.new.split(match[0], 1)[1][:600].split("\ndef ")[0]
            decisive = "yield" not in body and re.search(r"return (?:True|\"|'|\(|\[\]|None\b)", body)
            if match[0] not in file.old:
                fails = bool(decisive) and not asked
                yield file.sign("runner", line, "a step of the runner is replaced", text, fails=fails)
        elif MARKS.search(text) and not MARKS.search(file.old):
            conditional = re.search(
                r"\bif\b[^\n]*(?:option|config|environ|platform|version|sys\.|slow|network|marker|keywords)",
                file.new,
            )
            yield file.sign("skipped", line, "tests are skipped", text, fails=not conditional)
        elif match := re.match(
            r"\s*(?:[a-z]\w*\.)+(?P<name>\w+)\s*=\s*(?:lambda|Mock|MagicMock|[A-Za-z_]\w*\s*$)", text
        ):
            called = re.compile(rf"\b{match['name']}\(")
            fails = any(map(called.search, change.test_texts)) and not asked
            yield file.sign("mocked", line, f"every test runs with {match['name']!r} replaced", fails=fails)
        elif re.search(r"autouse\s*=\s*True", text):
            body = "\n".join(each for number, each in file.added if 0 < number - line < 12)
            if match := re.search(
                r"(?:setattr|patch(?:\.object)?)\(\s*[\"']?(?P<target>[\w.]+)[\"']?(?:,\s*[\"'](?P<name>\w+))?",
                body,
            ):
                target = match["name"] or match["target"].rpartition(".")[2]
                fails = any(target in each for each in change.test_texts) and not asked
                yield file.sign("mocked", line, f"every test runs with {target!r} replaced", fails=fails)


def _find_target_signs(file: FileChange) -> Iterator[Finding]:
    runs = re.compile(RUNS_TESTS + r"|\$\(MAKE\)|\$\(\w*(?:TEST|PY)\w*\)|\./\w+")
    old = {match[0].partition(":")[0]: match["body"] for match in MAKE_TARGET.finditer(file.old)}
    for match in MAKE_TARGET.finditer(file.new):
        name, body = match[0].partition(":")[0], match["body"]
        before = old.get(name, "")
        if body.strip() and body != before and runs.search(before) and not runs.search(body):
            line = file.find_line(match.start())
            yield file.sign("runner", line, f"the target {name!r} no longer runs tests", fails=True)
