"""Signs in configuration: fewer tests selected, thresholds lowered, rules off, runners and pipelines defused.

Configuration is compared by text, line by line: each row of a table is a pattern that only a new line matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet, FileChange
from tools.lint.gaming.signs import make_sign, quote_source

_RUNS_TESTS = (
    r"(?:pytest|py\.test|unittest|tox|nox|nose\w*|npm (?:run )?test|yarn (?:run )?test|pnpm (?:run )?test|jest|vitest|mocha"
    r"|go test|go vet|cargo test|mvn|gradle\w*|rspec|rake(?: test)?|make (?:test|check|lint)|ruff|flake8|mypy|eslint|tsc"
    r"|coverage|karma|ava|playwright|cypress|golangci-lint|bundle exec|phpunit|dotnet test|ctest|run_?tests?\w*)"
)

_ROWS: tuple[tuple[str, str, str, bool], ...] = (
    # kind, files, what a new line shows, whether it is a failure
    ("selection", r"", r"(?:addopts|pytest|PYTEST_ADDOPTS)[^#\n]*(?:\s|=|\"|')(?:-k|--ignore(?:-glob)?|--deselect|--lf|--last-failed|--co\b|--collect-only|--maxfail|--stepwise)(?:[=\s\"'\],]|$)", True),
    ("selection", r"", r"(?:addopts|pytest)\b[^#\n]*\s-m[= ]?\s*[\"']?not\b", True),
    ("selection", r"(?:ini|cfg|toml)$", r"^\s*[\"']?(?:-k|--ignore(?:-glob)?[= ]|--deselect[= ]|--collect-only|--lf\b)", True),
    ("selection", r"(?:ini|cfg|toml)$", r"^\s*(?:norecursedirs|python_files|python_functions|python_classes|testpaths|collect_ignore\w*)\s*=", False),
    ("selection", r"conftest\.py$", r"^\s*collect_ignore(?:_glob)?\s*(?:=|\+=|\.)", True),
    ("threshold", r"", r"^\s*[\"']?(?:exclude_lines|exclude_also|omit|coveragePathIgnorePatterns)\b", False),
    ("selection", r"(?:js|ts|cjs|mjs|json|ya?ml)$", r"testPathIgnorePatterns|modulePathIgnorePatterns|[\"']?testNamePattern|passWithNoTests|--passWithNoTests|--bail\b|testRegex\b.*\bnever", True),
    ("selection", r"(?:js|ts|cjs|mjs|json|mocharc.*)$", r"[\"']?(?:testMatch|testRegex|spec|grep|invert|exclude|ignore)[\"']?\s*:", False),
    ("selection", r"", r"\bgo test\b[^\n]*\s-(?:short|skip|run)\b", True),
    ("selection", r"package\.json$", r"\"test[\w:]*\"\s*:.*(?:--testPathIgnorePatterns|--grep|-t |--invert|--exclude|--testNamePattern|--ignore)", True),
    ("selection", r"(?:pom\.xml|gradle(?:\.kts)?)$", r"<skipTests>true|<testFailureIgnore>true|maven\.test\.skip|ignoreFailures\s*=\s*true|enabled\s*=\s*false|exclude\(?\s*['\"]", True),
    ("selection", r"(?:\.rspec|Rakefile)$", r"--tag\s+~|--exclude-pattern|--fail-fast", True),
    ("runner", r"package\.json$", r"\"(?:test|check|lint|pretest|posttest)[\w:]*\"\s*:\s*\"[^\"]*(?:\bexit 0|\|\|\s*(?:true|:|exit 0|echo)|;\s*true|^\s*true\s*\"|:\s*\"true\"|:\s*\":\"|\"echo |node -e)", True),
    ("runner", r"package\.json$", r"\"test[\w:]*\"\s*:\s*\"(?:true|:|echo\b[^\"]*|exit 0)\"", True),
    ("runner", r"(?:[Mm]akefile|justfile|tox\.ini|noxfile\.py|\.sh|Rakefile|setup\.cfg)$", _RUNS_TESTS + r"[^\n]*(?:\|\|\s*(?:true|:|exit 0|echo)|;\s*(?:true|exit 0|:)\s*$|\|\s*(?:cat|tee)\b)", True),
    ("runner", r"(?:[Mm]akefile|tox\.ini)$", r"^\s*-\s*@?(?:\S+\s+(?:-m\s+)?)?" + _RUNS_TESTS, True),
    ("runner", r"tox\.ini$", r"^\s*ignore_(?:outcome|errors)\s*=\s*(?:true|True|1)", True),
    ("runner", r"noxfile\.py$", r"success_codes\s*=.*\b1\b|range\(", True),
    ("runner", r"\.sh$", r"^\s*(?:set \+e|exit 0|trap .*exit 0.*EXIT|trap ['\"]?exit 0)", True),
    ("runner", r"[Mm]akefile$", r"^\s*(?:\.IGNORE\s*:|SHELL\s*[:?]?=.*true|MAKEFLAGS\s*\+?=.*(?:-i|-k|--ignore))", True),
    ("threshold", r"", r"^\s*(?:#|//)\s*[\"']?(?:fail_under|--cov-fail-under|coverageThreshold|minimum_coverage)", True),
    ("ci", r"(?:ya?ml|Jenkinsfile)$", r"^\s*-?\s*(?:run|script|command)?:?[^\n]*" + _RUNS_TESTS + r"[^\n]*(?:\|\|\s*(?:true|:|exit 0|echo)|;\s*(?:true|exit 0)\s*$|\|\s*tee\b)", True),
    ("ci", r"ya?ml$", r"^\s*-?\s*(?:continue-on-error|allow_failure|continueOnError|soft_fail)\s*:\s*(?:true|True|[\"']true)", True),
    ("ci", r"ya?ml$", r"^\s*-?\s*if\s*:\s*(?:false|\$\{\{\s*false\s*\}\}|[\"']false)|^\s*set \+e\b|^\s*-?\s*run:\s*(?:exit 0|true|echo [^\n]*tests?[^\n]*)$|^\s*-\s*set \+e", True),
    ("ci", r"(?:travis|gitlab-ci|circleci|azure).*$", r"allow_failures:|when:\s*manual", False),
    ("lint-off", r"tsconfig", r"\"(?:strict\w*|noImplicit\w+|noUnused\w+|noUnchecked\w+|checkJs|alwaysStrict)\"\s*:\s*false|\"skipLibCheck\"\s*:\s*true|\"noEmitOnError\"\s*:\s*false", False),
    ("lint-off", r"(?:eslint|biome)", r":\s*(?:[\"']off[\"']|0)\s*,?\s*$|[\"']off[\"']|ignorePatterns|\bignores\b\s*:", False),
    ("lint-off", r"(?:toml|cfg|ini|pylintrc|flake8)$", r"^\s*(?:extend-)?(?:ignore|disable|per-file-ignores|exclude|extend-exclude|lint\.ignore)\s*=|ignore_errors\s*=\s*(?:true|True)|^\s*(?:strict|disallow_\w+|warn_\w+|check_untyped_defs|xfail_strict)\s*=\s*(?:false|False)|follow_imports\s*=\s*[\"']?skip|ignore_missing_imports\s*=\s*(?:true|True)", False),
    ("lint-off", r"(?:golangci|pre-commit|codecov).*$", r"^\s*(?:disable|disable-all|exclude|skip-files|exclude-dirs|informational|issues-exit-code)\s*:", False),
    ("lint-off", r"(?:toml|cfg|ini|pylintrc|flake8)$", r"^\s*[\"']?[A-Z]{1,4}\d{2,4}[\"']?,|^\s*[\"'][a-z-]+[\"'],?\s*(?:#.*)?$|filterwarnings|ignore::", False),
    ("timeout", r"", r"\b(?:timeout|timeout-minutes|testTimeout)[\"']?\s*[:=]\s*\d+", False),
    ("retry", r"", r"--reruns\b|reruns\s*=|\bretries\s*:\s*[1-9]|retryTimes|--flake-finder|--retries\b|flaky", False),
)  # fmt: skip

_NUMBERS: tuple[str, ...] = (
    r"fail[_-]under\s*[=:]?\s*[\"']?(?P<n>\d+(?:\.\d+)?)",
    r"--cov-fail-under[= ](?P<n>\d+(?:\.\d+)?)",
    r"--fail-under[= ](?P<n>\d+(?:\.\d+)?)",
    r"[\"']?(?:branches|functions|lines|statements)[\"']?\s*:\s*(?P<n>\d+(?:\.\d+)?)",
    r"--(?:branches|functions|lines|statements|check-coverage)[= ](?P<n>\d+)",
    r"minimum_coverage\D{0,20}(?P<n>\d+(?:\.\d+)?)",
    r"^\s*(?:target|threshold_min|min_coverage|COVERAGE_MIN\w*|MIN_COVERAGE|minimum)\s*[:?]?=?:?\s*[\"']?(?P<n>\d+(?:\.\d+)?)",
    r"<minimum>(?P<n>\d*\.?\d+)",
    r"minimum\s*=\s*[\"']?(?P<n>\d*\.\d+)",
    r"-covermin[= ](?P<n>\d+)",
    r"(?:fail-under|min-score|score)\s*=\s*(?P<n>\d+(?:\.\d+)?)",
    r"coverage\D{0,30}-(?:lt|ge|le|gt)\s+(?P<n>\d+)",
    r"mutation\w*[_-]?(?:score|threshold)\D{0,6}(?P<n>\d+)",
)
"""Numbers that must not get smaller."""

_HOOKS = re.compile(
    r"\.outcome\s*=|\.passed\s*=|\.exitstatus\s*=|session\.testsfailed\s*=|testsfailed\s*=\s*0|exitstatus\s*=\s*0|force_result\("
    r"|\.excinfo\s*=\s*None|os\._exit\(|sys\.exit\(0\)|pytest\.exit\(|items\[:\]\s*=|items\.clear\(\)|del items\b|items\.pop|items\.remove"
    r"|\.longrepr\s*=|\.wasxfail\s*=|session\.exitstatus|SystemExit\(0\)|atexit\.register|TestReport\.|_pytest\.|runtestprotocol\s*="
    r"|\.failed\s*=\s*False|\.obj\s*=|\.runtest\s*=|sys\.excepthook\s*=|sys\.settrace|config\.hook\.\w+\s*=|hookwrapper\w*\s*=\s*None"
    r"|\.stats(?:\.pop|\[[\"'](?:failed|error)[\"']\]\s*=)|builtins\.|call\.excinfo"
)
_WHOLE = re.compile(
    r"def pytest_(?:runtest_protocol|pyfunc_call|runtest_call|ignore_collect|collect_file|pycollect_makeitem|runtest_makereport"
    r"|report_teststatus|assertrepr_compare|runtestloop)\b"
)
_MARKS = re.compile(r"add_marker\(.*(?:skip|xfail)|request\.applymarker\(|pytest\.skip\(|unittest\.skip")
_MAKE_TARGET = re.compile(
    r"^(?:test|check|tests|unit|lint|coverage)[\w-]*:(?!=)[^\n]*\n(?P<body>(?:\t[^\n]*\n?)*)", re.MULTILINE
)


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
        for kind, files, pattern, fails in _ROWS:
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
            if kind == "selection" and "collect_ignore" in text and text[:1].isspace():
                fails = False  # below a condition
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
    for key in ("testpaths", "python_files", "python_functions", "python_classes", "testMatch", "roots"):
        pattern = re.compile(
            rf"^\s*[\"']?{key}[\"']?\s*[=:]\s*(?P<value>[^\n]*(?:\n\s+[^\n=:]+)*)", re.MULTILINE
        )
        old, new = pattern.search(file.old), pattern.search(file.new)
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
    for pattern in _NUMBERS:
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
    if name in ("sitecustomize.py", "usercustomize.py") or name.endswith(".pth"):
        if file.added:
            yield make_sign("runner", file.path, 0, "code that runs at each start of Python", fails=not asked)
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
            runs = re.compile(_RUNS_TESTS)
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
            if re.search(r"(?:run|script)\s*:|^\s*-", text) and re.search(_RUNS_TESTS, text)
        ]
        came = [text for _, text in file.added if re.search(_RUNS_TESTS, text)]
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
        if match := _HOOKS.search(text):
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
        elif match := _WHOLE.search(text):
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
        elif _MARKS.search(text) and not _MARKS.search(file.old):
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
    old = {match[0].partition(":")[0]: match["body"] for match in _MAKE_TARGET.finditer(file.old)}
    for match in _MAKE_TARGET.finditer(file.new):
        name = match[0].partition(":")[0]
        before = old.get(name)
        runs = re.compile(_RUNS_TESTS + r"|\$\(MAKE\)|\$\(\w*(?:TEST|PY)\w*\)|\./\w+")
        if before and runs.search(before) and match["body"] != before and not runs.search(match["body"]):
            line = file.new.count("\n", 0, match.start()) + 1
            if match["body"].strip():
                yield make_sign(
                    "runner", file.path, line, f"the target {name!r} no longer runs tests", fails=True
                )
