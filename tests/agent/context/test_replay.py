"""A long session is taken up again from its last summary on, and is then what it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.context.compressor import Compressor
from agent.context.facts import Facts
from agent.context.projection import Projection
from agent.context.replay import take_in
from agent.events import AskedAction, Event, MessageEvent, ObservationEvent, Prompt, SessionStart, parse
from agent.session import Session


def long_log(folder: Path, steps: int) -> tuple[Session, Projection, Facts]:
    """A session that was summed up several times, with what a process that wrote it knows."""
    session, projection, facts = Session.create(folder), Projection([]), Facts()
    take_in(session, projection, facts)
    compressor = Compressor(projection=projection, facts=facts, window=lambda: 6_000)
    session.append(
        SessionStart(session="s", project="/p", model="m", mode="workspace", version="0", system="S")
    )

    async def due() -> None:
        async for event in compressor.due():
            session.append(event)

    for i in range(steps):
        if i % 50 == 0:
            session.append(Prompt(text=f"Go on. You must never touch lib{i}."))
        asyncio.run(due())
        asked = AskedAction(id=f"c{i}", tool="read", arguments={"path": f"m{i % 7}.py"})
        session.append(MessageEvent(text=f"I read it because of {i}.", actions=[asked]))
        text = "".join(f"{n}\tdef f_{i}_{n}(): pass\n" for n in range(30))
        data = {"path": f"m{i % 7}.py", "first": 1, "last": 30}
        session.append(ObservationEvent(call=f"c{i}", tool="read", text=text, data=data))
    return session, projection, facts


@pytest.mark.slow
def test_a_long_session_resumes_without_its_past_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, projection, facts = long_log(tmp_path, 240)
    session.close()
    taken: list[int] = []

    def counted(line: bytes) -> Event:
        taken.append(len(line))
        return parse(line)

    monkeypatch.setattr("agent.history.parse", counted)
    monkeypatch.setattr("agent.session.parse", counted)
    again, resumed, known = Session.open(session.folder), Projection([]), Facts()
    take_in(again, resumed, known)
    again.close()
    assert sum(taken) < (session.folder / "log.jsonl").stat().st_size / 4
    assert [m.text for m in resumed.messages] == [m.text for m in projection.messages]
    assert known.as_data() == facts.as_data()
    assert len(known.constraints) == 5


def test_facts_of_a_session_that_went_back_are_those_of_its_branch(tmp_path: Path) -> None:
    session, projection, facts = long_log(tmp_path, 120)
    session.rewind("e8")
    assert list(facts.constraints) == ["You must never touch lib0."]
    assert facts.steps == 3
    assert len(projection.messages) == 7
    session.close()
    again, resumed, known = Session.open(session.folder), Projection([]), Facts()
    take_in(again, resumed, known)
    assert known.as_data() == facts.as_data()
    again.close()
