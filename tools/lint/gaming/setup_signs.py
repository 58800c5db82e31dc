"""Signs in configuration: fewer tests selected, thresholds lowered, rules off, runners and pipelines defused.

Configuration is compared by text, line by line: each row of a table is a pattern that only a new line matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet, FileChange
from tools.lint.gaming.setup_tables import HOOKS, MAKE_TARGET, MARKS, NUMBERS, ROWS, RUNS_TESTS, WHOLE
from tools.lint.gaming.signs import make_sign, quote_source


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
        for kind, files, pattern, fails in ROWS:
            if files and not re.search(files, file.path):
                continue
            match = re.search(pattern, text)
            if (
                not match
                or (match[0] in removed_text and not _is_longer(kind, text, file))
                or (kind != "threshold" and re.match(r"\s*(?:#|//|;)", text))
            ):
                continue
            if kind == "timeout" and not _is_raised(text, removed_text):
                continue
            fails = fails and file.before is not None and kind not in change.request.topics
            if kind == "selection" and "collect_ignore" in text and (text[:1].isspace() or "= []" in text):
                fails = False  # below a condition, or of nothing
            yield make_sign(
                kind, file.path, line, f"{_WORDS.get(kind, kind)}: {quote_source(text)}", fails=fails
            )
            break
    yield from _find_narrowed(change, file)


_WORDS = {
    "selection": "fewer tests may run",
    "runner": "the tests' exit code is lost",
    "threshold": "a threshold is switched off",
    "ci": "a failing step passes",
    "lint-off": "a rule is switched off",
    "timeout": "a limit of time is raised",
    "retry": "tests are repeated",
}


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
    for key in (
        "testpaths",
        "python_files",
        "python_functions",
        "python_classes",
        "testMatch",
        "roots",
        "include",
    ):
        pattern = re.compile(
            rf"^\s*[\"']?{key}[\"']?\s*[=:]\s*(?P<value>[^\n]*(?:\n\s+[^\n=:]+)*)", re.MULTILINE
        )
        old, new = pattern.search(file.old), pattern.search(file.new)
        is_matrix = "/workflows/" in file.path or "test" not in file.path.rpartition("/")[2]
        if key == "include" and is_matrix:
            continue
        if new is None or (old is not None and old["value"].strip() == new["value"].strip()):
            continue
        before = set(re.findall(r"[\w./*-]+", old["value"])) if old else set()
        after = set(re.findall(r"[\w./*-]+", new["value"]))
        is_narrower = (not old and bool(re.search(r"\.py$|::", new["value"].strip().strip("'\"[] ")))) or (
            bool(before) and not before <= after
        )
        fails = is_narrower and file.before is not None and "selection" not in change.request.topics
        line = file.new.count("\n", 0, new.start()) + 1
        fails = fails and not _moves_tests(change)
        yield make_sign(
            "selection", file.path, line, f"other tests are collected: {quote_source(new[0])}", fails=fails
        )


def _moves_tests(change: ChangeSet) -> bool:
    return any(each.before is None or each.after is None for each in change.list_files("test"))


def _find_numbers(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    for pattern in NUMBERS:
        compiled = re.compile(pattern, re.MULTILINE | re.IGNORECASE)
        old = [float(match["n"]) for _, text in file.removed for match in compiled.finditer(text)]
        new = [float(match["n"]) for _, text in file.added for match in compiled.finditer(text)]
        asked = "threshold" in change.request.topics
        if old and new and sum(new) / len(new) < sum(old) / len(old):
            line = next(number for number, text in file.added if compiled.search(text))
            message = f"a threshold is lowered from {max(old):g} to {min(new):g}"
            yield make_sign("threshold", file.path, line, message, fails=not asked)
            return
        if old and not new and "fail" in pattern and file.after is not None and not compiled.search(file.new):
            yield make_sign(
                "threshold", file.path, 0, f"a threshold of {max(old):g} is gone", fails=not asked
            )
            return


def _find_runner_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    name = file.path.rpartition("/")[2]
    asked = "runner" in change.request.topics
    if (name in ("sitecustomize.py", "usercustomize.py") or name.endswith(".pth")) and file.added:
        yield make_sign("runner", file.path, 0, "code that runs at each start of Python", fails=not asked)
    if name == "tox.ini":
        lost = [
            text for _, text in file.removed if re.search(RUNS_TESTS, text) and not re.search(r"deps", text)
        ]
        if lost and not re.search(RUNS_TESTS, file.new.partition("commands")[2]):
            message = f"the command of the tests is gone: {quote_source(lost[0])}"
            yield make_sign("runner", file.path, 0, message, fails=not asked)
    if name == "conftest.py":
        yield from _find_conftest_signs(change, file)
    if name.lower() in ("makefile", "gnumakefile"):
        yield from _find_target_signs(file)
    if name == "package.json":
        old = re.search(r"\"test\"\s*:\s*\"(?P<v>[^\"]*)\"", file.old)
        new = re.search(r"\"test\"\s*:\s*\"(?P<v>[^\"]*)\"", file.new)
        if old and not new and file.after is not None:
            yield make_sign("runner", file.path, 0, "the script `test` is gone", fails=not asked)
        elif old and new and old["v"] != new["v"]:
            runs = re.compile(RUNS_TESTS)
            if (
                runs.search(old["v"])
                and not runs.search(new["v"])
                and not re.search(r"npm|yarn|pnpm|run|node|nx|turbo", new["v"])
            ):
                yield make_sign(
                    "runner",
                    file.path,
                    0,
                    f"the script `test` no longer runs tests: {quote_source(new['v'])}",
                    fails=not asked,
                )
    if re.search(r"\.github/workflows/|\.gitlab-ci|circleci|travis|azure-pipelines", file.path):
        lost = [
            text
            for _, text in file.removed
            if re.search(r"(?:run|script)\s*:|^\s*-", text) and re.search(RUNS_TESTS, text)
        ]
        trigger = re.compile(r"\b(?:push|pull_request)\b")
        if file.after is not None and trigger.search(file.old) and not trigger.search(file.new):
            message = "the pipeline no longer runs on a push"
            yield make_sign("ci", file.path, 0, message, fails="ci" not in change.request.topics)
        came = [text for _, text in file.added if re.search(RUNS_TESTS, text)]
        if lost and not came:
            message = f"a step that runs checks is gone: {quote_source(lost[0])}"
            yield make_sign(
                "ci",
                file.path,
                0,
                message,
                fails=not change.changes_product and "ci" not in change.request.topics,
            )


def _find_conftest_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    asked = "runner" in change.request.topics
    for line, text in file.added:
        if match := HOOKS.search(text):
            if match[0] in file.old:
                continue
            conditional = re.search(r"getoption|getvalue|config\.|environ|platform|keyword", file.new)
            is_collection = bool(re.search(r"items|\.obj", match[0]))
            fails = not asked and not (is_collection and conditional)
            yield make_sign(
                "runner",
                file.path,
                line,
                f"reports or exit code are changed: {quote_source(text)}",
                fails=fails,
            )
        elif match := WHOLE.search(text):
            body = file.new.split(match[0], 1)[1][:600].split("\ndef ")[0]
            decisive = bool(
                re.search(r"return (?:True|\"|'|\(|\[\]|None\b)|yield\s*$", body)
            ) and not re.search(r"yield", body)
            if match[0] not in file.old:
                yield make_sign(
                    "runner",
                    file.path,
                    line,
                    f"a step of the runner is replaced: {quote_source(text)}",
                    fails=decisive and not asked,
                )
        elif MARKS.search(text) and not MARKS.search(file.old):
            conditional = re.search(
                r"\bif\b[^\n]*(?:option|config|environ|platform|version|sys\.|slow|network|marker|keywords)",
                file.new,
            )
            yield make_sign(
                "skipped", file.path, line, f"tests are skipped: {quote_source(text)}", fails=not conditional
            )
        elif match := re.match(
            r"\s*(?:[a-z]\w*\.)+(?P<name>\w+)\s*=\s*(?:lambda|Mock|MagicMock|[A-Za-z_]\w*\s*$)", text
        ):
            known = any(re.search(rf"\b{match['name']}\(", each) for each in change.test_texts)
            message = f"every test runs with {match['name']!r} replaced"
            yield make_sign("mocked", file.path, line, message, fails=known and not asked)
        elif re.search(r"autouse\s*=\s*True", text):
            body = "\n".join(each for number, each in file.added if 0 < number - line < 12)
            if match := re.search(
                r"(?:setattr|patch(?:\.object)?)\(\s*[\"']?(?P<target>[\w.]+)[\"']?(?:,\s*[\"'](?P<name>\w+))?",
                body,
            ):
                target = match["name"] or match["target"].rpartition(".")[2]
                known = any(target in each for each in change.test_texts)
                yield make_sign(
                    "mocked",
                    file.path,
                    line,
                    f"every test runs with {target!r} replaced",
                    fails=known and not asked,
                )


def _find_target_signs(file: FileChange) -> Iterator[Finding]:
    old = {match[0].partition(":")[0]: match["body"] for match in MAKE_TARGET.finditer(file.old)}
    for match in MAKE_TARGET.finditer(file.new):
        name = match[0].partition(":")[0]
        before = old.get(name)
        runs = re.compile(RUNS_TESTS + r"|\$\(MAKE\)|\$\(\w*(?:TEST|PY)\w*\)|\./\w+")
        if before and runs.search(before) and match["body"] != before and not runs.search(match["body"]):
            line = file.new.count("\n", 0, match.start()) + 1
            if match["body"].strip():
                yield make_sign(
                    "runner", file.path, line, f"the target {name!r} no longer runs tests", fails=True
                )
