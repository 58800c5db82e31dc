"""Patterns of configuration that keeps failures from being seen, one row for each way."""
# ruff: noqa: E501 - a pattern is read as one line

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily
from tools.lint.honesty.signs import Kind

RUNS_TESTS = (
    r"(?:pytest|py\.test|unittest|tox|nox|nose\w*|npm (?:run )?test|yarn (?:run )?test|pnpm (?:run )?test|jest|vitest|mocha"
    r"|go test|go vet|cargo test|mvn|gradle\w*|rspec|rake(?: test)?|make (?:test|check|lint)|ruff|flake8|mypy|eslint|tsc"
    r"|coverage|karma|ava|playwright|cypress|golangci-lint|bundle exec|phpunit|dotnet test|ctest|run_?tests?\w*)"
)

ROWS: tuple[tuple[Kind, str, str, bool], ...] = (
    # kind, files, what a new line shows, whether it is a failure
    ("selection", r"", r"(?:addopts|pytest|PYTEST_ADDOPTS)[^#\n]*(?:\s|=|\"|')(?:-k|--ignore(?:-glob)?|--deselect|--lf|--last-failed|--co\b|--collect-only|--maxfail|--stepwise)(?:[=\s\"'\],]|$)", True),
    ("selection", r"", r"(?:addopts|pytest)\b[^#\n]*\s-m[= ]?\s*[\"']?not\b", True),
    ("selection", r"(?:ini|cfg|toml)$", r"^\s*[\"']?(?:-k|--ignore(?:-glob)?[= ](?![\"']?[A-Z]{1,3}\d)|--deselect[= ]|--collect-only|--lf\b)", True),
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
    ("runner", r"(?:[Mm]akefile|justfile|tox\.ini|noxfile\.py|\.sh|Rakefile|setup\.cfg)$", RUNS_TESTS + r"[^\n]*(?:\|\|\s*(?:true|:|exit 0|echo)|;\s*(?:true|exit 0|:)\s*$|\|\s*(?:cat|tee)\b)", True),
    ("runner", r"(?:[Mm]akefile|tox\.ini)$", r"^\s*-\s*@?(?:\S+\s+(?:-m\s+)?)?" + RUNS_TESTS, True),
    ("runner", r"tox\.ini$", r"^\s*ignore_(?:outcome|errors)\s*=\s*(?:true|True|1)", True),
    ("runner", r"noxfile\.py$", r"success_codes\s*=.*\b1\b|range\(", True),
    ("runner", r"\.sh$", r"^\s*(?:set \+e|exit 0|trap .*exit 0.*EXIT|trap ['\"]?exit 0)", True),
    ("runner", r"[Mm]akefile$", r"^\s*(?:\.IGNORE\s*:|SHELL\s*[:?]?=.*true|MAKEFLAGS\s*\+?=.*(?:-i|-k|--ignore))", True),
    ("threshold", r"", r"^\s*(?:#|//)\s*[\"']?(?:fail_under|--cov-fail-under|coverageThreshold|minimum_coverage)", True),
    ("ci", r"(?:ya?ml|Jenkinsfile)$", r"^\s*-?\s*(?:run|script|command)?:?[^\n]*" + RUNS_TESTS + r"[^\n]*(?:\|\|\s*(?:true|:|exit 0|echo)|;\s*(?:true|exit 0)\s*$|\|\s*tee\b)", True),
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

NUMBERS: tuple[str, ...] = (
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

HOOKS = compile_lazily(
    r"\.outcome\s*=|\.passed\s*=|\.exitstatus\s*=|session\.testsfailed\s*=|testsfailed\s*=\s*0|exitstatus\s*=\s*0|force_result\("
    r"|\.excinfo\s*=\s*None|os\._exit\(|sys\.exit\(0\)|pytest\.exit\(|items\[:\]\s*=|items\.clear\(\)|del items\b|items\.pop|items\.remove"
    r"|\.longrepr\s*=|\.wasxfail\s*=|session\.exitstatus|SystemExit\(0\)|atexit\.register|TestReport\.|_pytest\.|runtestprotocol\s*="
    r"|\.failed\s*=\s*False|\.obj\s*=|\.runtest\s*=|sys\.excepthook\s*=|sys\.settrace|config\.hook\.\w+\s*=|hookwrapper\w*\s*=\s*None"
    r"|\.stats(?:\.pop|\[[\"'](?:failed|error)[\"']\]\s*=)|builtins\.|call\.excinfo"
)
WHOLE = compile_lazily(
    r"def pytest_(?:runtest_protocol|pyfunc_call|runtest_call|ignore_collect|collect_file|pycollect_makeitem|runtest_makereport"
    r"|report_teststatus|assertrepr_compare|runtestloop)\b"
)
MARKS = compile_lazily(r"add_marker\(.*(?:skip|xfail)|request\.applymarker\(|pytest\.skip\(|unittest\.skip")
MAKE_TARGET = compile_lazily(
    r"^(?:test|check|tests|unit|lint|coverage)[\w-]*:(?!=)[^\n]*\n(?P<body>(?:\t[^\n]*\n?)*)", re.MULTILINE
)
