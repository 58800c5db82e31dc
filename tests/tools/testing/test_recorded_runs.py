"""Outcomes of recorded runs of real runners, whose versions are in the names of the folders.

Each recording is the output of a small project; its first line is the command and the exit status.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox.process.command import Capture, Completed
from tests.tools.workspaces import put
from tools.testing import output_parsers
from tools.testing.launch import FinishedRun, Launch
from tools.testing.report import Outcome
from tools.testing.suite_run import judge_outcome

RECORDED = Path(__file__).parent / "recorded"

# the outcome; passed, failed, errors, skipped; names of failing tests
EXPECTED: list[tuple[str, Outcome, tuple[int, int, int, int], list[str]]] = [
    ("ava-7.0.0/fail", "failed", (1, 1, 0, 0), ["test.js › bad"]),
    ("ava-7.0.0/lost", "failed", (1, 0, 0, 0), []),
    ("ava-7.0.0/none", "no-tests", (0, 0, 0, 0), []),
    ("ava-7.0.0/pass-tap", "passed", (1, 0, 0, 2), []),
    ("ava-7.0.0/pass", "passed", (1, 0, 0, 2), []),
    ("ava-7.0.0/skipped", "no-tests", (0, 0, 0, 1), []),
    ("bats-1.13.0/fail", "failed", (1, 1, 0, 0), ["bad"]),
    ("bats-1.13.0/lost", "failed", (1, 2, 0, 0), ["two", "bad"]),
    ("bats-1.13.0/none", "no-tests", (0, 0, 0, 0), []),
    ("bats-1.13.0/pass", "passed", (1, 0, 0, 1), []),
    ("behave-1.3.3/fail", "failed", (1, 1, 0, 0), ["features/a.feature:4"]),
    ("behave-1.3.3/lost", "broken", (0, 0, 0, 0), []),
    ("behave-1.3.3/none", "no-tests", (0, 0, 0, 0), []),
    ("behave-1.3.3/pass", "passed", (1, 0, 0, 0), []),
    ("behave-1.3.3/skipped", "no-tests", (0, 0, 0, 1), []),
    ("bun-1.4.5/fail", "failed", (1, 1, 0, 0), ["a.test.js › bad"]),
    ("bun-1.4.5/lost", "broken", (0, 0, 0, 0), []),
    ("bun-1.4.5/none", "no-tests", (0, 0, 0, 0), []),
    ("bun-1.4.5/pass", "passed", (1, 0, 0, 1), []),
    ("cargo-1.95.0/lost-in-one", "broken", (1, 0, 0, 0), []),
    ("cargo-1.95.0/lost", "broken", (0, 0, 0, 0), []),
    ("cargo-1.95.0/none", "no-tests", (0, 0, 0, 0), []),
    ("ctest-3.25.1/fail", "failed", (1, 1, 0, 0), ["b"]),
    ("ctest-3.25.1/none", "no-tests", (0, 0, 0, 0), []),
    ("ctest-3.25.1/pass", "passed", (1, 0, 0, 1), []),
    ("ctest-3.25.1/skipped", "no-tests", (0, 0, 0, 1), []),
    ("deno-2.9.6/fail", "failed", (1, 1, 0, 0), ["a_test.ts › bad"]),
    ("deno-2.9.6/lost", "failed", (1, 2, 0, 0), ["a_test.ts › two", "a_test.ts › bad"]),
    ("deno-2.9.6/none", "no-tests", (0, 0, 0, 0), []),
    ("deno-2.9.6/pass", "passed", (1, 0, 0, 1), []),
    ("deno-2.9.6/skipped", "no-tests", (0, 0, 0, 1), []),
    ("jest-30.5.2/lost", "broken", (0, 0, 0, 0), []),
    ("jest-30.5.2/pass", "passed", (1, 0, 0, 2), []),
    ("jest-30.5.2/skipped", "no-tests", (0, 0, 0, 2), []),
    ("mocha-12.0.3/lost", "unverified", (0, 0, 0, 0), []),
    ("mocha-12.0.3/none", "no-tests", (0, 0, 0, 0), []),
    ("mocha-12.0.3/pass", "passed", (1, 0, 0, 1), []),
    ("mocha-12.0.3/skipped", "no-tests", (0, 0, 0, 1), []),
    ("node-20.20.2-plain/lost", "unverified", (0, 0, 0, 0), []),
    ("node-20.20.2-plain/pass", "passed", (1, 0, 0, 0), []),
    ("node-20.20.2-spec/lost-beside", "broken", (1, 0, 0, 0), []),
    ("node-20.20.2-spec/lost", "broken", (0, 0, 0, 0), []),
    ("node-20.20.2-spec/none", "no-tests", (0, 0, 0, 0), []),
    ("node-20.20.2-spec/todo", "passed", (1, 0, 0, 1), []),
    ("node-20.20.2-tap/lost-beside", "broken", (1, 0, 0, 0), []),
    ("node-20.20.2-tap/lost", "broken", (0, 0, 0, 0), []),
    ("node-20.20.2-tap/none", "no-tests", (0, 0, 0, 0), []),
    ("node-20.20.2-tap/todo", "passed", (1, 0, 0, 1), []),
    ("nose2-0.16.0/lost", "broken", (0, 0, 0, 0), []),
    ("nox-2026.10.20/mixed", "no-tests", (0, 0, 0, 0), []),
    ("nox-2026.10.20/pass", "unverified", (0, 0, 0, 0), []),
    ("nox-2026.10.20/skipped", "no-tests", (0, 0, 0, 0), []),
    ("phpunit-9.6/fail", "failed", (1, 1, 0, 0), ["ATest::testBad"]),
    ("phpunit-9.6/lost", "broken", (0, 0, 0, 0), []),
    ("phpunit-9.6/none", "no-tests", (0, 0, 0, 1), []),
    ("phpunit-9.6/pass", "passed", (1, 0, 0, 0), []),
    ("phpunit-9.6/skipped-beside", "passed", (1, 0, 0, 1), []),
    ("phpunit-9.6/skipped", "no-tests", (0, 0, 0, 1), []),
    ("prove-5.36/fail", "failed", (1, 1, 0, 0), ["t/a.t"]),
    ("prove-5.36/lost", "failed", (1, 0, 0, 0), []),
    ("prove-5.36/none", "no-tests", (0, 0, 0, 0), []),
    ("prove-5.36/pass-v", "passed", (1, 0, 0, 1), []),
    ("prove-5.36/pass", "passed", (2, 0, 0, 0), []),
    ("prove-5.36/skipped", "no-tests", (0, 0, 0, 0), []),
    ("prove-5.36/tap-lost", "broken", (1, 0, 0, 0), []),
    ("pytest-9.2.0/exit-0", "broken", (1, 0, 0, 0), []),
    ("pytest-9.2.0/lost", "broken", (0, 0, 0, 0), []),
    ("robot-7.5/fail-exit-0", "failed", (1, 1, 0, 0), ["Bad"]),
    ("robot-7.5/fail", "failed", (1, 1, 0, 0), ["Bad"]),
    ("robot-7.5/lost", "broken", (0, 0, 0, 0), []),
    ("robot-7.5/pass", "passed", (1, 0, 0, 1), []),
    ("robot-7.5/skipped", "no-tests", (0, 0, 0, 1), []),
    ("rspec-3.12/fail", "failed", (1, 1, 0, 0), ["./spec/a_spec.rb:3"]),
    ("rspec-3.12/lost-hard", "unverified", (0, 0, 0, 0), []),
    ("rspec-3.12/lost", "passed", (2, 0, 0, 0), []),
    ("rspec-3.12/none", "no-tests", (0, 0, 0, 0), []),
    ("rspec-3.12/pass", "passed", (1, 0, 0, 1), []),
    ("tap-21.8.0/fail", "failed", (1, 1, 0, 0), ["bad"]),
    ("tap-21.8.0/lost", "failed", (1, 1, 0, 0), []),
    ("tap-21.8.0/none", "no-tests", (0, 0, 0, 1), []),
    ("tap-21.8.0/pass-tap", "passed", (1, 0, 0, 1), []),
    ("tap-21.8.0/pass", "passed", (1, 0, 0, 1), []),
    (
        "tape-5.10.2/lost",
        "failed",
        (1, 2, 0, 0),
        ["test exited without ending: two", "test exited without ending: bad"],
    ),
    ("tape-5.10.2/pass", "passed", (1, 0, 0, 0), []),
    ("tcltest-2.5/all", "failed", (1, 1, 0, 0), ["bad"]),
    ("tcltest-2.5/fail-exit-0", "failed", (1, 1, 0, 0), ["bad"]),
    ("tcltest-2.5/lost", "broken", (0, 0, 0, 0), []),
    ("tcltest-2.5/pass", "passed", (1, 0, 0, 0), []),
    ("unittest-3.11/lost-dots", "unverified", (0, 0, 0, 0), []),
    ("unittest-3.11/lost", "broken", (0, 0, 0, 0), []),
    ("uvu-0.5.6/fail", "failed", (1, 1, 0, 0), ["bad"]),
    ("uvu-0.5.6/lost", "failed", (0, 0, 0, 0), []),
    ("uvu-0.5.6/none", "no-tests", (0, 0, 0, 0), []),
    ("uvu-0.5.6/pass", "passed", (1, 0, 0, 1), []),
    ("vitest-4.1.12/lost", "failed", (1, 2, 0, 0), ["a.test.js > two", "a.test.js > bad"]),
    ("vitest-4.1.12/pass", "passed", (1, 0, 0, 2), []),
    ("vitest-4.1.12/skipped", "no-tests", (0, 0, 0, 1), []),
]

_NODE_TEST = "const test = require('node:test');\ntest('one', () => {});\n"


def _read_recording(name: str, root: Path) -> tuple[int, str]:
    head, _, text = (RECORDED / f"{name}.txt").read_text().partition("\n")
    status = re.search(r"\[exit (\d+)\]$", head)
    assert status
    return int(status[1]), text.replace("/project", str(root))


@pytest.mark.parametrize(
    ("name", "outcome", "counts", "failing"), EXPECTED, ids=[each[0] for each in EXPECTED]
)
def test_a_recorded_run_is_told_as_it_ended(
    name: str, outcome: Outcome, counts: tuple[int, int, int, int], failing: list[str], tmp_path: Path
) -> None:
    text = "console.log('hi');\n" if name.endswith("/none") else _NODE_TEST
    put(tmp_path, {"a.test.js": text, "b.test.js": text})
    status, output = _read_recording(name, tmp_path)
    found = output_parsers.parse_any(
        FinishedRun(
            root=tmp_path,
            returncode=status,
            text=output,
            full_output=None,
            report_folder=tmp_path,
            start_time=0.0,
        )
    )
    launch = Launch(runner="make test", argv=(), command="", parse=output_parsers.parse_any, has_count=False)
    nothing = Capture(head=b"", tail=b"", total=0)
    shown = Capture(head=output.encode(), tail=b"", total=len(output.encode()))
    completed = Completed(
        argv=(), returncode=status, ended="exited", duration=0.1, stdout=shown, stderr=nothing
    )
    assert judge_outcome(found, completed, launch, 1.0)[0] == outcome
    assert (found.passed, found.failed, found.errors, found.skipped) == counts
    assert [each.id for each in found.failures] == failing


def test_every_recording_has_an_expected_outcome() -> None:
    found = {path.relative_to(RECORDED).with_suffix("").as_posix() for path in RECORDED.rglob("*.txt")}
    assert found == {each[0] for each in EXPECTED}


def test_no_lost_empty_or_skipped_run_is_expected_to_pass() -> None:
    unseen = {
        "rspec-3.12/lost"
    }  # its output is that of a complete run; run_tests asks rspec for the number of examples
    told = {name for name, outcome, _, _ in EXPECTED if outcome == "passed"}
    bad = {name for name in told if re.match("lost|none|skipped$|fail", name.partition("/")[2])}
    assert bad == unseen
