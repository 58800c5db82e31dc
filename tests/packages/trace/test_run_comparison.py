"""Runs of one task as one graph of states, and the point where they part."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.trace.comparison_output import format_comparison
from packages.trace.rows.traced_sessions import read_traces
from packages.trace.run_comparison import RunComparison, compare_runs
from tests.packages.trace.written_logs import Log
from tests.support.cli import call, run, script
from tests.support.repo import Repo

RIGHT = "--- a/cart.py\n+++ b/cart.py\n@@ -1 +1 @@\n-a\n+b\n"
WRONG = "--- a/label.py\n+++ b/label.py\n@@ -1 +1 @@\n-c\n+d\n"


def begin(folder: Path) -> Log:
    log = Log(folder)
    log.prompt("Mend total.")
    return log


def mend(folder: Path) -> Log:
    log = begin(folder)
    log.step("read", {"path": "cart.py"}, "a")
    log.tests(1, "test_total")
    log.step("edit", {"path": "cart.py"}, "changed", diff=RIGHT)
    log.tests(2)
    log.end()
    return log


def fail(folder: Path) -> Log:
    log = begin(folder)
    log.step("read", {"path": "cart.py"}, "a")
    log.tests(1, "test_total")
    log.step("edit", {"path": "label.py"}, "changed", diff=WRONG)
    log.tests(1, "test_total")
    log.tests(1, "test_total")
    log.end("tests-fail", 1)
    return log


def compare(*logs: Log) -> RunComparison:
    return compare_runs([read_traces(each.folder)[0] for each in logs])


def test_runs_share_states_until_they_part(tmp_path: Path) -> None:
    found = compare(mend(tmp_path / "a"), fail(tmp_path / "b"))
    assert found.common == 2
    assert [(each.deed, each.steps) for each in found.states] == [
        ("read cart.py", {"A": [1], "B": [1]}),
        ("run_tests", {"A": [2], "B": [2]}),
        ("edit cart.py", {"A": [3]}),
        ("run_tests", {"A": [4]}),
        ("end: done", {"A": [4]}),
        ("edit label.py", {"B": [3]}),
        ("run_tests", {"B": [4, 5]}),
        ("end: tests-fail", {"B": [5]}),
    ]
    [parting] = found.partings
    assert (parting.letter, parting.other_letter, parting.state, parting.step) == ("B", "A", 1, 3)
    assert (parting.deed, parting.other) == ("edit label.py", "edit cart.py")
    assert found.states[6].following == {6: ["B"], 7: ["B"]}, "a circle, then the end"
    lines = list(format_comparison(found))
    assert "all begin with 2 common states, up to 1: run_tests (1 passed, 1 failed)" in lines
    assert lines[-1] == (
        "B leaves A for good after 1: run_tests; at step 3 it does edit label.py, A does edit cart.py"
    )


def test_runs_that_come_to_the_same_on_different_ways_meet_again(tmp_path: Path) -> None:
    one, other = begin(tmp_path / "a"), begin(tmp_path / "b")
    for log, paths in ((one, ("cart.py", "label.py")), (other, ("label.py", "cart.py"))):
        for path in paths:
            log.step("read", {"path": path}, path)
        log.step("edit", {"path": "cart.py"}, "changed", diff=RIGHT)
        log.tests(2)
        log.end()
    found = compare(one, other)
    assert (found.common, len(found.states), found.partings) == (0, 5, [])


def test_a_failed_run_is_held_against_the_good_one_it_went_along_with_longest(tmp_path: Path) -> None:
    short = begin(tmp_path / "a")
    short.say("Nothing to do.")
    short.end("nothing-to-do", 3)
    found = compare(short, mend(tmp_path / "b"), fail(tmp_path / "c"))
    [parting] = found.partings
    assert (parting.letter, parting.other_letter, parting.step) == ("C", "B", 3)


def test_other_files_after_the_same_deed_are_another_state(tmp_path: Path) -> None:
    one, other = begin(tmp_path / "a"), begin(tmp_path / "b")
    for log, diff in ((one, RIGHT), (other, RIGHT.replace("+b", "+x"))):
        log.step("edit", {"path": "cart.py"}, "changed", diff=diff)
        log.step("read", {"path": "cart.py"}, "…")
        log.end()
    assert compare(one, other).common == 0


@pytest.mark.slow
def test_real_runs_are_compared_by_their_snapshots(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(items):\n    return sum(items[1:])\n")
    repo.commit_all()
    right = call("edit", path="cart.py", old="items[1:]", new="items")
    wrong = call("edit", path="cart.py", old="items[1:]", new="items[2:]")
    back = call("edit", path="cart.py", old="items[2:]", new="items")
    for name, turns in {"a": [[right]], "b": [[wrong], [back]], "c": [[wrong]]}.items():
        told = [{"calls": calls} for calls in turns]
        model = script(tmp_path, [{"calls": [call("read", path="cart.py")]}, *told, {"text": "Done."}], name)
        run("run", "mend total", "--no-commit", "--model", model, cwd=repo.root)
        repo.write("cart.py", "def total(items):\n    return sum(items[1:])\n")
    events = run("sessions", "--flat", "--json", cwd=repo.root).events
    c, b, a = (each["id"] for each in events)
    [found] = run("sessions", "compare", a, b, c, "--json", cwd=repo.root).events
    assert found["common"] == 1
    shared = [each["steps"] for each in found["states"] if each["deed"].startswith("edit")]
    assert shared == [{"A": [2], "B": [3]}, {"B": [2], "C": [2]}], "the same files in the end"
    told_lines = run("sessions", "compare", a, b, c, cwd=repo.root).out
    assert "all begin with 1 common states" in told_lines
    assert run("sessions", "compare", a, cwd=repo.root).code == 2
    assert run("sessions", "compare", a, a, cwd=repo.root).code == 2
    assert run("sessions", "compare", a, "no-such", cwd=repo.root).code == 2
