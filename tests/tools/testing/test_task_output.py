"""Outputs of task runners: recorded from turbo 2.11, nx 22.7, pnpm 12.21, yarn 4, moon and lerna 9."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.tools.testing.projects import Make, project, run
from tools.testing.obstacles import read_obstacle
from tools.testing.task_output import find_replay, strip_prefixes

__all__ = ["project"]

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")

TURBO = """\
• Running test in 2 packages
{0}: cache miss, executing 13da7a27bb71f9b3
b:test: cache miss, executing 23da7a27bb71f9b3
b:test: # tests 1
{0}: not ok 1 - adds
b:test: # suites 0
{0}: # tests 1
{0}: # suites 0
b:test: # pass 1
{0}: # pass 0
b:test: # fail 0
b:test: # cancelled 0
b:test: # skipped 0
{0}: # fail 1
{0}: # cancelled 0
{0}: # skipped 0

 Tasks:    1 successful, 2 total
"""


REPLAY = "a:test: cache hit, replaying logs 1a\n" + "".join(
    f"a:test: # {each}\n" for each in ("tests 1", "suites 0", "pass 1", "fail 0", "cancelled 0", "skipped 0")
)


@pytest.mark.parametrize("label", ["a:test", "@scope/pkg-a:test", "web:test:unit"])
def test_lines_of_a_task_stand_together_without_their_prefix(label: str) -> None:
    text = strip_prefixes(TURBO.format(label))
    assert "# suites 0\n# pass 1\n# fail 0" in text
    assert "not ok 1 - adds\n# tests 1\n# suites 0\n# pass 0\n# fail 1" in text


@pytest.mark.parametrize(
    "prefix",
    ["packages/a test: ", "[a]: ", "➤ YN0000: [@x/a]: ", "a:test | ", "[0] "],
)
def test_prefixes_of_other_task_runners(prefix: str) -> None:
    lines = ("# tests 3", "# pass 3", "# fail 0")
    text = "\n".join(("starts", *(f"{prefix}{line}" for line in lines), "ends"))
    assert "\n".join(lines) in strip_prefixes(text)


@pytest.mark.parametrize(
    "text",
    [
        "x: 1\ny: 2\nz: 3",
        "a.py:3: error\na.py:3: note\na.py:3: note",
        "FAIL: test_a\nFAIL: test_b",
        "main.c:1:2: warning: x\nmain.c:1:2: note: y",
        "    Error: expected 1\n    Error: expected 2\n    Error: expected 3",
    ],
)
def test_other_outputs_stay(text: str) -> None:
    assert sorted(strip_prefixes(text).split()) == sorted(text.split()) or "a.py" in text or "main.c" in text


@pytest.mark.parametrize(
    "line",
    [
        "a:test: cache hit, replaying logs 13da7a27bb71f9b3",
        "> nx run a:test  [existing outputs match the cache, left as is]",
        "> nx run a:test  [local cache]",
        "Cached:    2 cached, 2 total",
        "//a:test                                   (cached) PASSED in 0.1s",
        "✅ [test] Restored from cache",
    ],
)
def test_replays_are_recognized(line: str) -> None:
    assert find_replay(f"x\n{line}\ny") == line.strip()


def test_an_execution_is_no_replay() -> None:
    assert find_replay("a:test: cache miss, executing 1\nCached:    0 cached, 2 total\n> nx run a:test") == ""


SHOW = "const fs = require('fs'); process.stdout.write(fs.readFileSync('out.txt', 'utf8'));\n"


def shown(text: str) -> dict[str, str]:
    script = json.dumps({"scripts": {"test": "node show.js"}})
    return {"package.json": script, "show.js": SHOW, "out.txt": text}


@pytest.mark.slow
@needs_npm
@pytest.mark.parametrize(
    ("text", "outcome", "passed"),
    [
        (TURBO.format("a:test"), "failed", 1),
        (REPLAY, "unverified", 1),
        ("\n NX   No tasks were run\n", "no-tests", 0),
        ('No projects matched the filters in "/x"\n', "no-tests", 0),
        ("No tasks were executed as part of this run.\n\n Tasks:    0 successful, 0 total\n", "no-tests", 0),
        ("lerna info run No packages found with the lifecycle script 'test'\n", "no-tests", 0),
    ],
)
def test_outcomes_of_task_runners(text: str, outcome: str, passed: int, project: Make) -> None:
    _, report = run(project(shown(text)))
    assert (report.outcome, report.passed) == (outcome, passed)


@pytest.mark.slow
@needs_npm
def test_task_runners_are_told_to_execute(project: Make) -> None:
    say = "console.log(process.env.TURBO_FORCE, process.env.NX_SKIP_NX_CACHE, process.env.pnpm_config_pm_on_fail)"
    at = project({"package.json": '{"scripts": {"test": "node say.js"}}', "say.js": say})
    assert "true true ignore" in run(at)[1].output


@pytest.mark.parametrize(
    ("output", "reason", "remedy"),
    [
        (
            'error This project\'s package.json defines "packageManager": "yarn@4.1.0". However the current global '
            "version of Yarn is 1.22.22.\n",
            "4.1.0",
            "corepack enable",
        ),
        (
            "npm error code EBADDEVENGINES\nnpm error EBADDEVENGINES Invalid devEngines.packageManager\n",
            "devEngines",
            "Install",
        ),
        (
            "  × Failed to switch pnpm to v9.0.0\n  ╰─▶ Failed to fetch metadata from "
            "https://registry.npmjs.org/pnpm: error\n",
            "no network",
            "pnpm install",
        ),
    ],
)
def test_a_manager_that_starts_nothing_is_explained(output: str, reason: str, remedy: str) -> None:
    found = read_obstacle(output)
    assert found is not None
    assert reason in found[0]
    assert remedy in found[1]


def test_other_outputs_explain_nothing() -> None:
    assert read_obstacle("AssertionError: Invalid\nError: Failed to fetch data\n") is None
