"""What a turn survives, and how it ends when it does not: told through scripted models and a loopback server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.context.projection.message_slots import NoteMessage, count_bytes
from agent.events import ErrorEvent, MessageEvent, ObservationEvent, Signal, Steer
from agent.model.http.http_model import HttpModel
from agent.model.model_factory import ModelConfig, create_model
from agent.model.protocol import AssistantMessage, ToolMessage
from agent.model.providers.model_catalog import Listing, Price
from agent.model.servers.server_facts import ServerFacts, ServerMemory
from agent.session.log import read_events
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tests.support.formats import OVERFLOW, model
from tests.support.invariants import list_unanswered_calls
from tests.support.loopback import Loopback, Trouble
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace


@tool("read")
async def look(name: str, *, at: Workspace) -> Observation:
    """Look at something."""
    at.facts.setdefault("looked", []).append(name)
    return Observation(text=f"saw {name} " * 200)


def use(it: Bench, kind: str, server: Loopback, **options: Any) -> None:
    it.runtime.loop.model = it.runtime.model = model(kind, server, **options)


def signals(it: Bench) -> list[str]:
    return [event.detail for event in it.events if isinstance(event, Signal)]


def told(it: Bench) -> list[str]:
    return [event.text for event in it.events if isinstance(event, Steer)]


def test_an_empty_answer_is_asked_again_and_a_turn_of_nothing_else_ends_unachieved(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "\n"}, {"text": " \n"}, {"text": "Here.", "expect": ["was empty"]}], [])
    assert it.turn("go").summary == "Here."
    assert signals(it) == ["the reply was empty; asking again"] * 2
    (tmp_path / "again").mkdir()
    it = bench(tmp_path / "again", [{"text": "", "repeat": 9}], [])
    end = it.turn("go")
    assert (end.outcome, end.exit_code, end.steps) == ("not-achieved", 13, 3)


def test_an_answer_that_reached_its_limit_is_gone_on_with(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "first half", "stop": "length"}, {"text": "second half"}], [])
    assert it.turn("go").summary == "first half second half"
    assert "output limit" in told(it)[0]


def test_an_answer_that_stopped_before_its_end_is_gone_on_with_once(tmp_path: Path) -> None:
    it = bench(
        tmp_path, [{"text": "first half", "stop": "other"}, {"text": "second half", "stop": "other"}], []
    )
    end = it.turn("go")
    assert (end.summary, end.outcome) == ("first half second half", "done")
    assert signals(it) == ["the reply stopped before its end; going on"]


def test_an_answer_that_never_gets_finished_is_not_done_and_all_of_it_is_kept(tmp_path: Path) -> None:
    turns = [{"text": f"part {number}.\n", "stop": "length"} for number in (1, 2, 3)]
    end = bench(tmp_path, turns, []).turn("go")
    assert (end.outcome, end.exit_code, end.steps) == ("not-achieved", 13, 3)
    assert end.summary.startswith("part 1.\npart 2.\npart 3.")
    assert "not finished" in end.summary


def test_the_parts_of_one_answer_are_not_part_of_the_next(tmp_path: Path) -> None:
    cut = {"text": "I look first", "stop": "length"}
    it = bench(
        tmp_path, [cut, {"calls": [call("look", name="a")]}, {"text": "It is a."}, {"text": "Two."}], [look]
    )
    assert it.turn("go").summary == "It is a."
    assert it.turn("and?").summary == "Two."


def test_a_refusal_ends_the_turn_with_what_the_model_said(tmp_path: Path) -> None:
    end = bench(tmp_path, [{"text": "I won't.", "stop": "refusal"}], []).turn("go")
    assert end.outcome == "not-achieved"
    assert end.summary.startswith("I won't.\n\n(The reply ends here: the model refused")


def test_a_model_that_repeats_itself_is_told_so_and_goes_on(tmp_path: Path) -> None:
    turns = [{"calls": [call("look", name="a")], "repeat": 4}, {"text": "enough"}]
    it = bench(tmp_path, turns, [look])
    assert it.turn("go").summary == "enough"
    assert told(it) == [text for text in told(it) if "exactly the same 3 times" in text]
    assert len(told(it)) == 1
    kinds = [type(message) for message in it.request().messages]
    assert kinds[5:9] == [AssistantMessage, ToolMessage, NoteMessage, AssistantMessage]


@pytest.mark.slow
def test_a_model_that_does_not_listen_is_told_four_times_and_then_rarely(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"calls": [call("look", name="a")], "repeat": 110}, {"text": "enough"}], [look])
    assert it.turn("go").summary == "enough"
    assert len(told(it)) == 5


LOOP = "I will look at the file and then I will fix the bug in the function. "


@pytest.mark.parametrize("kind", ["chat", "anthropic"])
def test_a_reply_that_loops_is_stopped_and_its_text_kept_once(kind: str, tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    with Loopback([{"text": "Well. " + LOOP * 300}, {"text": "Mended."}]) as server:
        use(it, kind, server)
        end = it.turn("go")
    assert (end.outcome, end.summary) == ("done", "Mended.")
    assert "repeated one passage" in told(it)[0]
    stopped = next(event for event in it.events if isinstance(event, MessageEvent))
    assert stopped.partial
    assert stopped.text.count("I will look at the file") in (1, 2)


def test_a_model_that_only_loops_ends_the_turn_as_not_achieved(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    with Loopback([{"text": LOOP * 300, "repeat": 9}]) as server:
        use(it, "chat", server)
        end = it.turn("go")
        assert len(server.requests) == 3
    assert (end.outcome, end.exit_code) == ("not-achieved", 13)
    assert "repeated itself without end" in end.summary


@pytest.mark.parametrize(("program", "enforced"), [("llama.cpp", True), ("", False)])
def test_a_second_loop_makes_calls_take_another_form(tmp_path: Path, program: str, *, enforced: bool) -> None:
    it = bench(tmp_path, [], [look])
    spoken = '{"name": "look", "arguments": {"name": "a"}}'
    found = spoken if enforced else f"<tool_call>\n{spoken}\n</tool_call>"
    end = {"name": "answer", "arguments": {"text": "Mended."}}
    with Loopback(
        [
            {"text": LOOP * 300, "repeat": 2},
            {"text": found},
            {"text": json.dumps(end) if enforced else "Mended."},
        ]
    ) as server:
        ServerMemory(tmp_path).remember(server.url, "tiny", ServerFacts(program=program, window=32_768))
        config = ModelConfig(api_base=server.url, env={}, cache=tmp_path)
        it.runtime.loop.model = it.runtime.model = create_model("openai/tiny", config)
        ended = it.turn("go")
        bodies = [each.body for each in server.requests]
    assert (ended.outcome, ended.summary) == ("done", "Mended.")
    assert it.runtime.workspace.facts["looked"] == ["a"]
    assert ["tools" in each for each in bodies] == [True, True, False, False]
    assert ["response_format" in each for each in bodies[2:]] == [enforced, enforced]
    assert bodies[1]["temperature"] > 0
    notes = [each for each in signals(it) if "repeated itself" in each]
    assert "asking again" in notes[0]
    assert ("enforces their form" if enforced else "described in words") in notes[1]
    assert "form" not in notes[0]


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_call_that_loops_is_stopped_too(tmp_path: Path, form: str) -> None:
    it = bench(tmp_path, [], [look])
    begin = '{"name": "look", "arguments": {"name": "' if form == "json" else "<tool_call>\n"
    with Loopback([{"text": begin + LOOP * 400, "repeat": 9}]) as server:
        facts = ServerFacts(program="llama.cpp", window=32_768, format=form)
        ServerMemory(tmp_path).remember(server.url, "tiny", facts)
        config = ModelConfig(api_base=server.url, env={}, cache=tmp_path)
        it.runtime.loop.model = it.runtime.model = create_model("openai/tiny", config)
        end = it.turn("go")
        assert len(server.requests) == 3
    assert (end.outcome, end.exit_code) == ("not-achieved", 13)
    assert [each.partial for each in it.events if isinstance(each, MessageEvent)] == [True] * 3
    assert "stands above" not in told(it)[0], "nothing was shown"


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every model made here is closed."""
    made: list[HttpModel] = []
    init = HttpModel.__init__

    def remembered(self: HttpModel, *arguments: Any, **options: Any) -> None:
        init(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(HttpModel, "__init__", remembered)
    yield
    for each in made:
        asyncio.run(each.close())


def test_ids_that_start_again_in_each_reply_are_told_apart(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    with Loopback([{"calls": [call("look", name="a")], "repeat": 3}, {"text": "ok"}]) as server:
        script = server.script
        numbered = script.build_actions
        script.build_actions = lambda number, turn: tuple(  # type: ignore[method-assign]
            type(each)(id="call_0", tool=each.tool, arguments=each.arguments, raw=each.raw)
            for each in numbered(number, turn)
        )
        script._find_turn_index = lambda messages: sum(  # type: ignore[method-assign]
            isinstance(message, AssistantMessage) for message in messages
        )
        use(it, "anthropic", server)
        assert it.turn("go").summary == "ok"
    ids = [event.call for event in it.events if isinstance(event, ObservationEvent)]
    assert len(set(ids)) == 3


def test_what_came_before_a_broken_connection_is_kept_and_gone_on_from(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    words = "word " * 100
    with Loopback([{"text": words}, {"text": "the rest"}], troubles=[Trouble(cut_after=4000)]) as server:
        use(it, "chat", server)
        end = it.turn("go")
        assert end.summary.startswith("word word")
        assert end.summary.endswith("word the rest")
        sent = server.requests[1].body["messages"]
    assert sent[2]["role"] == "assistant"
    assert sent[2]["content"].startswith("word word")
    assert "cut off" in sent[3]["content"]
    assert [event.partial for event in it.events if isinstance(event, MessageEvent)] == [True, False]
    assert "in the middle of a reply" in signals(it)[0]


def test_what_broke_off_is_in_the_bill(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    words = "word " * 100
    answers = [{"text": words}, {"text": "the rest", "usage": {"input": 100, "output": 10}}]
    with Loopback(answers, troubles=[Trouble(cut_after=4000)]) as server:
        use(it, "chat", server, listing=lambda: Listing(window=100_000, prices=(Price(0, 1e-5, 5e-5, 1e-6),)))
        end = it.turn("go")
    broken, whole = (event for event in it.events if isinstance(event, MessageEvent))
    assert broken.partial
    assert broken.usage.output == pytest.approx(count_bytes(broken.text) / 4, rel=0.5)
    assert broken.usage.input >= it.runtime.projection.fixed_tokens > 0
    assert broken.usage.cost == pytest.approx(broken.usage.input * 1e-5 + broken.usage.output * 5e-5)
    assert whole.usage.cost is not None
    assert end.usage.cost == pytest.approx(broken.usage.cost + whole.usage.cost)
    assert end.usage.output == broken.usage.output + 10


def test_a_connection_that_always_breaks_ends_the_turn_with_its_own_code(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    cuts = [Trouble(cut_after=4000)] * 9
    with Loopback([{"text": "word " * 100, "repeat": 9}], troubles=cuts) as server:
        use(it, "chat", server)
        assert it.turn("go").outcome == "model-unreachable"
        assert len(server.requests) == 3
    assert [event.fault for event in it.events if isinstance(event, ErrorEvent)] == ["model-unreachable"]
    assert list_unanswered_calls(list(read_events(it.runtime.session.folder))) == []


def test_each_turn_has_its_own_patience(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    cuts = [Trouble(cut_after=4000)] * 4
    with Loopback([{"text": "word " * 100, "repeat": 9}], troubles=cuts) as server:
        use(it, "chat", server)
        assert it.turn("go").outcome == "model-unreachable"
        assert it.turn("go on").outcome == "done"
        assert len(server.requests) == 5
    (tmp_path / "empty").mkdir()
    turns = [*[{"text": "\n"}] * 4, {"text": "Here."}]
    it = bench(tmp_path / "empty", turns, [])
    assert it.turn("go").outcome == "not-achieved"
    assert it.turn("go on").summary == "Here."


def test_too_long_a_request_is_compressed_and_sent_once_more(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    turns = [{"calls": [call("look", name=str(number))]} for number in range(6)] + [{"text": "done"}]
    too_long = Trouble(status=400, body=OVERFLOW["chat"])
    with Loopback(turns, troubles=[None] * 6 + [too_long]) as server:
        use(it, "chat", server)
        assert it.turn("go").summary == "done"
        assert len(server.requests) == 8
        assert len(server.requests[7].raw) < len(server.requests[6].raw)
    assert "compaction" in it.kinds()
    assert it.runtime.workspace.facts["looked"] == [str(number) for number in range(6)], "nothing ran twice"


def test_a_request_that_stays_too_long_ends_the_turn_with_both_sizes(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    with Loopback(troubles=[Trouble(status=400, body=OVERFLOW["chat"])] * 5) as server:
        use(it, "chat", server)
        end = it.turn("go")
        assert end.outcome == "configuration"
        assert len(server.requests) == 1
    assert "(9,000 tokens; the window has 8,192)" in end.summary
    assert [event.hint for event in it.events if isinstance(event, ErrorEvent)] == [
        "Shorten the prompt, or use a model, or a setting of the server, with a larger window"
    ]


def test_a_key_of_one_letter_does_not_hide_that_the_request_is_too_long(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    turns = [{"calls": [call("look", name=str(number))]} for number in range(6)] + [{"text": "done"}]
    body = '{"error":{"message":"the request exceeds the available context size (8192 tokens)","code":400}}'
    with Loopback(turns, troubles=[None] * 6 + [Trouble(status=400, body=body)]) as server:
        use(it, "chat", server, key="x")
        assert it.turn("go").summary == "done"
        assert "compaction" in it.kinds()


def test_a_request_that_no_window_holds_is_not_sent(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look])
    with Loopback([{"text": "done"}]) as server:
        use(it, "chat", server, window=10)
        end = it.turn("go")
        assert end.outcome == "configuration"
        assert server.requests == []
    assert "the window has 10)" in end.summary
