"""`run_tests` on real pytest projects."""

from __future__ import annotations

import asyncio
import json
import sys
import venv
from pathlib import Path

import pytest

from sandbox.policy.decision import Mode
from tests.tools.testing.projects import Make, counts, project, run
from tests.tools.workspaces import call, put
from tools.session.recall import recall
from tools.testing import run as run_plainly
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.python import find_interpreter, find_test_interpreter
from tools.testing.report import TestFailure

__all__ = ["project"]

pytestmark = pytest.mark.slow

SHOP = {
    "shop/__init__.py": "",
    "shop/cart.py": "def total(prices):\n    return sum(prices) - 1\n",
    "tests/test_cart.py": """\
        import json
        import pytest
        from shop.cart import total

        def test_empty():
            assert True

        class TestTotal:
            @pytest.mark.parametrize("prices", [[1, 2], [3]])
            def test_sum(self, prices):
                assert total(prices) == sum(prices), "wrong total"

        def test_type():
            total(None)

        @pytest.fixture
        def basket():
            raise ValueError("no basket")

        def test_basket(basket):
            pass

        @pytest.mark.skip(reason="later")
        def test_later():
            pass
        """,
}


def test_a_run_is_counted_and_its_failures_are_placed(project: Make) -> None:
    at = project(SHOP)
    shown: list[str] = []
    at.progress = shown.append
    observation, report = run(at)
    assert (report.runner, report.outcome, report.counted) == ("pytest", "failed", True)
    assert counts(report) == (1, 3, 1, 1)
    assert report.collected == 6
    assert [(each.id, each.file, each.line) for each in report.failures] == [
        ("tests/test_cart.py::TestTotal::test_sum[prices0]", "tests/test_cart.py", 11),
        ("tests/test_cart.py::TestTotal::test_sum[prices1]", "tests/test_cart.py", 11),
        ("tests/test_cart.py::test_type", "shop/cart.py", 2),
        ("tests/test_cart.py::test_basket", "tests/test_cart.py", 18),
    ]
    assert report.failures[0].message.startswith("AssertionError: wrong total\nassert 2 == 3")
    assert "return sum(prices) - 1" in report.failures[2].detail
    assert json.loads(json.dumps(observation.data)) == observation.data
    assert not observation.failed
    assert any("passed" in line for line in shown)
    assert not any("generated xml" in line for line in shown)


def test_the_text_says_what_to_look_at_and_nothing_is_left_in_the_workspace(project: Make) -> None:
    at = project(SHOP)
    observation, report = run(at)
    left = {path.relative_to(at.root).as_posix() for path in at.root.rglob("*") if path.is_file()}
    assert left == set(SHOP)
    lines = observation.text.splitlines()
    assert lines[0].startswith("pytest: FAILED: 3 failed, 1 error, 1 passed, 1 skipped in ")
    assert lines[1].endswith("-m pytest")
    assert lines[2] == "FAILED tests/test_cart.py::TestTotal::test_sum[prices0]  (tests/test_cart.py:11)"
    assert f'[whole output: recall(ref="{report.ref}")]' in observation.text
    assert "test session starts" in call(recall, at, ref=report.ref).text


def test_named_tests_are_run_alone(project: Make) -> None:
    at = project(SHOP)
    _, report = run(at, "tests/test_cart.py::test_empty", "tests/test_cart.py::test_later")
    assert (report.outcome, counts(report)) == ("passed", (1, 0, 0, 1))
    _, again = run(at, "tests/test_cart.py::TestTotal::test_sum[prices1]")
    assert counts(again) == (0, 1, 0, 0)


@pytest.mark.parametrize(("ending", "note"), [("os._exit(0)", "left no results"), ("os.abort()", "signal 6")])
def test_a_run_that_ends_before_it_reports_is_no_pass(project: Make, ending: str, note: str) -> None:
    _, report = run(project({"test_a.py": f"import os\n\ndef test_a():\n    {ending}\n"}))
    assert report.outcome == "broken"
    assert note in report.note


def test_an_edit_within_the_same_second_is_seen(project: Make) -> None:
    at = project(
        {
            "m.py": "def f(a):\n    return a > 1\n",
            "test_m.py": "from m import f\n\ndef test_f():\n    assert f(0)\n",
        }
    )
    assert run(at)[1].outcome == "failed"
    put(at.root, {"m.py": "def f(a):\n    return a < 1\n"})
    assert run(at)[1].outcome == "passed"


def test_zero_tests_are_no_pass(project: Make) -> None:
    at = project({"tests/test_a.py": "def helper(): pass\n"})
    observation, report = run(at)
    assert (report.outcome, report.collected) == ("no-tests", 0)
    assert observation.text.startswith("pytest: NO TESTS RAN (this is not a pass)")
    assert observation.failed


def test_a_target_that_does_not_exist_runs_no_tests(project: Make) -> None:
    observation, report = run(project(SHOP), "tests/test_cart.py::test_nope")
    assert report.outcome == "no-tests"
    assert "not found" in observation.text


def test_skipped_tests_alone_are_no_pass(project: Make) -> None:
    at = project({"test_a.py": "import pytest\n\n@pytest.mark.skip\ndef test_a(): pass\n"})
    _, report = run(at)
    assert (report.outcome, report.skipped, report.note) == ("no-tests", 1, "all tests were skipped")


def test_a_module_that_cannot_be_imported_is_broken_not_failed(project: Make) -> None:
    at = project({"tests/test_a.py": "import nonexistent\n", "tests/test_b.py": "def test_b(: pass\n"})
    observation, report = run(at)
    assert (report.outcome, counts(report)) == ("broken", (0, 0, 2, 0))
    assert report.note == "2 could not be loaded: tests/test_a.py, tests/test_b.py"
    assert [(each.id, each.file, each.line) for each in report.failures] == [
        ("tests/test_a.py", "tests/test_a.py", 1),
        ("tests/test_b.py", "tests/test_b.py", 1),
    ]
    assert "No module named 'nonexistent'" in report.failures[0].message
    assert "SyntaxError" in report.failures[1].message
    assert observation.failed


def test_an_error_in_conftest_is_broken(project: Make) -> None:
    at = project({"conftest.py": "import nonexistent\n", "test_a.py": "def test_a(): pass\n"})
    observation, report = run(at)
    assert report.outcome == "broken"
    assert "could not start" in report.note
    assert "No module named 'nonexistent'" in observation.text


@pytest.mark.slow
def test_tests_that_hang_are_killed_and_the_last_output_is_shown(project: Make) -> None:
    files = {"test_a.py": "import time\n\ndef test_quick(): pass\n\ndef test_slow():\n    time.sleep(60)\n"}
    at = project({**files, "pytest.ini": "[pytest]\naddopts = -v\n"}, timeout=6.0)
    observation, report = run(at)
    assert report.outcome == "timeout"
    assert "killed after 6 s" in report.note
    assert "test_a.py::test_slow" in observation.text


def test_a_src_layout_is_importable_without_being_installed(project: Make) -> None:
    at = project(
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "src/basket/__init__.py": "SIZE = 3\n",
            "tests/test_a.py": "import basket\n\ndef test_a():\n    assert basket.SIZE == 3\n",
        }
    )
    assert run(at)[1].outcome == "passed"


@pytest.mark.parametrize(
    ("installed", "passes"),
    [("__init__.py", True), ("fast.so", False)],
    ids=["plain copy", "what was compiled there stays in use"],
)
def test_another_installed_copy_does_not_hide_the_source(project: Make, installed: str, passes: bool) -> None:
    """Installed without -e, or as a dependency of pytest itself: its tests would run old code for ever."""
    venv.create(folder := project({}).root / ".venv", with_pip=False)
    packages = next(folder.glob("lib/*/site-packages"))
    (packages / "tools.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    put(packages, {"basket/__init__.py": "SIZE = 2\n", f"basket/{installed}": "SIZE = 2\n"})
    at = project(
        {
            "src/basket/__init__.py": "SIZE = 3\n",
            "tests/test_basket.py": "from basket import SIZE\ndef test_size(): assert SIZE == 3\n",
        }
    )
    assert run(at)[1].outcome == ("passed" if passes else "failed")


def test_a_command_that_fails_although_all_tests_pass_is_no_pass(project: Make) -> None:
    conftest = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    observation, report = run(project({"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"}))
    assert (report.outcome, counts(report)) == ("failed", (1, 0, 0, 0))
    assert "every test passed, but the command ended with exit 1" in observation.text


def test_many_failures_are_shown_a_few_in_full_and_the_rest_by_name(project: Make) -> None:
    source = "import pytest\n\n@pytest.mark.parametrize('n', range(300))\ndef test_a(n):\n    assert n < 0\n"
    observation, report = run(project({"test_a.py": source}))
    assert (report.failed, len(report.failures)) == (300, 200)
    assert sum(bool(each.detail) for each in report.failures) == 30
    assert observation.text.count("FAILED test_a.py::test_a") == 8
    assert "292 more failed:\n  test_a.py::test_a[8]\n" in observation.text
    assert "… and 252 more" in observation.text
    assert len(observation.text) < 16_000


def test_the_settings_command_wins_and_still_reports(project: Make) -> None:
    at = project(SHOP, command=f"{sys.executable} -m pytest -k empty")
    _, report = run(at)
    assert (report.runner, counts(report)) == ("pytest", (1, 0, 0, 0))
    assert report.command.endswith("-m pytest -k empty")


def test_any_command_can_run_the_tests(project: Make) -> None:
    at = project(SHOP, command=f"cd tests && PYTHONPATH=.. {sys.executable} -m pytest -q -p no:cacheprovider")
    _, report = run(at)
    assert (report.runner, report.outcome, counts(report)) == ("tests.command", "failed", (1, 3, 1, 1))
    assert report.failures[0].id == "test_cart.py::TestTotal::test_sum[prices0]"


def test_a_read_only_session_runs_tests_too(project: Make) -> None:
    at = project(SHOP)
    at.mode = Mode.READ_ONLY
    assert counts(run(at)[1]) == (1, 3, 1, 1)


def test_the_harness_runs_tests_without_a_model(project: Make) -> None:
    at = project({"test_a.py": "def test_a(): pass\n"})
    report = asyncio.run(run_plainly(at, ["test_a.py"]))
    assert (report.outcome, report.passed) == ("passed", 1)
    assert at.facts["tests"] is report


def test_a_report_that_is_a_link_is_not_followed(project: Make, tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text('<testsuite><testcase name="secret" classname="x"/></testsuite>')
    conftest = f"""\
        import os
        def pytest_unconfigure(config):
            path = config.option.xmlpath
            os.remove(path)
            os.symlink({str(secret)!r}, path)
        """
    at = project({"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    _, report = run(at)
    assert report.passed == 1
    assert report.failures == ()


def test_the_projects_own_environment_is_asked_first(project: Make, tmp_path: Path) -> None:
    at = project({"test_a.py": "def test_a(): pass\n", ".venv/bin/python": "#!/bin/sh\nexit 1\n"})
    (at.root / ".venv/bin/python").chmod(0o755)
    found = asyncio.run(find_interpreter(at, Project(at), pytest=True))
    assert found.path == f"{tmp_path}/venv/bin/python"  # the project's own does not work
    put(at.root, {".venv/bin/python": f'#!/bin/sh\nexec {sys.executable} "$@"\n'})
    found = asyncio.run(find_interpreter(at, Project(at), pytest=True))
    assert found.path == str(at.root / ".venv/bin/python")


def test_without_any_pytest_it_is_said_who_was_asked(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    at = project(
        {"test_a.py": "def test_a(): pass\n", "bin/python": f'#!/bin/sh\nexec {sys.executable} -S "$@"\n'}
    )
    (at.root / "bin/python").chmod(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(at.root))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(at.root / "bin/python"))
    with pytest.raises(TestsNotRunnable, match="asked: bin/python"):
        asyncio.run(find_interpreter(at, Project(at), pytest=True))


def test_failures_are_plain_values() -> None:
    assert TestFailure(id="a").line == 0


@pytest.mark.parametrize(
    ("test", "first"),
    [
        ("def test_a(): pass\n", False),
        ("import unittest\n\nclass TestA(unittest.TestCase):\n    def test_a(self): pass\n", True),
    ],
)
def test_a_repair_asks_the_python_that_the_tests_need(
    test: str, first: bool, project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system's own Python has no pytest, and comes first on the PATH of whoever has just made this program."""
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/bare/bin:/usr/bin:/bin")
    at = project({"test_a.py": test})
    found = asyncio.run(find_test_interpreter(at, Project(at)))
    assert found.path.startswith(f"{tmp_path}/bare") is first
    assert found.has_pytest is not first


def test_only_what_passes_is_counted_as_passed(project: Make) -> None:
    test = """\
        import pytest

        def test_passes():
            pass

        @pytest.mark.xfail
        def test_xfails():
            assert False

        @pytest.mark.xfail
        def test_xpasses():
            pass

        @pytest.mark.skip
        def test_later():
            pass

        def test_left_out():
            pass
        """
    ini = "[pytest]\naddopts = --deselect test_a.py::test_left_out\n"
    observation, report = run(project({"test_a.py": test, "pytest.ini": ini}))
    assert (report.outcome, counts(report), report.collected) == ("passed", (1, 0, 0, 1), 4)
    assert (report.xfailed, report.xpassed, report.deselected) == (1, 1, 1)
    assert "passed: 1 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 deselected in" in observation.text
    assert set(report.skipped_tests) == {"test_a.py::test_xfails", "test_a.py::test_later"}
