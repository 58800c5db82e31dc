"""`run_tests` in projects with more than one suite."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from tests.tools.testing.projects import Make, project, run
from tools.testing.project_files import Project
from tools.testing.report import TestReport, join_reports
from tools.testing.runners import choose_launch, list_suites

__all__ = ["project"]

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")

NODE = {"package.json": '{"name": "shop", "scripts": {"test": "node --test"}}'}
GOOD_SCRIPT = {"a.test.js": "require('node:test')('adds', () => {});\n"}
BAD_SCRIPT = {"a.test.js": "require('node:test')('adds', () => { throw new Error('no'); });\n"}
GOOD_PYTHON = "def test_a():\n    pass\n"
TAP = "test:\n\t@printf '1..1\\nok 1 - whole\\n'\n"
CARGO = {"Cargo.toml": '[package]\nname = "shop"\n'}


@pytest.mark.parametrize(
    ("files", "suites"),
    [
        ({**NODE, "scripts/test_gen.py": GOOD_PYTHON}, ["package.json"]),
        ({**CARGO, "tools/test_data.py": ""}, ["cargo"]),
        ({"Makefile": TAP, "scripts/test_gen.py": GOOD_PYTHON}, ["make test"]),
        ({**NODE, "tests/test_gen.py": GOOD_PYTHON}, ["package.json", "pytest"]),
        (
            {**NODE, "pyproject.toml": '[project]\nname = "shop"\n', "app/test_a.py": ""},
            ["pytest", "package.json"],
        ),
        ({"Makefile": TAP, "test_gen.py": GOOD_PYTHON}, ["pytest", "make test"]),
        ({"Makefile": "test:\n\tpython3 -m pytest\n", "test_gen.py": GOOD_PYTHON}, ["pytest"]),
        ({"Makefile": TAP, "pytest.ini": "[pytest]\n", "test_gen.py": GOOD_PYTHON}, ["pytest"]),
        ({"Makefile": TAP, **CARGO}, ["cargo"]),
        ({**NODE, **CARGO}, ["package.json", "cargo"]),
        ({"bun.lock": "{}", **CARGO}, ["cargo"]),
        ({"deno.json": '{"tasks": {"test": "deno test"}}', **CARGO}, ["deno", "cargo"]),
        ({"package.json": '{"scripts": {"test": "cargo test"}}', **CARGO}, ["cargo"]),
    ],
)
def test_a_manifest_outweighs_a_file_name_and_commands_that_start_another_suite_are_none(
    files: dict[str, str], suites: list[str], project: Make
) -> None:
    assert [runners[0].name for runners in list_suites(Project(project(files)))] == suites


@pytest.mark.slow
@needs_npm
def test_a_stray_python_file_does_not_replace_the_failing_suite_of_the_manifest(project: Make) -> None:
    _, report = run(project({**NODE, **BAD_SCRIPT, "scripts/test_gen.py": GOOD_PYTHON}))
    assert (report.runner, report.outcome, report.failed) == ("node", "failed", 1)
    assert "not run" in report.note
    assert "scripts/test_gen.py" in report.note


@pytest.mark.slow
@needs_npm
@pytest.mark.parametrize(
    ("script", "test", "outcome", "passed", "failed"),
    [
        (GOOD_SCRIPT, GOOD_PYTHON, "passed", 2, 0),
        (BAD_SCRIPT, GOOD_PYTHON, "failed", 1, 1),
        (GOOD_SCRIPT, "def test_a():\n    assert 0\n", "failed", 1, 1),
    ],
)
def test_every_suite_is_run_and_one_that_fails_decides(
    script: dict[str, str], test: str, outcome: str, passed: int, failed: int, project: Make
) -> None:
    files = {
        **NODE,
        **script,
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
        "tests/test_a.py": test,
    }
    _, report = run(project(files))
    assert (report.runner, report.outcome) == ("pytest + node", outcome)
    assert (report.passed, report.failed, report.collected) == (passed, failed, 2)


@pytest.mark.slow
def test_a_suite_that_cannot_be_run_is_said_and_the_others_are_no_pass(
    project: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: str
) -> None:
    at = project({**NODE, **GOOD_SCRIPT, "pytest.ini": "[pytest]\n", "test_a.py": GOOD_PYTHON})
    monkeypatch.setenv("PATH", "/nowhere")
    _, report = run(at)
    assert (report.outcome, report.passed) == ("unverified", 1)
    assert "npm" in report.note


def _report(outcome: str, passed: int = 0) -> TestReport:
    return TestReport(runner="r", command="c", outcome=outcome, passed=passed, collected=passed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcomes", "joined"),
    [
        (("passed", "no-tests"), "passed"),
        (("no-tests", "no-tests"), "no-tests"),
        (("passed", "unverified"), "unverified"),
        (("passed", "broken"), "unverified"),
        (("broken", "passed"), "broken"),
        (("passed", "timeout"), "timeout"),
        (("failed", "passed"), "failed"),
    ],
)
def test_suites_pass_only_together(outcomes: tuple[str, ...], joined: str) -> None:
    report = join_reports([_report(each, passed=int(each == "passed")) for each in outcomes])
    assert report.outcome == joined


@pytest.mark.parametrize(
    ("scripts", "runner", "argv"),
    [
        ({"test": "npm run test:unit", "test:unit": "jest"}, "jest", ("npm", "test", "--", "--", "--json")),
        ({"test": "tsc && yarn unit:all", "unit:all": "jest"}, "jest", ("npm", "test", "--", "--json")),
        ({"test": "tsc && yarn run unit", "unit": "npx jest"}, "jest", ("npm", "test", "--", "--json")),
        ({"test": "npm run unit -- --ci", "unit": "jest"}, "jest", ("npm", "test", "--", "--json")),
        ({"test": "jest && eslint ."}, "npm", ("npm", "test")),
        ({"test": "mocha && jest"}, "npm", ("npm", "test")),
        ({"test": "npm run a", "a": "npm test"}, "npm", ("npm", "test")),
    ],
)
def test_the_test_script_is_followed_to_its_runners(
    scripts: dict[str, str], runner: str, argv: tuple[str, ...], project: Make
) -> None:
    at = project({"package.json": json.dumps({"scripts": scripts})})
    launch = asyncio.run(choose_launch(at, (), at.root))
    assert launch.runner == runner
    assert launch.argv[: len(argv)] == argv
    assert len(launch.argv) == len(argv) + (runner == "jest")


@pytest.mark.slow
@needs_npm
def test_a_failing_first_of_two_runners_is_counted(project: Make) -> None:
    scripts = {"test": "npm run a; node --test b.test.js", "a": "node --test a.test.js"}
    good = {"b.test.js": "require('node:test')('subtracts', () => {});\n"}
    _, report = run(project({"package.json": json.dumps({"scripts": scripts}), **BAD_SCRIPT, **good}))
    assert (report.outcome, report.passed, report.failed) == ("failed", 1, 1)


@pytest.mark.parametrize(
    ("files", "runner", "command"),
    [
        ({"bun.lock": "{}"}, "bun", "bun test a.test.ts"),
        ({"deno.json": "{}"}, "deno", "deno test a.test.ts"),
        ({"deno.jsonc": '{"tasks": {"test": "deno test -A"}}'}, "deno", "deno task test a.test.ts"),
        ({"package.json": '{"scripts": {"test": "ava"}}'}, "ava", "npm test -- a.test.ts"),
        ({"package.json": '{"scripts": {"test": "npx uvu tests"}}'}, "uvu", "npm test -- a.test.ts"),
        ({"package.json": '{"scripts": {"test": "tap run"}}'}, "tap", "npm test -- a.test.ts"),
        (
            {"package.json": '{"scripts": {"test": "bun test"}}', "bun.lock": ""},
            "bun",
            "bun run test a.test.ts",
        ),
    ],
)
def test_more_script_runners_are_known(
    files: dict[str, str], runner: str, command: str, project: Make
) -> None:
    at = project(files)
    launch = asyncio.run(choose_launch(at, ("a.test.ts",), at.root))
    assert (launch.runner, launch.command, launch.has_count) == (runner, command, True)
