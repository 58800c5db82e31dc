"""Runs of agents as events of a log: recorded trajectories, sessions joined of several, and generated ones."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.events import AskedAction, Event, MessageEvent, ObservationEvent, Prompt, SessionStart
from agent.session_settings import Outputs

_FENCED = re.compile(r"```(?:bash|sh)?\n(.*?)```", re.DOTALL)
_LINE = re.compile(r"(?:goto|open\s+\S+)\s+(\d+)\s*$", re.MULTILINE)
_EDIT = re.compile(r"edit\s+(\d+):")
_VIEW = re.compile(r"\[File: (\S+) \((\d+) lines")


@dataclass(frozen=True, slots=True)
class Step:
    """What a model said and asked for, and what came back."""

    thought: str
    action: str
    observation: str


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run. `repository` is read off its id (owner__name-number)."""

    id: str
    system: str
    task: str
    steps: tuple[Step, ...]

    @property
    def repository(self) -> str:
        return self.id.rpartition("-")[0]


def load(paths: Sequence[Path]) -> list[Run]:
    """Runs from JSON lines (also .xz) or JSON files with a `history` (SWE-agent) or `messages` (mini-swe-agent)."""
    runs = []
    for path in paths:
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        lines = data.splitlines() if ".jsonl" in path.name else [data]
        runs += [_run(json.loads(line), path.stem) for line in lines if line.strip()]
    return [run for run in runs if run.steps]


def joined(runs: Sequence[Run], *, count: int, length: int = 8, seed: int = 5) -> list[list[Run]]:
    """`count` synthetic sessions of `length` runs each, all on one repository."""
    by_repository = defaultdict(list)
    for run in runs:
        by_repository[run.repository].append(run)
    large = [found for found in by_repository.values() if len(found) >= length]
    choose = random.Random(seed)
    return [choose.sample(choose.choice(large), length) for _ in range(count)] if large else []


def events(session: Sequence[Run], outputs: Outputs = "outlined") -> Iterator[Event]:
    """A session's events as its log would hold them. outputs: how those of tools enter the requests"""
    number = calls = 0

    def stamped(event: Event) -> Event:
        nonlocal number
        number += 1
        event.id = f"e{number}"
        return event

    yield stamped(
        SessionStart(
            session="s",
            project="/p",
            model="m",
            mode="workspace",
            version="0",
            system=session[0].system,
            outputs=outputs,
        )
    )
    for run in session:
        yield stamped(Prompt(text=run.task))
        for step in run.steps:
            calls += 1
            tool, _, rest = step.action.strip().partition(" ")
            asked = AskedAction(id=f"c{calls}", tool=tool or "shell", arguments={"command": rest})
            yield stamped(MessageEvent(text=step.thought, actions=[asked]))
            yield stamped(
                ObservationEvent(
                    call=f"c{calls}",
                    tool=asked.tool,
                    text=step.observation,
                    data=_effects(step),
                    ref=f"out:{calls}" if len(step.observation) > 500 else "",
                )
            )


def generated(
    steps: int, *, seed: int = 7, every: int = 500
) -> tuple[list[Event], list[str], list[tuple[str, str]]]:
    """A long session: (events, planted constraints, planted facts as (word, id of its event)).

    About 200 tokens a step; every so many steps a prompt with a constraint, and a fact in some output.
    """
    choose = random.Random(seed)
    made: list[Event] = [
        SessionStart(
            session="s",
            project="/p",
            model="m",
            mode="workspace",
            version="0",
            system="Be careful.",
            outputs="outlined",
        )
    ]
    constraints: list[str] = []
    facts: list[tuple[str, str]] = []
    words = [
        f"{a}_{b}"
        for a in ("load", "save", "parse", "merge", "open", "index")
        for b in ("row", "page", "node", "key")
    ]
    for i in range(steps):
        if i % every == 0:
            constraints.append(f"You must never touch vendor/lib{i // every}.py in this session.")
            made.append(Prompt(text=f"Part {i // every}: go on with the module.\n{constraints[-1]}"))
        path = f"src/module{choose.randrange(300)}.py"
        made.append(
            MessageEvent(
                text=f"Now I look at {path}.",
                actions=[AskedAction(id=f"c{i}", tool="read", arguments={"path": path})],
            )
        )
        lines = [
            f"{n:4}\tdef {choose.choice(words)}(value):  # {choose.random():.6f}"
            for n in range(choose.randrange(8, 30))
        ]
        if i % every == every // 2:
            facts.append((f"planted_fact_{i}", f"e{len(made) + 1}"))
            lines.append(f"  99\tplanted_fact_{i} = {choose.random():.6f}")
        made.append(
            ObservationEvent(
                call=f"c{i}", tool="read", text="\n".join([f"{path}: lines", *lines]),
                data={"path": path, "first": 1, "last": len(lines)},
            )
        )  # fmt: skip
    for number, event in enumerate(made, 1):
        event.id = f"e{number}"
    return made, constraints, facts


def _run(record: dict[str, Any], name: str) -> Run:
    history = record.get("history") or record.get("messages") or []
    system = "\n".join(str(each["content"]) for each in history if each["role"] == "system")
    rest = [each for each in history if each["role"] != "system"]
    task = str(rest[0]["content"]) if rest and rest[0]["role"] == "user" else ""
    steps = []
    for at, each in enumerate(rest):
        if each["role"] == "assistant":
            after = rest[at + 1] if at + 1 < len(rest) else {"role": "", "content": ""}
            observation = str(after["content"]) if after["role"] in ("user", "tool") else ""
            content = str(each["content"] or "")
            fenced = _FENCED.search(content)
            action = each.get("action") or (fenced[1] if fenced else "")
            steps.append(
                Step(str(each.get("thought") or _FENCED.sub("", content)), action, observation or "done")
            )
    return Run(str(record.get("id") or record.get("instance_id") or name), system, task, tuple(steps))


def _effects(step: Step) -> dict[str, Any]:
    """What our own tools would say of themselves: a view shows lines of a file, an edit changes it."""
    view = _VIEW.search(step.observation)
    numbers = re.findall(r"^(\d+):", step.observation, re.MULTILINE)
    if view is None or not numbers:
        return {}
    path = re.sub(r"^/[^/]+/", "", view[1])
    shown = {"path": path, "first": int(numbers[0]), "last": int(numbers[-1]), "lines": int(view[2])}
    if edited := _EDIT.match(step.action):
        return {"diff": "changed", **shown, "asked": (int(edited[1]), int(edited[1]))}
    line = _LINE.match(step.action)
    at = int(line[1]) if line else shown["first"] if step.action.startswith("scroll") else 0
    return {**shown, "asked": (at, at)} if at else shown
