"""Ways in which projects have their tests collected that a search must stand: real pytest, real sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from packages.offline.repair.engine.repair_engine import localize_faults, repair
from packages.offline.repair.patchwright_worker.frameworks.stable_names import restore_earlier_names
from packages.offline.repair.result import Outcome, RepairResult
from tests.tools.workspaces import workspace

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))

# A decorator that compiles its function anew from the file's text, as type checkers at run time do.
COMPILING = """\
    import ast
    import inspect
    import sys


    def compiled(function):
        text = inspect.getsource(sys.modules[function.__module__])
        (found,) = [n for n in ast.walk(ast.parse(text)) if getattr(n, "name", "") == function.__name__]
        found.decorator_list = []
        names = dict(function.__globals__)
        exec(compile(ast.Module([found], []), function.__code__.co_filename, "exec"), names)
        return names[function.__name__]
    """


def run(folder: Path, files: Mapping[str, str]) -> RepairResult:
    return asyncio.run(repair(workspace(folder, files), budget=150))


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_a_fault_that_examples_in_docstrings_show_is_mended_where_they_stand(
    tmp_path: Path, mode: str
) -> None:
    package = '''\
        from shapes.compiling import compiled


        @compiled
        def area(width, height):
            """
            >>> area(3, 4)
            12
            >>> area(2, 2)
            4
            """
            return width + height


        def longest(words):
            """
            >>> longest(["a", "bcd", "ef"])
            'bcd'
            """
            return max(words, key=len)
        '''
    result = run(
        tmp_path,
        {
            "pytest.ini": f"[pytest]\naddopts = --doctest-modules --import-mode={mode}\n",
            "shapes/__init__.py": package,
            "shapes/compiling.py": COMPILING,
        },
    )
    assert result.outcome is Outcome.FIXED
    (fix,) = result.fixes
    assert (fix.path, fix.new.strip()) == ("shapes/__init__.py", "return width * height")
    assert result.checked == 2


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_what_an_example_gave_and_what_was_wanted_is_said(tmp_path: Path) -> None:
    module = '''\
        def greeting(name):
            """
            >>> greeting("Ann")
            'hello Ann'
            """
            return "hullo " + name


        def first(row):
            """
            >>> first([])
            0
            """
            return row[0] + row[1] + row[2]
        '''
    files = {"pytest.ini": "[pytest]\naddopts = --doctest-modules\n", "greeting.py": module}
    ranking, spectrum = asyncio.run(localize_faults(workspace(tmp_path, files), (), 120.0))
    said = {test.id.rpartition(".")[2]: test.reason for test in spectrum.select_tests("failed")}
    assert said["greeting"] == "DocTestFailure: `greeting(\"Ann\")` gives 'hullo Ann' != 'hello Ann'"
    assert said["first"] == "IndexError: list index out of range"
    assert {each.line for each in ranking.suspects} == {6, 14}, "no line of an example"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_tests_that_are_called_otherwise_each_time_are_known_again(tmp_path: Path) -> None:
    tests = """\
        import time

        import pytest

        from cut import cut


        @pytest.mark.parametrize("text", [object(), str(time.time_ns()), f"b{time.time_ns()}"], ids=str)
        def test_nothing_is_left_of_anything(text):
            assert cut(str(text), 0) == ""


        def test_cut():
            assert cut("abc", 2) == "ab"
        """
    result = run(
        tmp_path, {"cut.py": "def cut(text, length):\n    return text[: length * 2]\n", "test_cut.py": tests}
    )
    assert result.outcome is Outcome.FIXED
    assert result.checked == 4


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_test_that_prepares_something_for_seconds_is_not_taken_for_endless(tmp_path: Path) -> None:
    tests = """\
        import time

        from twice import twice


        def prepared():
            began = time.process_time()
            while time.process_time() - began < 2.5:
                pass


        def test_twice():
            prepared()
            assert twice(2) == 4


        def test_nothing():
            assert twice(0) == 0
        """
    files = {"twice.py": "def twice(n):\n    return n * 3\n", "test_twice.py": tests}
    _, spectrum = asyncio.run(localize_faults(workspace(tmp_path, files), (), 120.0))
    slow, quick = spectrum.tests
    assert (slow.standing, slow.is_endless, slow.reason) == ("failed", False, "AssertionError: assert 6 == 4")
    assert quick.standing == "passed"
    assert dict(slow.lines) == {"twice.py": frozenset({2})}


HOOK = """\
    import tally


    def pytest_runtest_setup(item):
        tally.log.setLevel("INFO")
    """


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("conftest", ["", HOOK])
def test_tests_that_want_for_the_hooks_of_pytest_judge_a_change_with_them(
    tmp_path: Path, conftest: str
) -> None:
    """One that fails is judged by first, one that passes runs the same place."""
    source = """\
        import logging

        log = logging.getLogger("tally")


        def tally(items):
            log.info("counted %d", len(items) + 1)
            return len(items)
        """
    asked = "(caplog):\n    caplog.set_level('INFO')\n" if not conftest else "():\n"
    told = "caplog.messages == ['counted 2']" if not conftest else "heard(['a', 'b']) == ['counted 2']"
    passing = "caplog.records" if not conftest else "heard(['a'])"
    tests = f"""\
import logging

from tally import log, tally


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def heard(items):
    kept = Kept()
    log.addHandler(kept)
    tally(items)
    log.removeHandler(kept)
    log.setLevel("ERROR")
    return kept.said


def test_said{asked}    tally(["a", "b"])
    assert {told}


def test_something_is_said{asked}    assert tally(["a"]) == 1
    assert {passing}
"""
    files = {"tally.py": source, "test_tally.py": tests, "conftest.py": conftest}
    result = run(tmp_path, files)
    assert result.outcome is Outcome.FIXED
    assert [fix.new.strip() for fix in result.fixes] == ['log.info("counted %d", len(items))']
    assert result.checked == 2


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "options",
    [
        "",
        pytest.param(
            "-p no:hypothesispytest -p no:xdist",
            marks=pytest.mark.skipif(STRESS == 1, reason="takes a minute and a half: in make stress"),
        ),
    ],
)
def test_properties_are_asked_the_same_questions_each_time(tmp_path: Path, options: str) -> None:
    pytest.importorskip("hypothesis")
    tests = """\
        from hypothesis import given, settings
        from hypothesis import strategies as st

        from runs import back, runs


        def test_runs():
            assert runs("aaaab") == [("a", 3), ("a", 1), ("b", 1)]


        @settings(max_examples=30)
        @given(st.text(alphabet="ab", max_size=6))
        def test_back(text):
            assert back(runs(text)) == text
        """
    source = """\
        def runs(text):
            found = []
            for each in text:
                if found and found[-1][0] == each and found[-1][1] < 3:
                    found[-1] = each, found[-1][1] + 1
                else:
                    found.append((each, 1))
            return found


        def back(pairs):
            return "".join(each * min(count, 2) for each, count in pairs)
        """
    settings = f"[pytest]\naddopts = {options}\n"
    at = workspace(tmp_path, {"runs.py": source, "test_runs.py": tests, "pytest.ini": settings})
    result = asyncio.run(repair(at, budget=150))
    assert result.outcome is Outcome.FIXED
    assert result.unsteady == ()
    assert not (at.root / ".hypothesis").exists()


def test_names_are_given_back_only_where_as_many_are_new_as_are_missing() -> None:
    earlier = ["a.py::t[1]", "a.py::t[12:00]", "a.py::u[x]", "a.py::u[y]", "a.py::v", "a.py::w[z]"]
    now = ["a.py::t[12:01]", "a.py::t[1]", "a.py::u[x]", "a.py::u[p]", "a.py::u[q]", "a.py::n", "b.py::w[z2]"]
    assert restore_earlier_names(now, earlier) == ["a.py::t[12:00]", *now[1:]]
    assert restore_earlier_names(earlier, earlier) == earlier
    assert restore_earlier_names(now, []) == now
