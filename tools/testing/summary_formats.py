"""Summaries that test runners print: one table of what each says at its end, at its start and of an empty run."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily
from tools.testing.summary_format import SummaryFormat

FORMATS = (
    SummaryFormat(
        name="cargo",
        summary=r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
        failing=r"^test (\S+) \.\.\. FAILED$",
        start=r"^running \d+ tests?$",
    ),
    SummaryFormat(
        name="nextest",
        summary=r"^ *Summary \[[^\]]*\] +\d+ tests? run: .+",
        failing=r"^ *FAIL \[[^\]]*\] +(?:\(\S+\) +)?(\S+ \S+)$",
        start=r"^ *Nextest run ID ",
    ),
    SummaryFormat(
        name="vitest",
        summary=r"^ +Tests +\d+ (?:failed|passed|skipped|todo)\b[^\n(]*\(\d+\)$",
        failing=r"^\s*FAIL +(\S+ > .+)$",
        start=r"^ RUN +v\d",
    ),
    SummaryFormat(
        name="jest",
        summary=r"^\s*Tests:? +\d+ (?:failed|skipped|todo|passed|total|incomplete|pending|risky|warnings?|deprecated)\b"
        r"[^\n]*",
        failing=r"^\s+● (.+ › .+)$",
        lost=r'^ +● +process\.exit called with "0"',
    ),
    SummaryFormat(
        name="mocha",
        summary=r"^\s+(?P<passed>\d+) passing \([^)]*\)(?:\n\s+(?P<skipped>\d+) pending)?"
        r"(?:\n\s+(?P<failed>\d+) failing)?",
        failing=r"^\s+\d+\) (.+):?$",
    ),
    SummaryFormat(
        name="surefire",
        summary=r"^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+),"
        r" Skipped: (?P<skipped>\d+)\s*$",
        failing=r"^\[ERROR\]\s+(\S+)(?:  <<<|:\d+)",
    ),
    SummaryFormat(
        name="node",
        summary=r"^[#ℹ] pass (?P<passed>\d+)\n[#ℹ] fail (?P<failed>\d+)\n"
        r"[#ℹ] cancelled (?P<errors>\d+)\n[#ℹ] skipped (?P<skipped>\d+)(?:\n[#ℹ] todo (?P<todo>\d+))?",
        failing=r"^not ok \d+ - ([^\n#]+)$",
    ),
    SummaryFormat(
        name="tap",
        summary=r"^# \{ total: (?P<total>\d+)(?:, pass: (?P<passed>\d+))?(?:, fail: (?P<failed>\d+))?"
        r"(?:, todo: (?P<todo>\d+))?(?:, skip: (?P<skipped>\d+))? \}$",
        failing=r"^ {4}not ok \d+ - (.+?)(?: # time=.*)?$",
    ),
    SummaryFormat(
        name="ava",
        summary=r"^  (?P<passed>\d+) tests? passed$|^  (?P<failed>\d+) tests? failed$"
        r"|^  (?P<skipped>\d+) tests? skipped$|^  (?P<todo>\d+) tests? todo$"
        r"|^  (?P<errors>\d+) (?:uncaught exceptions?|unhandled rejections?)$",
        failing=r"^  (?P<name>(?!(?:Unhandled|Uncaught) \w+ in )\S.*)\n\n  (?P<file>\S+\.[cm]?[jt]sx?):\d+$",
        passing=r"^  ✔ (.+)",
    ),
    SummaryFormat(
        name="uvu",
        summary=r"^  Total: +(?P<total>\d+)\s*\n  Passed: +(?P<passed>\d+)\s*\n  Skipped: +(?P<skipped>\d+)",
        rest="failed",
        failing=r'^ *FAIL +"(.+)"\s*$',
    ),
    SummaryFormat(
        name="playwright",
        summary=r"^  \d+ passed \([\d.]+m?s\)$|^  \d+ (?:failed|skipped|flaky|did not run)$",
        failing=r"^  +\d+\) (?:\[\w+\] › )?(\S+ › .+?) *─*$",
        start=r"^Running \d+ tests? using \d+ workers?$",
    ),
    SummaryFormat(
        name="bun",
        summary=r"^ \d+ (?:pass|fail|skip|todo|errors?)$",
        failing=r"^\(fail\) (.+?)(?: \[[\d.]+ ?\w+\])?$",
        place=r"^(\S+\.[cm]?[jt]sx?):$",
        start=r"^bun test v\d",
        end=r"^Ran \d+ tests? across \d+ files?",
    ),
    SummaryFormat(
        name="deno",
        summary=r"^(?:ok|FAILED) \| \d+ passed(?: \([^)]*\))? \| [^\n]*",
        failing=r"^(\S.*?) \.\.\. FAILED\b",
        place=r"^running \d+ tests? from (?:\./)?(\S+)",
        start=r"^running \d+ tests? from \S",
        has_many_starts=True,
        lost=r"^note \S+ called `Deno\.exit\(\d+\)` from outside any test\.",
    ),
    SummaryFormat(
        name="rspec",
        summary=r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"
        r"(?:, (?P<errors>\d+) errors? occurred outside of examples)?",
        failing=r"^rspec (\S+)",
    ),
    SummaryFormat(
        name="phpunit",
        summary=r"^Tests: \d+, Assertions: \d+[^\n]*|^OK \((?P<passed>\d+) tests?, \d+ assertions?\)",
        is_word_first=True,
        failing=r"^\d+\) (\S+::\S+)",
        unrun=r"^No tests found in class ",
        start=r"^PHPUnit \d+\.\d+\S* by ",
        end=r"^Tests: \d+, |^OK \(\d+ test|^No tests executed!|^Usage:",
    ),
    SummaryFormat(
        name="ctest",
        summary=r"^\d+% tests passed(?:, (?P<failed>\d+) tests? failed)? out of (?P<total>\d+)",
        failing=r"^\s*\d+ - (.+?) \((?!Skipped|Disabled)[A-Z][\w ]*\)",
        unrun=r"^\s*\d+ - .+ \(Skipped\)\s*$",
    ),
    SummaryFormat(
        name="behave",
        summary=r"^(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed(?:, (?P<errors>\d+) error)?"
        r"(?:, (?P<skipped>\d+) skipped)?(?:, (?P<untested>\d+) untested)?",
        failing=r"^  (\S+\.feature:\d+)\b",
        start=r"^Feature: .*# \S+\.feature:\d+$",
        end=r"^\d+ scenarios? (?:passed, |\()",
        has_many_starts=True,
    ),
    SummaryFormat(
        name="cucumber",
        summary=r"^\d+ scenarios? \([^)]*\)$",
        failing=r"^\d+\) Scenario: .* # (\S+\.feature:\d+)$",
    ),
    SummaryFormat(
        name="robot",
        summary=r"^(?P<tests>\d+) tests?, (?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?"
        r"(?=\n=+\n(?:Debug|Output|XUnit|Log|Report): )",
        failing=r"^(\S.*?) +\| FAIL \|\n(?!\d+ tests?, |Suite (?:setup|teardown) failed)",
        start=r"^\S.{60,}\| (?:PASS|FAIL|SKIP) \|$",
        has_many_starts=True,
    ),
    SummaryFormat(
        name="tcltest",
        summary=r"^\S+:\tTotal\t\d+\tPassed\t\d+\tSkipped\t\d+\tFailed\t\d+",
        is_word_first=True,
        failing=r"^==== (.+?) FAILED$(?=\n\n)",
        start=r"^Tests began at ",
        end=r"^Tests ended at ",
    ),
    SummaryFormat(
        name="googletest",
        summary=r"^\[  PASSED  \] (?P<passed>\d+) tests?(?:\(s\))?\.|"
        r"^\[  FAILED  \] (?:\w+: )?(?P<failed>\d+) tests?(?:\(s\))?, listed|"
        r"^\[  SKIPPED \] (?:\w+: )?(?P<skipped>\d+) tests?(?:\(s\))?, listed",
        failing=r"^\[  FAILED  \] ([^\s:]+)(?:, where .*| \(\d+ ms\))?$",
        start=r"^\[==========\] (?:\S+: )?Running \d+ test",
        end=r"^\[==========\] .*(?:ran\.|run\.|ran in |total\))",
    ),
    SummaryFormat(
        name="catch2",
        summary=r"^(?:\[doctest\] )?test cases: +\d+ \| .*"
        r"|^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)",
    ),
    SummaryFormat(
        name="boost",
        summary=r"^\*\*\* (?P<failed>\d+) failures? (?:is|are) detected in the test module",
    ),
    SummaryFormat(
        name="meson",
        failing=r"^ *\d+/\d+ (\S.*?) +(?:FAIL|TIMEOUT|ERROR) +[\d.]+ ?s\b",
        summary=r"^Ok: +(?P<passed>\d+)\s*\n(?:Expected Fail: .*\n)?Fail: +(?P<failed>\d+)\s*\n"
        r"(?:Unexpected Pass: .*\n)?"
        r"(?:Skipped: +(?P<skipped>\d+)\s*\n)?(?:Timeout: +(?P<errors>\d+))?",
    ),
    SummaryFormat(
        name="minitest",
        summary=r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors[^\n]*",
        start=r"^Run options: .*--seed ",
    ),
    SummaryFormat(
        name="exunit",
        summary=r"^(?:\d+ doctests?, )?\d+ tests?, \d+ failures?(?:, \d+ \w+)*(?: \(.*\))?$",
        failing=r"^ +\d+\) test (.+) \(\S+\)$",
    ),
    SummaryFormat(
        name="eunit",
        summary=r"^ +Failed: \d+\. +Skipped: \d+\. +Passed: \d+\.|^  (?P<passed>\d+) tests passed\.$",
        is_word_first=True,
    ),
    SummaryFormat(name="busted", summary=r"^\d+ success(?:es)? / \d+ failures? / \d+ errors? / \d+ pending"),
    SummaryFormat(
        name="dotnet",
        summary=r"^(?:Passed|Failed|Skipped)! +- +Failed: +\d+, Passed: +\d+, Skipped: +\d+, Total: +\d+",
        is_word_first=True,
    ),
    SummaryFormat(name="testthat", summary=r"^\[ FAIL \d+ \| WARN \d+ \| SKIP \d+ \| PASS \d+ \]$", is_word_first=True),
    SummaryFormat(
        name="tasty, zig, eunit, plunit's success",
        summary=r"^ *(?:% )?All (?P<passed>\d+) tests passed\b|^(?P<failed>\d+) out of (?P<total>\d+) tests failed",
    ),
    SummaryFormat(
        name="plunit", summary=r"^% (?P<failed>\d+) tests? failed\b|^% (?P<passed>\d+) tests? passed\b"
    ),
    SummaryFormat(
        name="octave", summary=r"^PASSES (?P<passed>\d+) out of (?P<total>\d+) tests?\b", rest="failed"
    ),
    SummaryFormat(
        name="srfi-64",
        summary=r"^# of (?:expected passes|unexpected successes) +(?P<passed>\d+)$"
        r"|^# of unexpected failures +(?P<failed>\d+)$|^# of (?:skipped tests|expected failures) +(?P<skipped>\d+)$",
    ),
    SummaryFormat(name="gotestsum", summary=r"^DONE (?:\d+ runs, )?\d+ tests?(?:, \d+ \w+)* in "),
    SummaryFormat(name="jasmine", summary=r"^\d+ specs?, \d+ failures?(?:, \d+ pending specs?)?$"),
    SummaryFormat(
        name="lab",
        summary=r"^(?P<passed>\d+) tests? complete(?: \((?P<skipped>\d+) skipped\))?$"
        r"|^(?P<failed>\d+) of (?P<total>\d+) tests? failed\b",
        failing=r"^  \d+\) (.+):$",
    ),
    SummaryFormat(
        name="mamba",
        summary=r"^(?P<passed>\d+) examples? ran(?: \((?P<skipped>\d+) pending\))? in [\d.]+ seconds"
        r"|^(?P<failed>\d+) examples? failed of (?P<total>\d+) ran\b",
        failing=r"^  \d+\) (.+)$",
    ),
    SummaryFormat(
        name="lit",
        summary=r"^  (?:Passed *: (?P<passed>\d+)|Failed *: (?P<failed>\d+)"
        r"|(?:Unsupported|Skipped|Excluded|Expectedly Failed) *: (?P<skipped>\d+)"
        r"|(?:Unresolved|Timed Out|Unexpectedly Passed) *: (?P<errors>\d+)) \([\d.]+%\)$",
        failing=r"^FAIL: (\S.* :: .+?) \(\d+ of \d+\)$",
    ),
    SummaryFormat(
        name="check",
        summary=r"^\d+%: Checks: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)$",
        failing=r"^\S+:\d+:[FE]:[^:]+:([^:]+):\d+: ",
        start=r"^Running suite\(s\): ",
    ),
    SummaryFormat(
        name="cpputest",
        summary=r"^OK \(\d+ tests, (?P<passed>\d+) ran, \d+ checks, (?P<skipped>\d+) ignored\b"
        r"|^Errors \((?:(?P<failed>\d+) failures|ran nothing), \d+ tests, (?P<total>\d+) ran, \d+ checks,"
        r" (?P<ignored>\d+)",
        failing=r"^\S+:\d+: error: Failure in TEST\((.+)\)$",
    ),
    SummaryFormat(name="luaunit", summary=r"^Ran \d+ tests in [\d.]+ seconds, [^\n]*"),
    SummaryFormat(
        name="swift",
        summary=r"^Test Suite '(?:All|Selected) tests' .*\n"
        r"[\t ]*Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?"
        r"(?P<failed>\d+) failures?\b",
    ),
    SummaryFormat(
        name="alcotest",
        summary=r"^Test Successful in [\d.]+s\. (?P<passed>\d+) tests? run\."
        r"|^(?P<failed>\d+) failures?! in [\d.]+s\. (?P<total>\d+) tests? run\.",
    ),
)  # fmt: skip

NOTHING_RAN = compile_lazily(
    r"^(?:No tests were found!!!|No tests executed!|No tests? (?:files? )?found\b.*|error: No test modules found"
    r"|No test files found, exiting.*"
    r"|Error: No tests found\b.*|\s*✘ No tests found in .*|No examples found\."
    r"|0 scenarios|No tests defined\.|  There were no tests to run\.|% No tests to run"
    r"|nox > (?:No sessions selected\b.*|Session \S+ skipped\b.*)|\s+[\w.-]+: SKIP\b.*|\d+ test steps? in 0 .*"
    r"|\s*NX +No tasks were run|No projects matched the filters\b.*|No projects found in .*"
    r"|No tasks were executed as part of this run\.|\s*Tasks: +0 successful, 0 total"
    r"|lerna (?:info|notice|success)? *run +No packages found with .*|lerna info No packages found\b.*"
    r"|No tasks found for provided targets.*|None of the selected packages has an? \S+ script"
    r"|\? *\t\S+\t\[no test files\]|ok  \t\S+\t\S+ \[no tests to run\]|testing: warning: no tests to run)\s*$",
    re.M,
)
"""Lines by which runners say that they ran no test, while many of them end with exit 0."""
