"""The engine without a model remembers: what runs the tests here, and which kinds of changes mended something."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.memory.engine_facts import add_engine_facts
from agent.memory.memory_key import find_store_path
from agent.memory.memory_store import MemoryStore
from agent.memory.records import PAST_REPAIRS, Check, Lesson
from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo
from tools.core.workspace import Workspace
from tools.testing.project_files import TestsNotRunnable
from tools.testing.runners import choose_launches

SHOP = """\
def parse(text):
    rows = []
    for line in text.split("\\n"):
        if not line.strip():
            continue
        name, amount, price = line.split(",")
        rows.append((name.strip(), int(amount), float(price)))
    return rows


def summarize(text, limit, rebate):
    totals = {}
    for name, amount, price in parse(text):
        cost = amount * price
        if amount > limit:
            cost = cost - cost * rebate
        totals[name] = totals.get(name, 0) + cost
    best = sorted(totals.items(), key=lambda each: each[1])
    average = sum(totals.values()) / max(len(totals), 1)
    above = [name for name, cost in best if cost > average]
    return best, round(average, 2), above
"""

TESTS = """\
from shop import summarize

TEXT = "a, 2, 3.0\\nb, 5, 1.0\\nc, 10, 2.0\\na, 1, 3.0\\n"


def test_best():
    best, average, above = summarize(TEXT, 6, 0.5)
    assert best[0] == ("c", 10.0)
    assert [each[0] for each in best] == ["c", "a", "b"]


def test_average():
    assert summarize(TEXT, 6, 0.5)[1] == 8.0


def test_above():
    assert sorted(summarize(TEXT, 6, 0.5)[2]) == ["a", "c"]


def test_empty():
    assert summarize("", 1, 0.5) == ([], 0.0, [])
"""

TEMPLATE = "known_argument"
"""Kind of the change that mends it: `reverse=True` is missing."""


def open_store(repo: Repo) -> MemoryStore:
    return MemoryStore(find_store_path(Home.from_environment(), repo.root))


def make_lesson(**values: Any) -> Lesson:
    known = {"id": "L00000001", "kind": "command", "claim": "c", "use": "uv run pytest -q", "purpose": "test"}
    return Lesson(**{**known, "created": 4e9, "seen": 4e9, **values})


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    repo = Repo(tmp_path / "shop")
    repo.write("shop.txt", "nothing that runs tests\n")
    return repo.workspace()


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "x.sqlite")


@pytest.mark.parametrize(
    ("use", "command", "takes_targets"),
    [
        ("uv run pytest -q", "uv run pytest -q", True),
        ("sh tools/check.sh test", "sh tools/check.sh test", False),
    ],
)
def test_a_remembered_command_runs_the_tests_where_nothing_else_does(
    use: str, command: str, takes_targets: bool, at: Workspace, store: MemoryStore, tmp_path: Path
) -> None:
    with pytest.raises(TestsNotRunnable, match="no runner found"):
        asyncio.run(choose_launches(at, (), tmp_path))
    store.put_lessons([make_lesson(use=use)])
    add_engine_facts(store, at)
    [launch], problems = asyncio.run(choose_launches(at, (), tmp_path))
    assert (launch.command, launch.evidence, launch.is_trusted) == (command, "memory", False)
    assert problems == []
    if takes_targets:
        [launch], _ = asyncio.run(choose_launches(at, ("test_x.py",), tmp_path))
        assert "test_x.py" in launch.command
    else:
        with pytest.raises(TestsNotRunnable, match="no runner found"):
            asyncio.run(choose_launches(at, ("test_x.py",), tmp_path))


@pytest.mark.parametrize(
    "values",
    [
        {"origin": "repository"},
        {"origin": "import"},
        {"misses": 2},
        {"purpose": "build"},
        {"kind": "note"},
        {"checks": (Check(kind="file", value="gone.sh"),)},
    ],
)
def test_what_was_not_seen_or_holds_no_more_runs_nothing(
    values: dict[str, Any], at: Workspace, store: MemoryStore, tmp_path: Path
) -> None:
    store.put_lessons([make_lesson(**values)])
    add_engine_facts(store, at)
    with pytest.raises(TestsNotRunnable, match="no runner found"):
        asyncio.run(choose_launches(at, (), tmp_path))


def test_a_damaged_store_is_no_error_of_a_run(at: Workspace, store: MemoryStore, tmp_path: Path) -> None:
    store.path.mkdir()
    add_engine_facts(store, at)
    with pytest.raises(TestsNotRunnable, match="no runner found"):
        asyncio.run(choose_launches(at, (), tmp_path))
    assert at.facts[PAST_REPAIRS]() == {}


@pytest.mark.slow
def test_what_a_model_ran_the_engine_runs_in_the_next_session(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write(
        "checks/check_shop.py",
        "import unittest\nclass Checks(unittest.TestCase):\n    def test_one(self): pass\n",
    )
    repo.write("tools/check.sh", "exec python3 -m unittest discover -s checks -p 'check_*.py'\n")
    repo.write("shop.txt", "x\n")
    repo.commit_all()
    needs_confinement(repo.root)

    def repair() -> str:
        return run(
            "run", "make the failing tests pass", "--model", "offline", "--no-commit", cwd=repo.root
        ).out

    assert "no runner found" in repair()
    turns = [
        {"calls": [call("shell", command="sh tools/check.sh test")]},
        {"text": "Done: they pass."},
    ]
    run("run", "run the tests", "--model", script(tmp_path, turns), "--no-commit", cwd=repo.root)
    out = repair()
    assert "no runner found" not in out
    assert "All 1 tests pass already" in out, out


@pytest.mark.slow
def test_what_the_person_named_the_engine_runs_and_mends_by_in_the_next_session(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("shop.py", "def halve(total):\n    return total / 2\n")
    repo.write(
        "checks/verify.py", "from shop import halve\n\n\ndef test_halve():\n    assert halve(4) == 2\n"
    )
    repo.commit_all()
    needs_confinement(repo.root)
    options = ("--model", "offline", "--no-commit")
    named = f"{sys.executable} -m pytest -q checks/verify.py"
    first = run("run", "make the failing tests pass", *options, "--tests", named, cwd=repo.root)
    assert "All 1 tests pass already" in first.out, first.out
    repo.write("shop.py", "def halve(total):\n    return total * 2\n")
    repo.commit_all()
    second = run("run", "make the failing tests pass", *options, cwd=repo.root)
    assert "+    return total / 2" in second.out, second.out  # not written: it was just committed


def search(repo: Repo) -> int:
    """Let the engine mend the shop; return how many changes it tried."""
    result = run(
        "run", "make the failing tests pass", "--model", "offline", "--no-commit", "-o", "stream-json", cwd=repo.root
    )  # fmt: skip
    [found] = [each["data"]["repair"] for each in result.events if "repair" in each.get("data", {})]
    [fix] = found["fixes"]
    assert fix["template"] == TEMPLATE
    [end] = [each for each in result.events if each["kind"] == "end"]
    assert end["outcome"] == "done", result.out[-2000:]
    repo.git("checkout", "-q", ".")
    return int(found["tried"])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_second_search_is_shorter(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("shop.py", SHOP)
    repo.write("test_shop.py", TESTS)
    repo.commit_all()
    needs_confinement(repo.root)
    first = search(repo)
    store = open_store(repo)
    [lesson] = [each for each in store.list_lessons() if each.kind == "repair"]
    assert (lesson.use, lesson.origin, lesson.good) == (TEMPLATE, "code", 1)
    shown = json.loads(run("memory", "list", "--json", cwd=repo.root).out)["lessons"]
    assert lesson.claim in [each["claim"] for each in shown]
    store.put_lessons([make_lesson(id=lesson.id, kind="repair", use=TEMPLATE, purpose="", good=4)])
    assert search(repo) < first
