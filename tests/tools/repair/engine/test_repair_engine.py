"""The repair engine on small real projects: real pytest, real sandbox, nothing written to the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.workspaces import workspace
from tools.repair.engine import repair_engine
from tools.repair.engine.repair_engine import localize_faults, repair
from tools.repair.engine.repair_findings import Findings
from tools.repair.engine.validation.suite_baseline import Baseline
from tools.repair.localize.coverage_spectrum import Spectrum, Test
from tools.repair.result import Fix, Outcome, RepairResult

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SHOP = {
    "cart.py": """\
        # Grüße: a line that is longer in bytes than in characters
        FREE = 100


        def shipping(total):
            label = "für"; fee = 5 if total <= FREE else 0  # keep this comment
            return fee


        def last(items):
            return items[len(items)]
        """,
    "names.py": """\
        def greet(person):
            return "hello " + persn


        def share(part, whole):
            return whole / part
        """,
    "test_shop.py": """\
        from cart import last, shipping
        from names import greet, share


        def test_small_orders_pay():
            assert shipping(99) == 5


        def test_from_the_limit_on_it_is_free():
            assert shipping(100) == 0


        def test_large_orders_are_free():
            assert shipping(101) == 0


        def test_last():
            assert last([1, 2, 3]) == 3
            assert last(["a"]) == "a"


        def test_greet():
            assert greet("Ann") == "hello Ann"


        def test_share():
            assert share(1, 4) == 0.25


        def test_share_of_the_whole():
            assert share(3, 3) == 1
        """,
}


# Tests that keep something in a folder of the project.
WRITING = """\
from pathlib import Path

import a

PLACE = Path("kept.txt")


def keep(text):
    PLACE.write_text(text)


def kept():
    return PLACE.read_text()
"""


def run(
    folder: Path, files: Mapping[str, str], *, targets: tuple[str, ...] = (), budget: float = 150
) -> RepairResult:
    at = workspace(folder, files)
    before = contents(at.root)
    result = asyncio.run(repair(at, targets=targets, budget=budget))
    assert contents(at.root) == before, "a search leaves the workspace as it was"
    return result


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def applied(root: Path, fixes: tuple[Fix, ...]) -> None:
    """Apply fixes as the edit tool would: each old text must stand at exactly one place."""
    for fix in fixes:
        text = (root / fix.path).read_text("utf-8")
        assert text.count(fix.old) == 1
        (root / fix.path).write_text(text.replace(fix.old, fix.new), "utf-8")


def test_several_independent_bugs_are_fixed_one_after_the_other(tmp_path: Path) -> None:
    result = run(tmp_path, SHOP, budget=180)
    assert result.outcome is Outcome.FIXED
    assert {fix.path for fix in result.fixes} == {"cart.py", "names.py"}
    assert len(result.fixes) == len(result.failing) == 4
    applied(tmp_path / "work", result.fixes)
    text = (tmp_path / "work" / "cart.py").read_text("utf-8")
    assert 'label = "für"; fee = 5 if total < FREE else 0  # keep this comment' in text
    assert "return items[len(items) - 1]" in text or "return items[-1]" in text
    names = (tmp_path / "work" / "names.py").read_text("utf-8")
    assert '"hello " + person' in names
    assert "return part / whole" in names


def test_two_faults_that_hide_one_another_are_fixed_together(tmp_path: Path) -> None:
    files = {
        "both.py": "def both(a, b):\n    c = a - b\n    return c * 3\n",
        "test_both.py": "import pytest\nfrom both import both\n\n\n@pytest.mark.parametrize('a, b', "
        "[(1, 2), (5, 7), (2, 2), (10, 3)])\ndef test_both(a, b):\n    assert both(a, b) == 2 * (a + b)\n",
    }
    result = run(tmp_path, files, budget=180)
    assert result.outcome is Outcome.FIXED
    applied(tmp_path / "work", result.fixes)
    text = (tmp_path / "work" / "both.py").read_text("utf-8")
    assert text == "def both(a, b):\n    c = a + b\n    return c * 2\n"


def test_a_second_fault_that_no_test_reaches_before_the_first_is_mended_is_found_too(tmp_path: Path) -> None:
    files = {
        "runs.py": "def longest(values):\n    best = count = 0\n    before = None\n    for value in vales:\n"
        "        count = count + 1 if value == before else 0\n        before = value\n"
        "        best = max(best, count)\n    return best\n",
        "test_runs.py": "import pytest\nfrom runs import longest\n\n\n@pytest.mark.parametrize('values, expected', "
        "[([1], 1), ([1, 1, 2], 2), ([3, 1, 1, 1, 2, 2], 3), ([], 0)])\n"
        "def test_longest(values, expected):\n    assert longest(values) == expected\n",
    }
    result = run(tmp_path, files, budget=180)
    assert result.outcome is Outcome.FIXED
    applied(tmp_path / "work", result.fixes)
    text = (tmp_path / "work" / "runs.py").read_text("utf-8")
    assert "in values:" in text
    assert "if value == before else 1" in text


def test_the_same_failures_get_the_same_fix_in_every_run(tmp_path: Path) -> None:
    files = {
        "low.py": "def low(values):\n    best = 0\n    for value in values:\n"
        "        if value > best:\n            best = value\n    return best\n",
        "test_low.py": "from low import low\n\n\ndef test_low():\n    assert low([3, 7, 5]) == 7\n\n\n"
        "def test_negative():\n    assert low([-3]) == -3\n",
    }
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        result = run(tmp_path / name, files, budget=100)
        found.append([(fix.path, fix.old, fix.new) for fix in result.fixes])
    assert found[0] == found[1]


def test_a_failure_that_runs_no_source_line_is_said_to(tmp_path: Path) -> None:
    files = {
        "rates.py": "RATES = {'low': 5, 'high': 19}\nFACTOR = 10\n"
        "\n\ndef tax(net):\n    return net * RATES['high'] / FACTOR\n",
        "test_rates.py": "from rates import FACTOR\n\n\ndef test_factor():\n    assert FACTOR == 11\n\n\n"
        "def test_it_is_a_number():\n    assert FACTOR > 1\n",
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.NOT_COVERED
    assert not result.fixes


def test_defaults_and_module_constants_are_fixed_through_a_new_import(tmp_path: Path) -> None:
    files = {
        "power.py": "LIMIT = 99\n\n\ndef power(base, exponent=3):\n    return base ** exponent\n\n\n"
        "def full(count):\n    return count >= LIMIT\n",
        "test_power.py": "from power import full, power\n\n\n"
        "def test_square():\n    assert power(3) == 9\n    assert power(4) == 16\n\n\n"
        "def test_given():\n    assert power(2, 3) == 8\n    assert power(2, 4) == 16\n\n\n"
        "def test_full():\n    assert full(100)\n    assert full(101)\n\n\n"
        "def test_not_full():\n    assert not full(99)\n    assert not full(98)\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    assert sorted(fix.new.split("\n")[0] for fix in result.fixes)[-1] == "def power(base, exponent=2):"


def test_endless_loops_floods_crashes_and_exits_do_not_stop_the_search(tmp_path: Path) -> None:
    files = {
        "wild.py": """\
            import os


            def countdown(n):
                steps = 0
                while n > 0:
                    n += 1
                    steps += 1
                return steps


            def flood(n):
                print("x" * 10_000_000)
                return n


            def leave(n):
                if n > 3:
                    os._exit(0)
                return n
            """,
        "test_wild.py": """\
            from wild import countdown, flood, leave


            def test_countdown():
                assert countdown(3) == 3


            def test_flood():
                assert flood(2) == 2


            def test_leave():
                assert leave(3) == 3
            """,
    }
    result = run(tmp_path, files)
    assert result.outcome is Outcome.FIXED
    assert result.failing == ("test_wild.py::test_countdown",)
    applied(tmp_path / "work", result.fixes)
    scope: dict[str, Callable[[int], int]] = {}
    exec((tmp_path / "work" / "wild.py").read_text("utf-8"), scope)
    assert [scope["countdown"](n) for n in (0, 1, 3, 5)] == [0, 1, 3, 5]


def test_a_test_that_kills_its_process_is_a_failure_and_the_others_still_count(tmp_path: Path) -> None:
    files = {
        "dead.py": "import os\n\n\ndef run(n):\n    if n < 5:\n        os._exit(3)\n    return n\n",
        "test_dead.py": "from dead import run\n\n\ndef test_five():\n    assert run(4) == 4\n\n\n"
        "def test_six():\n    assert run(6) == 6\n\n\ndef test_three():\n    assert run(5) == 5\n",
    }
    result = run(tmp_path, files, budget=60)
    assert result.failing == ("test_dead.py::test_five",)
    assert all(fix.path == "dead.py" for fix in result.fixes)


def test_a_wrong_test_is_never_edited_and_the_suspicious_places_are_named(tmp_path: Path) -> None:
    files = {
        "add.py": "def add(a, b):\n    return a + b\n",
        "test_add.py": "from add import add\n\n\ndef test_right():\n    assert add(1, 2) == 3\n\n\n"
        "def test_more():\n    assert add(5, 7) == 12\n\n\n"
        "def test_wrong():\n    assert add(20, 22) == 'forty-two'\n",
    }
    result = run(tmp_path, files, budget=40)
    assert result.outcome is Outcome.NOT_FOUND
    assert result.fixes == ()
    assert [(s.path, s.line) for s in result.suspects] == [("add.py", 2)]
    assert result.left == ("test_add.py::test_wrong",)


@pytest.mark.parametrize(
    ("files", "outcome", "words"),
    [
        ({"a.py": "x = 1\n"}, Outcome.NO_TESTS, "no tests were found"),
        ({"test_a.py": "def test_a():\n    assert True\n"}, Outcome.ALL_PASS, "all tests pass"),
        (
            {
                "a.py": "def get():\n    raise OSError(101, 'Network is unreachable')\n",
                "test_a.py": "import a\n\n\ndef test_a():\n    a.get()\n",
            },
            Outcome.NEEDS_NETWORK,
            "wants the network, which tests do not get here: test_a.py::test_a",
        ),
        (
            {
                "a.py": "",
                "test_a.py": WRITING + "\n\ndef test_a():\n    keep('x')\n    assert kept() == 'x'\n",
            },
            Outcome.ALL_PASS,
            "all tests pass",
        ),
        (
            {
                "a.py": "",
                "test_a.py": WRITING + "\n\ndef test_a():\n    keep('x')\n    assert kept() == 'y'\n",
            },
            Outcome.CANNOT_RUN,
            "what fails writes to the project's own files, which no search lets it: test_a.py::test_a",
        ),
        ({"test_a.py": "import nowhere\n\n\ndef test_a():\n    pass\n"}, Outcome.IMPORT_ERROR, "nowhere"),
        (
            {"a.py": "def f(:\n", "test_a.py": "import a\n\n\ndef test_a():\n    pass\n"},
            Outcome.SYNTAX_ERROR,
            "a.py",
        ),
        (
            {"conftest.py": "raise RuntimeError('set-up')\n", "test_a.py": "def test_a(): pass\n"},
            Outcome.CANNOT_RUN,
            "RuntimeError: set-up",
        ),
        (
            {"pytest.ini": "[pytest]\naddopts = --unheard-of\n", "test_a.py": "def test_a(): pass\n"},
            Outcome.CANNOT_RUN,
            "unrecognized arguments: --unheard-of",
        ),
    ],
)
def test_what_cannot_be_searched_is_told_apart(
    tmp_path: Path, files: dict[str, str], outcome: Outcome, words: str
) -> None:
    result = run(tmp_path, files, budget=100)
    assert (result.outcome, result.fixes) == (outcome, ())
    assert words in result.reason


def test_a_project_that_is_slow_to_import_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each last word is a session of its own: it may take as long to come to its tests as the first one took."""
    monkeypatch.setattr(repair_engine, "COLD_START", 0.0)
    files = {
        "conftest.py": "import time\n\ntime.sleep(2)\n",
        "add.py": "def add(a, b):\n    return a - b\n",
        "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
        "    assert add(5, 7) == 12\n",
    }
    assert run(tmp_path, files).outcome is Outcome.FIXED


@pytest.mark.parametrize("instead", ["os.mkfifo(place)", "os.symlink('/etc/passwd', place)"])
def test_tests_that_tamper_with_what_is_noted_of_them_are_said_to(tmp_path: Path, instead: str) -> None:
    folder = tmp_path / "cache"
    tests = f"""\
        import contextlib
        import os
        import pathlib


        def test_a():
            for each in pathlib.Path({str(folder)!r}).glob("repair-*"):
                place = each / "records"
                with contextlib.suppress(OSError):
                    place.unlink(missing_ok=True)
                    {instead}
            assert False
        """
    result = run(tmp_path, {"test_a.py": tests})
    assert result.outcome is Outcome.CANNOT_RUN
    assert "noted of the tests cannot be read" in result.reason


def test_source_that_our_own_python_cannot_parse_is_left_out(tmp_path: Path) -> None:
    at = workspace(
        tmp_path, {"new.py": "frobnicate x := y\n", "odd.py": b"\xff\x00\xfe", "old.py": "x = 1\n"}
    )
    lines = {path: frozenset({1}) for path in ("new.py", "odd.py", "old.py", "gone.py")}
    failing = Test(index=0, id="t", file="t.py", standing="failed", lines=lines)
    findings = Findings(targets=(), deadline=0.0)
    state = repair_engine.RepairRun(at=at, findings=findings, on_progress=print)
    spectrum = Spectrum(tests=[failing], imported={}, complete=True)
    assert list(state.load_sources(spectrum, [failing])) == ["old.py"]


def test_changes_at_once_that_leave_tests_of_their_fault_failing_are_taken_back(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "x = 1\n"})
    lines = {"a.py": frozenset({1})}
    before = [
        Test(index=i, id=f"t{i}", file="t.py", standing="failed", lines=lines, error="ValueError")
        for i in range(3)
    ]
    after = [replace(before[0], standing="passed"), replace(before[1], standing="passed"), before[2]]
    fixes = [
        Fix(
            path="a.py", line=1, function="", old=name, new="", template=name, why="", tests=("t0",), confidence=0.5
        )
        for name in ("sure", "one", "other", "later")
    ]  # fmt: skip
    findings = Findings(targets=(), deadline=0.0, fixes=list(fixes))
    state = repair_engine.RepairRun(at=at, findings=findings, on_progress=print, overlay={"a.py": "x = 4\n"})
    whole = Baseline(spectrum=Spectrum(tests=before, imported={}, complete=True))
    state.held = repair_engine.HeldChanges(
        number=1, tests=frozenset({"t0", "t1", "t2"}), base=whole, overlay={"a.py": "x = 2\n"}
    )
    result = state.report_without_held(Baseline(spectrum=Spectrum(tests=after, imported={}, complete=True)))
    assert (result.outcome, result.fixes) == (Outcome.PARTLY_FIXED, tuple(fixes[:1]))
    assert result.alternatives == (tuple(fixes[1:]),)
    assert (result.left, state.overlay) == (("t0", "t1", "t2"), {"a.py": "x = 2\n"})


def test_what_was_found_is_told_when_the_tests_cannot_be_looked_at_again() -> None:
    fix = Fix(
        path="a.py", line=1, function="", old="a", new="b", template="", why="", tests=("t0",), confidence=0.5
    )  # fmt: skip
    nothing = Spectrum(tests=(), imported={}, complete=False)
    found = Findings(targets=(), deadline=0.0, fixes=[fix], failing=("t0", "t1"))
    result = found.find_early_result(Baseline(spectrum=nothing, problem="tracing the tests took too long"))
    assert result is not None
    assert (result.outcome, result.fixes, result.left) == (Outcome.PARTLY_FIXED, (fix,), ("t1",))
    nothing_found = Findings(targets=(), deadline=0.0)
    result = nothing_found.find_early_result(
        Baseline(spectrum=nothing, problem="tracing the tests took too long")
    )
    assert result is not None
    assert result.outcome is Outcome.CANNOT_RUN


def test_where_no_python_can_run_the_tests_a_ranking_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = workspace(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    monkeypatch.setattr("tools.testing.python.list_interpreter_paths", lambda root: ())
    result, spectrum = asyncio.run(repair_engine.localize_faults(at, (), 30.0))
    assert result.outcome is Outcome.CANNOT_RUN
    assert "any Python here" in result.reason
    assert not spectrum.tests


def test_a_test_that_fails_only_now_and_then_is_not_repaired(tmp_path: Path) -> None:
    # It fails in the first process that runs it and passes in the next: the counter is outside the workspace.
    marker = tmp_path / "cache" / "seen"
    files = {
        "value.py": "def value():\n    return 1\n",
        "test_value.py": f"""\
            import os
            import pathlib

            from value import value

            STATE = next(pathlib.Path({str(marker.parent)!r}).glob("repair-*"))


            def test_steady():
                assert value() == 1


            def test_now_and_then():
                seen = (STATE / "seen").exists()
                (STATE / "seen").touch()
                assert seen and value() == 1
            """,
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.UNSTEADY
    assert "test_now_and_then" in result.reason


def test_a_suite_longer_than_the_budget_is_not_said_to_pass(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_quick():\n    pass\n\n\ndef test_slow():\n    time.sleep(60)\n"
    result = run(tmp_path, {"test_slow.py": slow}, budget=3)
    assert result.outcome is Outcome.NOT_FOUND
    assert "no time for 1 of 2 tests" in result.reason


def test_test_files_that_cannot_be_imported_are_named_beside_a_fix(tmp_path: Path) -> None:
    files = {
        "add.py": "def add(a, b):\n    return a - b\n",
        "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
        "    assert add(5, 7) == 12\n",
        "test_broken.py": "import nowhere\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    assert "'test_broken.py'" in result.reason


def test_what_keeps_tests_from_being_imported_is_mended_and_then_what_fails(tmp_path: Path) -> None:
    files = {
        "rates.py": "RATES = {'a': 2, 'b': 3}\n\n\ndef rate_of(kind):\n    return RATES[kind]\n",
        "shop.py": "from rates import rates_of\n\nLIMIT = 10\nHALF = LIMIT // 2\n\n\n"
        "def price(kind, count):\n    return rates_of(kind) + count\n\n\n"
        "def many(count):\n    return count > HALF\n",
        "test_shop.py": "from shop import many, price\n\n\ndef test_price():\n    assert price('a', 5) == 10\n\n\n"
        "def test_others():\n    assert price('b', 4) == 12\n\n\n"
        "def test_many():\n    assert many(6)\n    assert not many(5)\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    text = files["shop.py"]
    for fix in result.fixes:
        assert text.count(fix.old) == 1
        text = text.replace(fix.old, fix.new)
    assert "from rates import rate_of as rates_of\n" in text
    assert "rates_of(kind) * count\n" in text


@pytest.mark.slow
def test_a_test_that_is_named_is_run_before_thousands_for_which_there_is_no_time(tmp_path: Path) -> None:
    files = {
        "rates.py": "def rate(kind):\n    return 2 if kind == 'a' else 4\n",
        "test_rates.py": "import time\n\nimport pytest\n\nfrom rates import rate\n\n\n"
        "@pytest.mark.parametrize('number', range(2000))\ndef test_slowly(number):\n    time.sleep(0.02)\n\n\n"
        "def test_others():\n    assert rate('b') == 3\n",
    }
    result = run(tmp_path, files, targets=("test_rates.py::test_others",), budget=20)
    assert result.failing == ("test_rates.py::test_others",)
    assert result.tried > 0


def test_three_faults_that_hide_one_another_are_mended_one_on_top_of_the_other(tmp_path: Path) -> None:
    program = (
        "def flights(bookings, n):\n    seats = [0] * (n + 1)\n    for first, last, count in bookings:\n"
        "        seats[{index}] += count\n        seats[last] -= count\n    found = []\n    taken = 0\n"
        "    for each in seats[:-1]{rest}:\n        taken += each\n        found.append(taken)\n    return found\n"
    )
    cases = [
        ([[1, 2, 10]], 3, [10, 10, 0]),
        ([[1, 2, 10], [2, 3, 20]], 4, [10, 30, 20, 0]),
        ([[2, 2, 5]], 2, [0, 5]),
        ([[1, 4, 1], [3, 4, 2], [4, 4, 4]], 4, [1, 1, 3, 7]),
    ]
    tests = (
        f"def test_{place}():\n    assert flights({bookings}, {n}) == {found}\n"
        for place, (bookings, n, found) in enumerate(cases)
    )
    files = {
        "plane.py": program.format(index="x", rest=" + 1"),
        "test_plane.py": "\n\n".join(["from plane import flights\n", *tests]),
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    text = files["plane.py"]
    for fix in result.fixes:
        text = text.replace(fix.old, fix.new)
    assert text == program.format(index="first - 1", rest="")


BOTH_FAULTS = {
    "lists.py": "class Lists:\n    def ordered(self, items):\n        found = [str(each) for each in items]\n\n"
    "        return [int(each) for each in found]\n    console.log(ordered([3]));\n",
    "test_lists.py": "from lists import Lists\n\n\ndef test_three():\n"
    "    assert Lists().ordered([30, 7, 4]) == [30, 4, 7]\n\n\n"
    "def test_more():\n    assert Lists().ordered([5, 11, 2, 100]) == [100, 11, 2, 5]\n\n\n"
    "def test_two():\n    assert Lists().ordered([9, 80]) == [80, 9]\n",
}


def test_a_second_fault_behind_an_import_that_fails_is_mended_too(tmp_path: Path) -> None:
    result = run(tmp_path, BOTH_FAULTS, budget=150)
    assert result.outcome is Outcome.FIXED
    text = BOTH_FAULTS["lists.py"]
    for fix in result.fixes:
        assert text.count(fix.old) == 1
        text = text.replace(fix.old, fix.new)
    assert "console" not in text
    assert "sorted(found)" in text or "found.sort()" in text


def test_a_change_that_lets_tests_be_imported_and_none_pass_is_not_offered(tmp_path: Path) -> None:
    tests = BOTH_FAULTS["test_lists.py"].replace("[30, 4, 7]", "'a'").replace("[100, 11, 2, 5]", "'b'")
    files = {**BOTH_FAULTS, "test_lists.py": tests.replace("[80, 9]", "'c'")}
    result = run(tmp_path, files, budget=20)
    assert (result.outcome, result.fixes) == (Outcome.IMPORT_ERROR, ())
    assert "'console' is not defined" in result.reason


def test_targets_that_name_no_test_are_said_to(tmp_path: Path) -> None:
    result = run(
        tmp_path, {"test_a.py": "def test_a():\n    assert False\n"}, targets=("test_b.py",), budget=100
    )
    assert result.outcome is Outcome.NO_TESTS
    assert "'test_b.py'" in result.reason


def test_unittest_projects_are_repaired_by_their_dotted_names_too(tmp_path: Path) -> None:
    files = {
        "stack.py": "class Stack:\n    def __init__(self):\n        self.items = []\n\n"
        "    def push(self, item):\n        self.items.append(item)\n\n"
        "    def pop(self):\n        return self.items.pop(0)\n\n"
        "    def __len__(self):\n        return len(self.items)\n",
        "test_stack.py": "import unittest\n\nfrom stack import Stack\n\n\nclass StackTest(unittest.TestCase):\n"
        "    def setUp(self):\n        self.stack = Stack()\n\n"
        "    def test_last_in_first_out(self):\n        self.stack.push(1)\n        self.stack.push(2)\n"
        "        self.stack.push(3)\n"
        "        self.assertEqual(self.stack.pop(), 3)\n        self.assertEqual(self.stack.pop(), 2)\n\n"
        "    def test_length(self):\n        self.stack.push(1)\n        self.assertEqual(len(self.stack), 1)\n",
    }
    result = run(tmp_path, files, targets=("test_stack.StackTest.test_last_in_first_out",))
    assert result.outcome is Outcome.FIXED
    assert result.fixes[0].function == "Stack.pop"
    (tmp_path / "again").mkdir()
    _, spectrum = asyncio.run(localize_faults(workspace(tmp_path / "again", files), (), 120.0))
    (failing,) = spectrum.select_tests("failed")
    assert (failing.error, failing.message) == ("AssertionError", "1 != 3")
    assert failing.frames[-1].path == "test_stack.py"


def test_a_test_that_is_wrong_itself_is_said_to_be_in_doubt(tmp_path: Path) -> None:
    files = {
        "area.py": "def area(width, height):\n    return width * height\n",
        "test_area.py": "from area import area\n\n\ndef test_square():\n    assert area(3, 3) == 9\n\n\n"
        "def test_flat():\n    assert area(4, 0) == 0\n\n\ndef test_wide():\n    assert area(7, 2) == 14\n\n\n"
        "def test_high():\n    assert area(2, 5) == 10\n\n\ndef test_wrong():\n    assert area(6, 7) == 41\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.TEST_IN_DOUBT
    assert "test_area.py::test_wrong" in result.reason
    assert "42 == 41" in result.reason
    assert not result.fixes


def test_a_suite_that_does_not_come_to_an_end_in_time_leaves_the_word_to_the_named_files(
    tmp_path: Path,
) -> None:
    files = {
        "half.py": "def half(n):\n    return n // 3\n",
        "test_half.py": "from half import half\n\n\ndef test_four():\n    assert half(4) == 2\n\n\n"
        "def test_ten():\n    assert half(10) == 5\n\n\ndef test_none():\n    assert half(0) == 0\n",
        "test_long.py": "import time\n\n\ndef test_long():\n    time.sleep(3600)\n",
    }
    result = run(tmp_path, files, targets=("test_half.py::test_four", "test_half.py::test_ten"), budget=60)
    assert result.outcome is Outcome.FIXED
    assert result.fixes[0].new.strip() == "return n // 2"
    assert "the rest of the suite was not run to its end" in result.reason
    assert result.checked == 3


def test_tests_of_other_files_that_a_change_breaks_keep_it_from_being_taken(tmp_path: Path) -> None:
    files = {
        "step.py": "def step(n):\n    return n + 1\n",
        "test_step.py": "from step import step\n\n\ndef test_step():\n    assert step(0) == 2\n",
        "test_other.py": "from step import step\n\n\ndef test_one():\n    assert step(1) == 2\n\n\n"
        "def test_five():\n    assert step(5) == 6\n\n\ndef test_broken_before():\n    assert step(1) == 'x'\n",
    }
    result = run(tmp_path, files, targets=("test_step.py",), budget=100)
    for fix in result.fixes:
        text = files["step.py"].replace(fix.old, fix.new)
        space: dict[str, Callable[[int], int]] = {}
        exec(text, space)
        assert [space["step"](n) for n in (0, 1, 5)] == [2, 2, 6]


def test_tests_of_other_files_that_fail_only_now_and_then_do_not_keep_a_change_from_being_taken(
    tmp_path: Path,
) -> None:
    files = {
        "step.py": "def step(n):\n    return n - 1\n",
        "test_step.py": "from step import step\n\n\ndef test_step():\n    assert (step(1), step(5)) == (2, 6)\n",
        "test_other.py": "SEEN = []\n\n\ndef test_one():\n    SEEN.append(1)\n\n\n"
        "def test_that_fails_after_the_other():\n    assert not SEEN\n",
    }
    result = run(tmp_path, files, targets=("test_step.py",), budget=100)
    assert result.outcome is Outcome.FIXED
    assert [fix.new.strip() for fix in result.fixes] == ["return n + 1"]


@pytest.mark.parametrize("folder", ["", "src/"])
def test_a_test_that_runs_the_project_in_another_process_is_tried_with_what_was_found(
    tmp_path: Path, folder: str
) -> None:
    files = {
        f"{folder}words.py": "import sys\n\n\ndef count(text):\n    return len(text.split()) + 1\n\n\n"
        "if __name__ == '__main__':\n    print(count(sys.argv[1]))\n",
        "test_words.py": "import subprocess\nimport sys\n\nfrom words import count\n\n\ndef test_count():\n"
        "    assert (count(''), count('a b')) == (0, 2)\n\n\ndef ran(*words):\n"
        "    command = [sys.executable, '-m', 'words', *words]\n"
        "    return subprocess.run(command, capture_output=True, text=True).stdout\n\n\n"
        "def test_command():\n    assert ran('a b c') == '3\\n'\n\n\n"
        "def test_help():\n    assert ran('--help') == 'usage'\n",
    }
    result = run(tmp_path, files, budget=100)
    assert [fix.new.strip() for fix in result.fixes] == ["return len(text.split())"]
    assert result.outcome is Outcome.PARTLY_FIXED
    assert result.left == ("test_words.py::test_help",)
    (tmp_path / "again").mkdir()
    files["test_words.py"] = files["test_words.py"].replace("'usage'", "'1\\n'")
    assert run(tmp_path / "again", files, budget=100).outcome is Outcome.FIXED


def test_a_test_that_writes_is_no_reason_to_take_the_writing_away(tmp_path: Path) -> None:
    files = {
        "report.py": "from pathlib import Path\n\n\ndef report(rows):\n    text = str(sum(rows) + 1)\n"
        "    Path('report.txt').write_text(text)\n    return text\n\n\ndef total(rows):\n    return sum(rows) + 1\n",
        "test_report.py": "from report import report, total\n\n\n"
        "def test_report():\n    assert report([1]) == '2'\n\n\n"
        "def test_total():\n    assert (total([]), total([1, 2])) == (0, 3)\n",
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.FIXED
    assert [(fix.line, fix.new.strip()) for fix in result.fixes] == [(11, "return sum(rows)")]


def test_a_change_after_which_a_test_that_writes_fails_is_not_said_to_mend_all(tmp_path: Path) -> None:
    files = {
        "double.py": "def double(n):\n    return n + 1\n",
        "test_double.py": "from pathlib import Path\n\nfrom double import double\n\n\n"
        "def test_double():\n    assert (double(0), double(3)) == (0, 6)\n\n\n"
        "def test_kept():\n    Path('kept').write_text('')\n    assert double(5) == 6\n",
    }
    result = run(tmp_path, files, budget=60)
    assert result.outcome is Outcome.PARTLY_FIXED
    assert result.left == ("test_double.py::test_kept",)


def test_what_ran_only_while_a_test_module_was_imported_is_mended_as_well(tmp_path: Path) -> None:
    files = {
        "option.py": "class Option:\n    def __init__(self, name, many=False):\n        self.name = name\n"
        "        self.dashed = '-' + name\n        self.is_list = name is not None\n        self.many = many\n",
        "test_option.py": "import pytest\n\nfrom option import Option\n\nMANY = Option('a', many=True)\n\n\n"
        "@pytest.mark.parametrize('option, expected', [(MANY, True), (Option('b'), False)])\n"
        "def test_is_list(option, expected):\n    assert option.is_list is expected\n\n\n"
        "def test_dashed():\n    assert Option('x').dashed == '-x'\n",
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.FIXED
    assert [fix.new.strip() for fix in result.fixes] == ["self.is_list = many"]
