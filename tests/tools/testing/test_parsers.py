"""Parsers on recorded outputs of tools that need not be installed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tools.testing import go_cargo, junit, output_parsers, python
from tools.testing.launch import FinishedRun, read_report
from tools.testing.report import Findings


def evidence(text: str, tmp_path: Path, returncode: int = 1) -> FinishedRun:
    return FinishedRun(
        root=Path("/shop"),
        returncode=returncode,
        text=text,
        full_output=None,
        report_folder=tmp_path,
        start_time=0.0,
    )


def counts(found: Findings) -> tuple[int, int, int, int]:
    return found.passed, found.failed, found.errors, found.skipped


GO = [
    {"Action": "start", "Package": "example.com/shop/cart"},
    {"Action": "run", "Package": "example.com/shop/cart", "Test": "TestTotal"},
    {
        "Action": "output",
        "Package": "example.com/shop/cart",
        "Test": "TestTotal",
        "Output": "=== RUN   TestTotal\n",
    },
    {"Action": "run", "Package": "example.com/shop/cart", "Test": "TestTotal/empty"},
    {
        "Action": "output",
        "Package": "example.com/shop/cart",
        "Test": "TestTotal/empty",
        "Output": "    cart_test.go:12: got 1, want 0\n",
    },
    {"Action": "fail", "Package": "example.com/shop/cart", "Test": "TestTotal/empty", "Elapsed": 0},
    {"Action": "pass", "Package": "example.com/shop/cart", "Test": "TestTotal/one", "Elapsed": 0},
    {"Action": "fail", "Package": "example.com/shop/cart", "Test": "TestTotal", "Elapsed": 0},
    {"Action": "skip", "Package": "example.com/shop/cart", "Test": "TestLater", "Elapsed": 0},
    {"Action": "output", "Package": "example.com/shop/cart", "Output": "FAIL\n"},
    {"Action": "fail", "Package": "example.com/shop/cart", "Elapsed": 0.004},
]


def test_go_events_count_leaves_and_place_failures(tmp_path: Path) -> None:
    lines = "\n".join(
        ["go: downloading nothing", *(json.dumps(event) for event in GO), '{"not": "an event"}', "{bad"]
    )
    found = go_cargo.parse_go(evidence(lines, tmp_path), {"example.com/shop": "."})
    assert (counts(found), found.broken) == ((1, 1, 0, 1), "")
    assert [(each.id, each.file, each.line, each.message) for each in found.failures] == [
        ("cart::TestTotal/empty", "cart/cart_test.go", 12, "got 1, want 0")
    ]


def test_a_go_package_that_does_not_build_is_broken(tmp_path: Path) -> None:
    events = [
        {
            "ImportPath": "example.com/shop [example.com/shop.test]",
            "Action": "build-output",
            "Output": "./a.go:3:1: syntax error\n",
        },
        {"Action": "fail", "Package": "example.com/shop", "FailedBuild": "example.com/shop"},
    ]
    found = go_cargo.parse_go(
        evidence("\n".join(map(json.dumps, events)), tmp_path), {"example.com/shop": "."}
    )
    assert found.broken == "1 package did not build or start: example.com/shop"
    assert (found.failures[0].id, found.failures[0].message) == (".", "./a.go:3:1: syntax error")


def test_go_targets_are_packages_and_names() -> None:
    assert go_cargo.split_go_targets(["cart::TestTotal/empty", "TestX", "cart/cart_test.go", "./order"]) == (
        ("./cart", "./order"),
        ("TestTotal/empty", "TestX"),
    )


def test_go_patterns_select_subtests_level_by_level() -> None:
    assert go_cargo.format_go_pattern(["TestA", "TestB"]) == "^(TestA|TestB)$"
    assert go_cargo.format_go_pattern(["TestA/a_(b)?", "TestB"]) == r"^TestA$/^a_\(b\)\?$|^TestB$"


@pytest.mark.parametrize(
    ("output", "expected", "failed"),
    [
        (
            "FAILED a.py::test_b - assert 0\n== 1 failed, 2 passed, 1 error in 0.1s ==\n",
            (2, 1, 1, 0),
            ["a.py::test_b"],
        ),
        ("no tests ran in 0.01s\n", (0, 0, 0, 0), []),
        ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", (1, 1, 1, 0), []),
        ("Ran 2 tests in 0.001s\n\nOK (skipped=1)\n", (1, 0, 0, 1), []),
        (
            "test a ... ok\ntest b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured\n",
            (1, 1, 0, 2),
            ["b"],
        ),
        (
            "  ● cart › adds\n\nTests:       1 failed, 1 skipped, 3 passed, 5 total\n",
            (3, 1, 0, 1),
            ["cart › adds"],
        ),
        (" Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", (2, 1, 0, 0), []),
        (
            " FAIL  t/a.test.js > cart > adds\n\n Test Files  1 failed (1)\n"
            "      Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)\n",
            (2, 1, 0, 2),
            ["t/a.test.js > cart > adds"],
        ),
        (" Test Files  1 passed (1)\n      Tests  5 passed (5)\n", (5, 0, 0, 0), []),
        ("  3 passing (10ms)\n  1 pending\n  2 failing\n", (3, 2, 0, 1), []),
        ("[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1\n", (1, 1, 1, 1), []),
        ("5 examples, 2 failures, 1 pending\nrspec ./a_spec.rb:3 # a\n", (2, 2, 0, 1), ["./a_spec.rb:3"]),
        ("Tests: 4, Assertions: 5, Failures: 1.\n", (3, 1, 0, 0), []),
        ("OK (4 tests, 9 assertions)\n", (4, 0, 0, 0), []),
        (
            "75% tests passed, 1 tests failed out of 4\n\t  3 - slow_test (Failed)\n",
            (3, 1, 0, 0),
            ["slow_test"],
        ),
        ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\tshop\t0.1s\n", (1, 1, 0, 0), ["TestB"]),
        ("1..2\nok 1 - a\nnot ok 2 b\n", (1, 1, 0, 0), ["b"]),
    ],
)
def test_results_are_recognised_in_plain_output(
    output: str, expected: tuple[int, int, int, int], failed: list[str], tmp_path: Path
) -> None:
    found = output_parsers.parse_any(evidence(output, tmp_path))
    assert found.counted
    assert counts(found) == expected
    assert [each.id for each in found.failures] == failed


@pytest.mark.parametrize("output", ["", "all good\n", "ok\n", "Tests are fun\n", "passing\n"])
def test_ordinary_words_are_not_taken_for_results(output: str, tmp_path: Path) -> None:
    assert not output_parsers.parse_any(evidence(output, tmp_path)).counted


def test_colours_do_not_hide_results(tmp_path: Path) -> None:
    output = "\x1b[1mTests:       \x1b[22m\x1b[32m2 passed\x1b[39m, 2 total\n"
    assert counts(output_parsers.parse_any(evidence(output, tmp_path))) == (2, 0, 0, 0)


def test_broken_or_dangerous_xml_is_no_report(tmp_path: Path) -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite/>'
    for xml in (b"", b"<testsuite><testcase", bomb, bomb.replace(b"?>", b"?>" + b" " * 2000)):
        assert not junit.parse_junit(
            xml, tmp_path, junit.format_plain_id, broken=lambda case, problem: False
        ).counted


def test_reports_are_plain_files_only(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    assert read_report(tmp_path / "real") == b"x"
    assert read_report(tmp_path / "link") == b""
    assert read_report(tmp_path / "pipe") == b""
    assert read_report(tmp_path / "none") == b""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Cart.total\n",
            (2, 1, 0, 0),
        ),
        ("test cases:  3 |  1 passed | 2 failed\nassertions: 9 | 8 passed | 1 failed\n", (1, 2, 0, 0)),
        ("[doctest] test cases: 2 | 2 passed | 0 failed | 1 skipped\n", (2, 0, 0, 1)),
        (
            "Ok:                 2\nFail:               1\nSkipped:            1\nTimeout:            0\n",
            (2, 1, 0, 1),
        ),
        ("3 runs, 4 assertions, 1 failures, 0 errors, 1 skips\n", (1, 1, 0, 1)),
        ("2 doctests, 3 tests, 1 failure, 1 skipped\n", (1, 1, 0, 1)),
        ("2 successes / 1 failure / 0 errors / 1 pending : 0.01 seconds\n", (2, 1, 0, 1)),
        (
            "Passed!  - Failed:     0, Passed:     2, Skipped:     1, Total:     3, Duration: 3 ms\n",
            (2, 0, 0, 1),
        ),
        ("[ FAIL 1 | WARN 0 | SKIP 0 | PASS 3 ]\n", (3, 1, 0, 0)),
        ("1 out of 3 tests failed (0.00s)\n", (2, 1, 0, 0)),
        ("All 3 tests passed.\n", (3, 0, 0, 0)),
        ("% 1 test failed\n% 2 tests passed\n", (2, 1, 0, 0)),
        ("PASSES 2 out of 3 tests (1 failure)\n", (2, 1, 0, 0)),
        ("# of expected passes      2\n# of unexpected failures  1\n", (2, 1, 0, 0)),
        ("DONE 3 tests, 1 skipped, 1 failure in 0.512s\n", (1, 1, 0, 1)),
        ("3 specs, 1 failure, 1 pending spec\n", (1, 1, 0, 1)),
        ("Ran 3 tests in 0.000 seconds, 2 successes, 1 failure\n", (2, 1, 0, 0)),
        ("1 failure! in 0.001s. 3 tests run.\n", (2, 1, 0, 0)),
        (
            "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n"
            "Test Suite 'All tests' failed\n\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n",
            (1, 1, 0, 0),
        ),
        ("     Summary [   0.003s] 3 tests run: 2 passed, 1 failed, 4 skipped\n", (2, 1, 0, 4)),
        ("3 scenarios (1 failed, 2 passed)\n9 steps (1 failed, 8 passed)\n", (2, 1, 0, 0)),
    ],
)
def test_summaries_of_runners_that_are_known_from_their_documentation_are_counted(
    output: str, expected: tuple[int, int, int, int], tmp_path: Path
) -> None:
    assert counts(output_parsers.parse_any(evidence(output, tmp_path))) == expected


def test_the_results_of_several_runners_in_one_output_are_added(tmp_path: Path) -> None:
    output = (
        "== 2 passed in 0.1s ==\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n"
        "a.test:\tTotal\t2\tPassed\t1\tSkipped\t0\tFailed\t1\n"
    )
    assert counts(output_parsers.parse_any(evidence(output, tmp_path, 0))) == (6, 1, 0, 0)


@pytest.mark.parametrize(
    ("output", "lost"),
    [
        ("TAP version 13\n1..2\nok 1 - a\nok 2 - b\n", False),
        ("TAP version 13\n1..3\nok 1 - a\nok 2 - b\n", True),
        ("TAP version 13\nok 1 - a\n", True),
        ("1..2\nok 1 - a\nBail out! no database\n", True),
        ("1..1\nok 1 - takes C# sources\n", False),
        ("[==========] Running 2 tests from 1 test suite.\n[ RUN      ] Cart.total\n", True),
        ("running 2 tests\ntest a ... ok\n", True),
    ],
)
def test_a_run_without_its_end_has_lost_tests(output: str, lost: bool, tmp_path: Path) -> None:
    assert bool(output_parsers.parse_any(evidence(output, tmp_path, 0)).lost) == lost


@pytest.mark.parametrize(
    ("case", "expected", "repeated", "passed", "skipped"),
    [
        ("skipped-subtest", (1, 0, 0, 0), 0, ("test_sub.py::test_skip",), ()),
        ("failed-subtest", (1, 2, 0, 0), 1, ("test_subfail.py::test_ok",), ()),
        ("teardown-error", (1, 1, 2, 0), 2, (), ()),
        ("rerun", (1, 1, 0, 0), 0, ("test_flaky.py::test_fl",), ()),
    ],
)
def test_the_last_line_of_pytest_corrects_its_report(
    case: str,
    expected: tuple[int, int, int, int],
    repeated: int,
    passed: tuple[str, ...],
    skipped: tuple[str, ...],
    tmp_path: Path,
) -> None:
    recorded = Path(__file__).parent / "recorded_pytest" / "9.2.0-rerunfailures-16.7"
    shutil.copy(recorded / f"{case}.xml", tmp_path / "junit.xml")
    found = python._parse_pytest(evidence((recorded / f"{case}.txt").read_text(), tmp_path))
    assert (counts(found), found.repeated) == (expected, repeated)
    assert (found.passed_tests, found.skipped_tests) == (passed, skipped)
