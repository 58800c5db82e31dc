"""Programs of others run in the sandbox: whatever one does counts against it alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from packages.search.programs.behaviour import FAILS, compute_key, compute_value_key, format_key
from packages.search.programs.program_runner import Program, ProgramRun, ProgramRunner, RunLimits
from sandbox.backends.selection import choose_sandbox
from tests.support.confined import needs_confinement

pytestmark = pytest.mark.slow

LIMITS = RunLimits(call_seconds=0.2, check_seconds=0.2, losses=2, seconds=30)

HOSTILE = {
    "hangs": "def f(x):\n    while True: pass",
    "exits": "import os\ndef f(x):\n    os._exit(0)",
    "leaves": "def f(x):\n    raise SystemExit",
    "kills its parent": "import os\ndef f(x):\n    os.kill(os.getppid(), 9)",
    "forks": "import os\ndef f(x):\n    while True: os.fork()",
    "catches the alarm": (
        "def f(x):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass"
    ),
    "fills memory": "def f(x):\n    return 'a' * (1 << 33)",
    "is no Python": "def f(x)\n    return x",
    "calls itself": "def f(x):\n    return f(x)",
    "opens the network": "import socket\ndef f(x):\n    return socket.create_connection(('192.0.2.1', 80), 0.1)",
    "writes a file": "def f(x):\n    open('left', 'w').write('x')\n    return x",
}


def run_all(folder: Path, sources: list[str], calls: list[str], checks: list[str]) -> list[ProgramRun]:
    needs_confinement(folder)
    runner = ProgramRunner(sandbox=choose_sandbox(folder), folder=folder, limits=LIMITS)
    programs = [Program(name=str(place), function="f", source=each) for place, each in enumerate(sources)]
    return asyncio.run(runner.run_programs(programs, calls, checks))


def test_no_hostile_program_returns_or_harms_the_good_one(tmp_path: Path) -> None:
    good = "def f(x):\n    return x + 1"
    runs = run_all(tmp_path, [*HOSTILE.values(), good], ["([1], {})", "([2], {})"], ["assert f(1) == 2"])
    for name, run in zip(HOSTILE, runs, strict=False):
        assert all(each[0] != "value" for each in run.calls), name
        assert list(run.checks) == [False], name
    assert [compute_key(each) for each in runs[-1].calls] == [compute_value_key(2), compute_value_key(3)]
    assert list(runs[-1].checks) == [True]
    assert list(tmp_path.iterdir()) == []


def test_a_lost_input_does_not_cost_the_next_ones(tmp_path: Path) -> None:
    source = "import os\ndef f(x):\n    if x == 1: os._exit(0)\n    while x == 2: pass\n    return x"
    [run] = run_all(tmp_path, [source], ["([0], {})", "([1], {})", "([2], {})", "([3], {})"], [])
    assert [each[0] for each in run.calls] == ["value", "died", "timeout", "unrun"]


def test_results_are_the_same_each_time_and_a_flood_of_text_is_cut(tmp_path: Path) -> None:
    source = (
        "import random\n"
        "def f(x):\n"
        "    print('x' * 10_000_000)\n"
        "    return [random.random(), hash('a'), {'b', 'a'}]"
    )
    one, other = run_all(tmp_path, [source, source], ["([1], {})"], [])
    assert one.calls == other.calls
    assert len(one.calls[0][2]) == 1000


def test_arguments_are_fresh_for_each_program_and_errors_are_told_apart(tmp_path: Path) -> None:
    source = (
        "def f(items):\n"
        "    if not items: raise ValueError('empty')\n"
        "    items.append(items[0] + 1)\n"
        "    return items"
    )
    [run] = run_all(tmp_path, [source], ["([[1]], {})", "([[1]], {})", "([[]], {})", "([5], {})"], [])
    keys = [compute_key(each) for each in run.calls]
    assert keys == [compute_value_key([1, 2]), compute_value_key([1, 2]), "raises ValueError", FAILS]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (True, 1, True),
        (0.1 + 0.2, 0.3, True),
        ([1, 2], (1, 2), False),
        ({1, 2}, {2, 1}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
        ("1", 1, False),
        (None, "", False),
        (["number", "3"], 3, False),
        (float("nan"), float("nan"), True),
    ],
)
def test_equal_values_have_equal_keys(one: object, other: object, equal: bool) -> None:
    assert (compute_value_key(one) == compute_value_key(other)) is equal


@pytest.mark.parametrize("value", [1, "a", [1, "b", None], (1,), {"a": [True]}, set(), 2.5])
def test_a_key_reads_like_its_value(value: object) -> None:
    expected = {"{'a': [True]}": "{'a': [1]}"}.get(repr(value), repr(value))
    assert format_key(compute_value_key(value)) == expected
