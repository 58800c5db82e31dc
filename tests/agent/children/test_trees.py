"""Trees of sessions, killed anywhere and resumed: nothing runs twice, nothing is left behind, no log is damaged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent, SessionStart
from agent.session.log import INTERRUPTED, Session, read_events
from tests.support.cli import CHECKOUT, git, script
from tests.support.processes import wait_until_gone

TREES = 4
"""In the usual tests; with PATCHWRIGHT_STRESS=N, fifty for each of the N."""

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261125"))

PRICE = 0.01
PLACES = ("lease", "worktree", "read-only")


@dataclass
class Grove:
    """What the trees of a test are made of."""

    dice: random.Random
    folder: Path
    models: dict[tuple[str, int], str] = field(default_factory=dict)
    count: int = 0

    def draw_tree(self) -> dict[str, Any]:
        """A tree, one of whose nodes kills its process."""
        nodes: list[dict[str, Any]] = []
        tree = self._draw_node(0, nodes)
        victim = self.dice.choice(nodes)
        kind = self.dice.choice(("start", "message", "action", "observation"))
        delay = self.dice.uniform(0.0, 0.3) if kind == "start" else self.dice.choice((0, 0, 0.03))
        victim["kill"] = [kind, self.dice.randint(1, 2), delay]
        return tree

    def _draw_node(self, depth: int, nodes: list[dict[str, Any]]) -> dict[str, Any]:
        self.count += 1
        place = "lease" if depth == 0 else self.dice.choice(PLACES)
        node: dict[str, Any] = {
            "name": f"n{self.count}",
            "place": place,
            "runs": self.dice.choice(("in-process", "in-process", "process")),
            "below": [],
        }
        nodes.append(node)
        node["model"] = self._write_model(node["name"], self.dice.randint(1, 3), reads=place == "read-only")
        if depth < 3 and len(nodes) < 7:
            for _ in range(self.dice.choice((0, 1, 1, 2) if depth else (1, 2, 3))):
                node["below"].append(self._draw_node(depth + 1, nodes))
        return node

    def _write_model(self, name: str, steps: int, *, reads: bool) -> str:
        """A model whose commands each leave a line in a file of their own."""
        usage = {"input": 10, "output": 1, "cost": PRICE}
        turns: list[dict[str, Any]] = []
        for number in range(steps):
            mark = self.folder / "marks" / f"{name}-{number}"
            command = f"echo x >> {mark}; sleep {self.dice.choice((0, 0.05))}"
            asked = {"path": "cart.py"} if reads else {"command": command}
            turns.append(
                {
                    "calls": [{"tool": "read" if reads else "shell", "arguments": asked}],
                    "usage": usage,
                    "delay": self.dice.choice((0, 0.05)),
                }
            )
        return script(self.folder, [*turns, {"text": "done", "usage": usage}], f"{name}.json")


class Driver:
    """The program that plays trees, started once."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def play(self, job: dict[str, Any]) -> int:
        """The exit code of the session's process: -9 after a kill."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def start_driver(errors: Path) -> Iterator[Driver]:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.agent.children.tree_driver import main; main()"
    pipe = subprocess.PIPE
    with (
        errors.open("w") as told,
        subprocess.Popen(
            [sys.executable, "-c", code, str(CHECKOUT)],
            stdin=pipe, stdout=pipe, stderr=told, text=True, cwd=CHECKOUT,
        ) as process,
    ):  # fmt: skip
        yield Driver(process)
        assert process.stdin is not None
        process.stdin.close()


def check_log(folder: Path, marks: Path) -> tuple[list[Event], float]:
    """Check a log by itself; return its events and what its calls cost."""
    assert (folder / "log.jsonl").read_bytes()[-1:] in (b"\n", b""), "empty: killed before the first event"
    events = list(read_events(folder))
    cost = 0.0
    asked: dict[str, str] = {}
    answers: dict[str, list[str]] = {}
    for event in events:
        match event:
            case MessageEvent():
                cost += event.usage.cost or 0.0
                for each in event.actions:
                    asked[each.id] = str(each.arguments.get("command", ""))
            case ObservationEvent():
                answers.setdefault(event.call, []).append(event.text)
    begun = {event.call for event in events if isinstance(event, ActionEvent)}
    for call, command in asked.items():
        texts = answers.get(call, [])
        assert len(texts) == 1 or (not texts and call not in begun), f"{call} was answered {len(texts)} times"
        if not command:
            continue
        mark = marks / command.split(">> ")[1].partition(";")[0].rpartition("/")[2]
        times = mark.read_text().count("x") if mark.exists() else 0
        if texts and texts[0] != INTERRUPTED and "exit 0" in texts[0]:
            assert times == 1, f"{command!r} ran {times} times"
        assert times <= 1, f"{command!r} ran {times} times"
        assert not (times and not texts), f"{command!r} ran, and nothing says so"
    return events, cost


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_killed_tree_is_resumed_without_repeating_or_leaving_anything(tmp_path: Path) -> None:
    trees = 50 * int(os.environ["PATCHWRIGHT_STRESS"]) if "PATCHWRIGHT_STRESS" in os.environ else TREES
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    seen = {"killed": 0, "contained": 0, "interrupted": 0, "sessions": 0, "limited": 0}
    with start_driver(tmp_path / "errors") as driver:
        for number in range(trees):
            folder = tmp_path / f"tree-{number}"
            play_tree(driver, random.Random(dice.random()), folder, seen)
            told = (tmp_path / "errors").read_text()
            assert "Traceback" not in told, told
    print(seen)
    assert seen["killed"] + seen["contained"] > trees / 3, "most kills must hit to prove anything"


def play_tree(driver: Driver, dice: random.Random, folder: Path, seen: dict[str, int]) -> None:
    shop = folder / "shop"
    (folder / "marks").mkdir(parents=True)
    shop.mkdir()
    git(shop, "init", "-q")
    (shop / "cart.py").write_text("total = 0\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Start")
    grove = Grove(dice, folder)
    tree = grove.draw_tree()
    env = {"PATCHWRIGHT_HOME": str(folder / "home"), "HOME": str(folder)}
    dollars = dice.choice((1.0, 3 * PRICE))
    job = {"tree": tree, "shop": str(shop), "env": env, "dollars": dollars}
    code = driver.play(job)
    assert code in (0, -9)
    assert wait_until_gone(folder) == [], tree
    logs = sorted((folder / "home").glob("data/projects/*/sessions/*"))
    if not any(_is_root(each) for each in logs):
        assert code == -9
        return
    root = next(each for each in logs if _is_root(each))
    spent = sum(_sum_costs(each) for each in logs)
    assert spent <= dollars + len(logs) * PRICE + 1e-9, "only first calls have no estimate"
    seen["killed"] += code == -9
    seen["contained"] += code == 0 and '"crashed"' in (root / "log.jsonl").read_text()
    assert driver.play({**job, "session": root.name}) == 0
    assert wait_until_gone(folder) == [], tree
    for each in sorted((folder / "home").glob("data/projects/*/sessions/*")):
        Session.open(each).close()  # one that crashed below a child that went on is resumed only by itself
        events, _ = check_log(each, folder / "marks")
        seen["sessions"] += 1
        seen["interrupted"] += sum(isinstance(e, ObservationEvent) and e.text == INTERRUPTED for e in events)
        seen["limited"] += any(e.kind == "end" and getattr(e, "outcome", "") == "limit" for e in events)
    assert git(shop, "worktree", "list").count("\n") == 1, tree
    assert list((folder / "home" / "cache" / "worktrees").glob("*")) == [], tree
    assert [each.name for each in (folder / "home/data/projects").iterdir()] == [root.parents[1].name], tree


def _is_root(folder: Path) -> bool:
    first = next(read_events(folder), None)
    return isinstance(first, SessionStart) and not first.started_by


def _sum_costs(folder: Path) -> float:
    return sum(event.usage.cost or 0.0 for event in read_events(folder) if isinstance(event, MessageEvent))
