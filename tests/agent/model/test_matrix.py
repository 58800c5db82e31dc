"""Every wire format × every fault: the turn goes on or ends with its own code, and nothing runs twice or by half.

In the ordinary run some points of each stream are drawn (the same ones every time); PATCHWRIGHT_STRESS takes all.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import End
from agent.model.protocol import Message, Model
from agent.model.scripted.scripted_model import Script
from agent.session.log import read_events
from tests.support.bench import bench
from tests.support.cli import call
from tests.support.formats import KINDS, OVERFLOW, model
from tests.support.invariants import list_unanswered_calls
from tests.support.loopback import Loopback, Trouble
from tests.support.weak_model import draw_junk
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace

ALL = int(os.environ.get("PATCHWRIGHT_STRESS", "1")) > 1
POINTS = 6
"""Points of a stream that the ordinary run draws, the first and the last beside them."""

every_format = pytest.mark.parametrize("kind", list(KINDS))


@tool("read")
async def look(path: str, *, at: Workspace) -> Observation:
    """Look at a file."""
    at.facts.setdefault("ran", []).append(("look", path))
    return Observation(text=f"saw {path}")


@tool("write")
async def put(path: str, text: str, *, at: Workspace) -> Observation:
    """Write a file."""
    at.facts.setdefault("ran", []).append(("put", path, text))
    return Observation(text=f"wrote {path}")


LONG = 'a line with "quotes", {braces} and a \\ in it\n' * 4
TASK: Sequence[Mapping[str, Any]] = [
    {
        "reasoning": "look first",
        "text": "I look at both files.",
        "calls": [call("look", path="one.py"), call("look", path="two.py")],
        "usage": {"input": 50, "output": 9},
    },
    {"text": "Now I write.", "calls": [call("put", path="three.py", text=LONG)]},
    {"text": "All is done.", "repeat": 4},
]
MEANT = [("look", "one.py"), ("look", "two.py"), ("put", "three.py", LONG)]


class InOrder(Script):
    """A script that plays a turn for each request, also where a reply left nothing in the history."""

    def __init__(self, script: Script) -> None:
        super().__init__(script._turns, name=script.name, tag=script._tag)
        self._count = 0

    def _find_turn_index(self, messages: Sequence[Message]) -> int:
        self._count += 1
        return min(self._count, self._length) - 1


class Run:
    """One session against one server with troubles; what every session has to keep is checked at once."""

    def __init__(
        self,
        folder: Path,
        kind: str,
        troubles: Sequence[Trouble | None],
        turns: Sequence[Mapping[str, Any]] = TASK,
        in_order: bool = False,
        **options: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with Loopback(turns, troubles=troubles) as server:
            if in_order:
                server.script = InOrder(server.script)
            it = bench(folder, [], [look, put], snapshots=False)
            asked: Model = model(kind, server, **options)
            it.runtime.loop.model = it.runtime.model = asked
            self.end: End = it.turn("go")
            asyncio.run(it.runtime.close())
            self.requests = list(server.requests)
        # Reads of one batch run at once, in no order.
        self.ran: list[tuple[str, ...]] = sorted(it.runtime.workspace.facts.get("ran", []))
        events = list(read_events(it.runtime.session.folder))
        self.observations = [vars(event) for event in events if event.kind == "observation"]
        assert isinstance(events[-1], End), "the last event is the end"
        assert list_unanswered_calls(events) == [], "every action has its observation"
        assert len(set(self.ran)) == len(self.ran), f"something ran twice: {self.ran}"
        assert all(each in MEANT for each in self.ran), f"something ran by half: {self.ran}"


def pieces(kind: str) -> list[bytes]:
    """The events of the first answer of the task, as they are sent."""
    from tests.support.wires import WIRES

    path = {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/messages"}[kind]
    with Loopback(TASK) as server:
        script = server.script
        turn = script._turns[0]
        body = {"stream_options": {"include_usage": True}}
        return [
            each.encode()
            for each in WIRES[path].events(turn, script.build_actions(1, turn), body, usage=True)
        ]


def drawn(places: Sequence[int], seed: str) -> list[int]:
    if ALL or len(places) <= POINTS + 2:
        return list(places)
    chosen = random.Random(seed).sample(list(places[1:-1]), POINTS)
    return [places[0], *sorted(chosen), places[-1]]


@every_format
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_passing_status_at_any_request_costs_only_a_try(kind: str, status: int, tmp_path: Path) -> None:
    trouble = Trouble(status=status, retry_after="0")
    run = Run(tmp_path, kind, [trouble, None, trouble, trouble, None])
    assert (run.end.outcome, run.ran) == ("done", MEANT)
    assert len(run.requests) == 6


LASTING = {400: "configuration", 401: "credentials", 403: "credentials", 404: "configuration"}


@every_format
@pytest.mark.parametrize("status", LASTING)
def test_a_lasting_status_ends_the_turn_with_its_code_and_keeps_the_work(
    kind: str, status: int, tmp_path: Path
) -> None:
    run = Run(tmp_path, kind, [None, Trouble(status=status)])
    assert (run.end.outcome, run.ran) == (LASTING[status], MEANT[:2])
    assert len(run.requests) == 2, "asked once"


@every_format
@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(refuse=True),
        Trouble(drop_after=True),
        Trouble(no_usage=True),
        Trouble(whole=True),
        Trouble(whole=True, cut_after=60),
    ],
    ids=["refused", "dropped after", "no usage", "whole", "whole and cut"],
)
def test_a_server_with_manners_of_its_own_changes_nothing(
    kind: str, trouble: Trouble, tmp_path: Path
) -> None:
    run = Run(tmp_path, kind, [trouble, trouble, None, trouble])
    assert (run.end.outcome, run.ran) == ("done", MEANT)


def spoilt(kind: str) -> Iterator[tuple[str, Trouble]]:
    """A stream cut after some bytes, spoilt at some piece, or ended there by an error of the server."""
    sent = pieces(kind)
    total = sum(map(len, sent))
    for after in drawn(range(1, total, 1 if ALL else 7), f"cut {kind}"):
        yield f"cut {after}", Trouble(cut_after=after)
    error = {
        "chat": '{"error":{"message":"overloaded","code":529}}',
        "responses": '{"type":"error","code":"server_error","message":"overloaded"}',
        "anthropic": '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    }[kind]
    for place in drawn(range(len(sent) - 1), f"spoilt {kind}"):
        yield f"garbage {place}", Trouble(garbage=True, at=place)
        yield f"error {place}", Trouble(error=error, at=place)


@pytest.mark.slow
@every_format
@pytest.mark.timeout(600 if ALL else 120)
def test_a_stream_that_is_spoilt_at_any_point_is_asked_for_again_or_gone_on_from(
    kind: str, tmp_path: Path
) -> None:
    for number, (name, trouble) in enumerate(spoilt(kind)):
        for place in range(3) if ALL else [number % 3]:
            troubles = [None] * place + [trouble]
            run = Run(tmp_path / f"{number}-{place}", kind, troubles)
            assert run.end.outcome == "done", f"{name} at request {place}: {run.end}"
            # What was cut in the middle of its text is not asked for again; all that is asked for runs whole.
            assert set(MEANT) - set(run.ran) in ({*()}, {*MEANT[:2]}, {MEANT[2]}), name


@pytest.mark.slow
@every_format
def test_silence_in_a_stream_is_not_waited_out(kind: str, tmp_path: Path) -> None:
    for place in (0, 5):
        troubles = [Trouble(idle=60.0, at=place)]
        run = Run(tmp_path / str(place), kind, troubles, idle_timeout=2.0)
        assert run.end.outcome == "done"


@every_format
def test_too_long_a_request_ends_the_turn_where_nothing_can_be_left_out(kind: str, tmp_path: Path) -> None:
    run = Run(tmp_path, kind, [None, Trouble(status=400, body=OVERFLOW[kind])])
    assert (run.end.outcome, run.ran) == ("configuration", MEANT[:2])


HALF = json.dumps({"path": "three.py", "text": LONG})
WRONG: Mapping[str, Mapping[str, Any]] = {
    "malformed": {"calls": [{"tool": "put", "raw": '{"path": "three.py" "text": oops}'}]},
    "half": {"calls": [{"tool": "put", "raw": HALF[:-40]}]},
    "reached its limit": {"calls": [{"tool": "put", "raw": HALF[:60]}], "stop": "length"},
    "unknown tool": {"calls": [{"tool": "putt", "arguments": {"path": "three.py", "text": LONG}}]},
    "missing argument": {"calls": [call("put", path="three.py")]},
    "superfluous argument": {"calls": [call("put", path="three.py", text=LONG, force=True)]},
    "wrong type": {"calls": [call("put", path=["three.py"], text=LONG)]},
    "no object": {"calls": [{"tool": "put", "raw": '"three.py"'}]},
}


@every_format
@pytest.mark.parametrize("wrong", WRONG)
def test_a_call_that_is_wrong_is_answered_and_not_run(kind: str, wrong: str, tmp_path: Path) -> None:
    run = Run(tmp_path, kind, [], [TASK[0], WRONG[wrong], *TASK[1:]])
    assert (run.end.outcome, run.ran) == ("done", MEANT)
    refused = run.observations[2]
    assert refused["failed"]
    assert "put(path, text)" in refused["text"] or "Did you mean put?" in refused["text"]


USELESS: Mapping[str, Mapping[str, Any]] = {
    "looping": {"text": "I will look at the other file again to see what it says about that. " * 60},
    "junk": {"text": draw_junk(1)},
    "blank": {"text": "\n" * 3_000},
    "blank thoughts": {"reasoning": " \n" * 2_000, "text": "…"},
    "looping thoughts": {"reasoning": "Wait, I have to think about that again before I go on. " * 60},
}


@every_format
@pytest.mark.parametrize("useless", USELESS)
def test_a_useless_stream_is_stopped_and_asked_for_again(kind: str, useless: str, tmp_path: Path) -> None:
    run = Run(tmp_path, kind, [], [TASK[0], USELESS[useless], *TASK[1:]], in_order=True)
    assert (run.end.outcome, run.ran) == ("done", MEANT)


@every_format
def test_nearly_json_is_mended_and_empty_and_repeated_answers_end_no_turn(kind: str, tmp_path: Path) -> None:
    nearly = {"calls": [{"tool": "put", "raw": f"{{'path': 'three.py', 'text': {LONG!r},}}"}]}
    turns = [TASK[0], {"text": " "}, nearly, {"text": "All is done."}]
    run = Run(tmp_path, kind, [], turns)
    assert (run.end.outcome, run.ran) == ("done", MEANT)


@every_format
def test_a_refusal_has_its_own_end(kind: str, tmp_path: Path) -> None:
    run = Run(tmp_path, kind, [], [TASK[0], {"text": "No.", "stop": "refusal"}])
    assert (run.end.outcome, run.end.exit_code, run.ran) == ("not-achieved", 13, MEANT[:2])


@pytest.mark.slow
@every_format
def test_several_troubles_in_a_row(kind: str, tmp_path: Path) -> None:
    source = random.Random(f"several {kind}")
    kinds = [trouble for _, trouble in spoilt(kind)] + [
        Trouble(status=503, retry_after="0"),
        Trouble(refuse=True),
    ]
    for number in range(40 if ALL else 4):
        troubles = [source.choice([None, replace(source.choice(kinds))]) for _ in range(5)]
        run = Run(tmp_path / str(number), kind, troubles)
        assert run.end.outcome in ("done", "model-unreachable"), run.end
