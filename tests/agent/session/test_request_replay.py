"""A session from its log once more: the same bytes, no network, and a difference that is shown."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from agent.budget.limits import MaxCost, MaxSteps
from agent.context.projection.message_slots import StateMessage
from agent.events import Compaction, MessageEvent
from agent.model.protocol import Reply, Request, UserMessage
from agent.model.scripted.cassette import Cassette, write_cassette
from agent.model.wire_formats.chat_completions import ChatWire
from agent.session.log import read_events
from agent.session.request_record import RequestDigest, digest_request
from agent.session.request_replay import replay_steps
from sandbox.errors import UserError
from tests.support.asking import ask
from tests.support.bench import bench
from tests.support.cli import Result, call, environment, git, run
from tests.support.formats import OVERFLOW, model
from tests.support.loopback import Loopback, Trouble
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace


@tool("read")
async def look(name: str, *, at: Workspace) -> Observation:
    """Look at something long."""
    return Observation(text=f"saw {name} ü " * 300)


def test_every_request_is_made_again_byte_by_byte(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [look], limits=[MaxCost(5.0), MaxSteps(20)])
    turns: list[dict[str, Any]] = [
        {
            "text": f"step {number}",
            "calls": [call("look", name=str(number))],
            "usage": {"input": 900, "cost": 0.1},
        }
        for number in range(7)
    ]
    turns += [{"text": " "}, {"text": "done"}, {"text": "and more"}]
    too_long = Trouble(status=400, body=OVERFLOW["chat"])
    with Loopback(turns, troubles=[None] * 5 + [too_long]) as server:
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        seconds = itertools.count()
        it.runtime.loop.compressor.list_running_commands = lambda: [f"server: up for {next(seconds)} s"]
        it.turn("Look at all of it, but never touch b.py.")
        it.turn("and then?")
        sent = [request.raw for request in server.requests if request is not server.requests[5]]
    assert any(isinstance(event, Compaction) for event in it.events), "the past was compressed on the way"
    found = list(replay_steps(read_events(it.runtime.session.folder)))
    assert [step.changed_parts for step in found] == [[]] * len(sent)
    wire = ChatWire("tiny")
    assert [wire.body(step.request) for step in found] == sent


def test_the_tools_are_known_after_going_back_to_before_they_were_written_down(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "one"}, {"text": "two"}], [look])
    it.turn("go")
    [point] = it.runtime.session.list_prompts()
    it.runtime.session.rewind(point.parent)
    it.turn("go on, then")
    assert [step.changed_parts for step in replay_steps(it.runtime.session.replayed)] == [[]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.py").write_text("x = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    return root


TURNS = [
    {"text": "I look.", "calls": [call("read", path="a.py")]},
    {"calls": [call("search", pattern="x")]},
    {"text": "x is 1."},
]


def session(project: Path, server: Loopback) -> str:
    done = run(
        "run", "what is x?", "--no-commit", "--output", "json", "--model", "openai/tiny", "--api-base", server.url,
        cwd=project,
    )  # fmt: skip
    assert done.code == 0, done.err
    return str(done.events[0]["session"])


def replay(project: Path, *arguments: str | Path) -> Result:
    return run("replay", *arguments, cwd=project, env={"HTTP_PROXY": "http://127.0.0.1:1"})


@pytest.mark.slow
def test_a_session_is_replayed_compared_and_recorded_without_a_network(project: Path, tmp_path: Path) -> None:
    with Loopback(TURNS) as server:
        name = session(project, server)
        asked = len(server.requests)
        done = replay(project, name, "--cassette", tmp_path / "tape.jsonl")
        assert len(server.requests) == asked
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split("→")[1].strip() for line in lines[:3]] == ["read", "search", "x is 1."]
    assert all("same " in line for line in lines[:3])
    assert replay(project, name, "--until", "1").out.count("messages") == 1

    again = run(
        "run", "what is x?", "--no-commit", "--model", f"cassette:{tmp_path / 'tape.jsonl'}", cwd=project
    )
    assert (again.code, again.out) == (0, "x is 1.\n"), again.err
    other = run(
        "run", "what is y?", "--no-commit", "--model", f"cassette:{tmp_path / 'tape.jsonl'}", cwd=project
    )
    assert other.code == 6
    assert "-what is x?" in other.err
    assert "+what is y?" in other.err


@pytest.mark.slow
def test_another_model_is_asked_the_same_and_its_answer_is_compared(project: Path) -> None:
    with Loopback(TURNS) as server:
        name = session(project, server)
        sent = server.requests[2].body["messages"]
    with Loopback([{"text": "x is one."}]) as server:
        done = run("replay", name, "--model", "openai/other", "--api-base", server.url, cwd=project)
        assert done.err == ""
        assert server.requests[0].body["messages"] == sent
    assert done.code == 0, done.err
    assert "-x is 1." in done.out
    assert "+x is one." in done.out


@pytest.mark.slow
def test_a_log_that_was_changed_gives_other_requests_and_says_in_what(project: Path) -> None:
    with Loopback(TURNS) as server:
        name = session(project, server)
    [log] = Path(environment()["PATCHWRIGHT_HOME"]).glob(f"data/projects/*/sessions/{name}/log.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    events[1]["text"] = "what is y?"
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    done = replay(project, name)
    assert done.code == 13
    assert "differs in messages" in done.out


@pytest.mark.slow
def test_a_replay_of_nothing_says_so(project: Path) -> None:
    done = replay(project, "nonsense")
    assert done.code == 2
    assert "no session 'nonsense'" in done.err


def test_a_cassette_keeps_every_character(tmp_path: Path) -> None:
    odd = "a\u2028b\x85c\x0cd\r\ne \udc80 ü"
    messages = [UserMessage(text=odd)]
    assert write_cassette(tmp_path / "tape.jsonl", [(messages, Reply(text=odd))]) == 1
    assert ask(Cassette(tmp_path / "tape.jsonl"), messages).text == odd


@pytest.mark.parametrize("text", ["not json\n", '{"keep": 0}\n', '{"keep":0,"messages":[],"reply":{}}\n'])
def test_a_damaged_cassette_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match="line 1 of the cassette"):
        Cassette(path)


def test_the_tools_are_written_down_once(tmp_path: Path) -> None:
    turns = [{"calls": [call("look", name=str(number))]} for number in range(3)] + [{"text": "done"}]
    it = bench(tmp_path, turns, [look])
    it.turn("go")
    records = [event.request for event in it.events if isinstance(event, MessageEvent)]
    assert ["tools" in record for record in records] == [True, False, False, False]
    assert all(record["digest"] for record in records)


def test_a_continued_digest_is_that_of_the_whole_request() -> None:
    first, second, third, other = (UserMessage(text=text) for text in ("one", "two", "three", "other"))
    ledger, later = StateMessage(text="left: 9"), StateMessage(text="left: 8")
    digest = RequestDigest()
    conversations = [
        [first, ledger],
        [first, second, third, later],
        [first, second, third],
        [first, other, later],  # rewound
        [other],
        [],
    ]
    found = [Request(system="s", tools=[], messages=each) for each in conversations]
    assert [digest.compute(each) for each in found] == [digest_request(each) for each in found]
    assert len({digest_request(each) for each in found}) == len(found)
