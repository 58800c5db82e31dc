"""A hostile or runaway endpoint of a model: whatever it sends, time, memory and what is kept of it stay bounded."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.events import MessageEvent
from agent.model.protocol import Delta, Model, Request
from agent.model.servers.server_probe import probe_server
from agent.model.wire_formats.reply_bounds import MOST_CALLS, MOST_REPLY, ReplyTooLarge
from agent.model.wire_formats.wire_protocol import EventParser
from sandbox.errors import UserError
from tests.support.asking import READ, ask, user
from tests.support.bench import bench
from tests.support.formats import KINDS, model
from tests.support.hostile_endpoint import ATTACKS, SHAPES, HostileEndpoint
from tests.support.raw_endpoint import RawAnswer, RawEndpoint, answer_in_turn, build_refusal, format_event
from tools.session.finish import finish

pytestmark = pytest.mark.slow

SECONDS = 1.5
"""Time that an attack gets before it is interrupted."""

LONGEST_GAP = 1.2
"""Seconds of our own work, by the clock of the thread, in which a limit or Ctrl-C has to wait; a third of it is
usual on a quiet machine."""

MOST_MEMORY = 64 << 20


class Gaps:
    """Measures how long the event loop is kept busy at a time."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest, last = max(self.longest, now - last), now


async def read(stream: AsyncIterator[Delta]) -> None:
    async for _ in stream:
        pass


def attack(name: str, kind: str) -> tuple[float, str, int]:
    """Ask a hostile endpoint; return the longest gap, the error, and the most memory that it cost."""

    async def play(asked: Model) -> tuple[float, str]:
        gaps, problem = Gaps(), "interrupted"
        watching = asyncio.create_task(gaps.watch())
        try:
            async with asyncio.timeout(SECONDS):
                await read(asked.stream(Request(system="", messages=[user("go")], tools=[READ])))
        except TimeoutError:
            pass
        except UserError as error:
            problem = error.message
        finally:
            watching.cancel()
            await asked.close()
        return gaps.longest, problem

    with HostileEndpoint(name, kind) as server:
        tracemalloc.start()
        try:
            gap, problem = asyncio.run(play(model(kind, server)))
            return gap, problem, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_leaves_time_for_other_work_and_costs_little_memory(name: str, kind: str) -> None:
    gap, problem, memory = attack(name, kind)
    assert gap < LONGEST_GAP, problem
    assert memory < MOST_MEMORY, problem


@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_calls_are_refused_and_as_many_as_a_model_makes_are_not(kind: str) -> None:
    with (
        HostileEndpoint("many calls", kind) as server,
        pytest.raises(UserError, match=f"more than {MOST_CALLS} calls"),
    ):
        ask(model(kind, server), [user("go")])
    to = SHAPES[kind]
    calls = b"".join(to.call(n) for n in range(100))
    if kind != "responses":
        calls += b"".join(
            to.arguments(n, '{"path": "a"}' if kind == "anthropic" else '"}') for n in range(100)
        )
    with RawEndpoint(answer_in_turn(to.begin() + calls + b"data: [DONE]\n\n")) as server:
        reply = ask(model(kind, server), [user("go")])
    assert [each.arguments for each in reply.actions] == [{"path": "a"}] * 100


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("endless arguments", "arguments of more than 1 MiB"),
        ("a line without an end", "an event of more than 4 MiB"),
        ("lines without an event", "an event of more than 4 MiB"),
        ("endless thoughts", "a reply of more than 2 MiB"),
        ("a whole answer without an end", "an event of more than 4 MiB"),
    ],
)
def test_what_is_too_large_is_named_and_not_asked_for_again(name: str, said: str) -> None:
    with HostileEndpoint(name) as server:
        with pytest.raises(UserError, match=said):
            ask(model("chat", server), [user("go")])
        assert len(server.requests) == 1


def test_a_turn_keeps_the_beginning_of_an_endless_text_and_ends(tmp_path: Path) -> None:
    with HostileEndpoint("endless text") as server:
        it = bench(tmp_path, [], [finish], snapshots=False)
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        end = it.turn("go")
        asyncio.run(it.runtime.close())
        assert len(server.requests) == 3
    assert end.outcome == "model-unreachable"
    kept = [event for event in it.events if isinstance(event, MessageEvent)]
    assert kept
    assert all(0 < len(event.text) < MOST_REPLY / 4 for event in kept)


def test_events_are_parsed_in_one_pass_however_they_are_cut() -> None:
    sent = (
        b"".join(format_event(f"{n} " + "é\r\n"[: n % 3] * 5) for n in range(200)) + b"data: a\rdata: b\r\r"
    )
    whole = EventParser()
    expected = whole.feed(sent) + whole.finish()
    for size in (1, 2, 3, 7, 64):
        parser = EventParser()
        found = [each for at in range(0, len(sent), size) for each in parser.feed(sent[at : at + size])]
        assert found + parser.finish() == expected
    began = time.thread_time()
    with pytest.raises(ReplyTooLarge):
        [parser.feed(b"x" * 64) for _ in range(1 << 20)]
    assert time.thread_time() - began < 3


def test_a_server_that_answers_byte_by_byte_does_not_hold_up_the_start() -> None:
    def drip() -> Iterator[bytes]:
        while True:
            time.sleep(0.05)
            yield b" "

    with RawEndpoint(lambda body, before: build_refusal("not asked")) as server:
        server.page = RawAnswer(pieces=drip(), kind="application/json")
        began = time.monotonic()
        assert asyncio.run(probe_server(server.url, "m")) is None
        assert time.monotonic() - began < 12
