"""`run_tests` on unittest, in projects whose interpreter has no pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools.testing.projects import counts, run
from tests.tools.workspaces import refused, workspace
from tools.core.workspace import Workspace
from tools.testing import python, run_tests

pytestmark = pytest.mark.slow


CALC = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": """\
        import unittest
        from calc import add

        class Adding(unittest.TestCase):
            def test_add(self):
                self.assertEqual(add(1, 2), 3)

            def test_zero(self):
                self.assertEqual(add(1, 0), 1)

            @unittest.skip("later")
            def test_later(self):
                pass

            def test_each(self):
                for number in range(1, 3):
                    with self.subTest(number=number):
                        self.assertEqual(add(0, number), number)

            def test_raises(self):
                add(None, 1)
        """,
}


def bare(folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str]) -> Workspace:
    """A workspace where the only Python is one without site-packages."""
    program = folder / "bin" / "python3"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {Path(sys.executable).resolve()} -S "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    for other in ("python3", "python"):
        if os.access(f"/usr/bin/{other}", os.X_OK):
            probe = subprocess.run(
                [f"/usr/bin/{other}", "-c", "import pytest"], capture_output=True, check=False
            )
            if probe.returncode == 0:
                pytest.skip("the system's own Python has pytest")
    monkeypatch.setattr(sys, "executable", str(program))
    return workspace(folder, files)


def test_unittest_is_counted_and_its_failures_are_placed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = bare(tmp_path, monkeypatch, {**CALC, "tests/__init__.py": ""})
    _, report = run(at)
    assert (report.runner, report.outcome) == ("unittest", "failed")
    assert counts(report) == (1, 3, 1, 1)
    by_id = {each.id: each for each in report.failures}
    assert set(by_id) == {
        "tests.test_calc.Adding.test_add",
        "tests.test_calc.Adding.test_raises",
        "tests.test_calc.Adding.test_each (number=1)",
        "tests.test_calc.Adding.test_each (number=2)",
    }
    assert by_id["tests.test_calc.Adding.test_add"].message == "AssertionError: -1 != 3"
    place = by_id["tests.test_calc.Adding.test_raises"]
    assert (place.file, place.line) == ("calc.py", 2)


def test_tests_in_a_folder_that_is_no_package_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = bare(tmp_path, monkeypatch, CALC)
    assert counts(run(at)[1]) == (1, 3, 1, 1)


def test_what_broke_or_was_skipped_before_it_began_takes_nothing_from_what_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """\
        import unittest

        class Sound(unittest.TestCase):
            def test_one(self):
                pass

            def test_two(self):
                pass

        @unittest.skip("later")
        class Later(unittest.TestCase):
            def test_three(self):
                pass

        class Broken(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise OSError

            def test_four(self):
                pass
        """
    at = bare(tmp_path, monkeypatch, {"tests/test_a.py": source})
    assert counts(run(at)[1]) == (2, 0, 1, 1)


def test_targets_may_be_written_as_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = bare(tmp_path, monkeypatch, {**CALC, "tests/__init__.py": ""})
    assert counts(run(at, "tests/test_calc.py::Adding::test_zero")[1]) == (1, 0, 0, 0)
    assert counts(run(at, "tests.test_calc.Adding.test_add")[1]) == (0, 1, 0, 0)


def test_an_import_error_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"tests/__init__.py": "", "tests/test_a.py": "import unittest\nimport nonexistent\n"}
    observation, report = run(bare(tmp_path, monkeypatch, files))
    assert (report.outcome, report.note) == ("broken", "1 could not be loaded: tests.test_a")
    assert "No module named 'nonexistent'" in observation.text


def test_zero_tests_are_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = bare(tmp_path, monkeypatch, {"tests/__init__.py": "", "tests/test_a.py": "import unittest\n"})
    assert run(at)[1].outcome == "no-tests"


def test_pytest_style_tests_without_pytest_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = bare(tmp_path, monkeypatch, {"tests/test_a.py": "def test_a(): pass\n"})
    text = refused(run_tests, at)
    assert text.startswith("tests were not run: pytest cannot be imported by any Python here (asked: ")
    assert "tests.command" in text
    assert at.facts["tests"].outcome == "no-runner"


@pytest.mark.parametrize(
    ("more", "runner"),
    [
        ({}, "unittest"),
        ({"test_b.py": "def test_b(): pass\n"}, "pytest"),
        ({"pytest.ini": "[pytest]\n"}, "pytest"),
    ],
)
def test_the_projects_own_environment_runs_tests_that_need_no_pytest(
    tmp_path: Path, more: dict[str, str], runner: str
) -> None:
    test = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    own = f'#!/bin/sh\nexec {sys.executable} -S "$@"\n'  # without site-packages, so without pytest
    at = workspace(tmp_path, {"test_a.py": test, ".venv/bin/python": own, **more})
    (at.root / ".venv/bin/python").chmod(0o755)
    _, report = run(at)
    assert (report.runner, report.outcome) == (runner, "passed")


def test_subtests_and_class_fixtures_are_run_again_by_what_holds_them() -> None:
    assert python._to_dotted_name("test_a.T.test_a (i=1)") == "test_a.T.test_a"
    assert python._to_dotted_name("test_a.T.setUpClass") == "test_a.T"
