"""Tests and programs that loop, flood, exit, write files or start processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from packages.offline.repair.result import Outcome
from tests.packages.offline.repair.engine.searches import applied, run

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


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
