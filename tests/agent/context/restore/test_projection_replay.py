"""A long session is taken up again from its last summary on, and is then what it was."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from agent.context.compression.compressor import Compressor
from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import Projection
from agent.context.restore.projection_checkpoint import NAME
from agent.context.restore.projection_replay import follow_session, undo_compaction
from agent.events import (
    ActionEvent,
    AskedAction,
    Compaction,
    Event,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    SessionStart,
)
from agent.session.log import Session
from agent.session.log_index import parse_event_id
from agent.session.log_lines import parse_log_line
from tests.support.invariants import check_messages, check_view


def long_log(folder: Path, steps: int) -> tuple[Session, Projection, Facts]:
    """A session that was summed up several times, with what a process that wrote it knows."""
    session, projection, facts = Session.create(folder), Projection([]), Facts()
    follow_session(session, projection, facts)
    compressor = Compressor(projection=projection, facts=facts, window=lambda: 6_000)
    session.append(
        SessionStart(session="s", project="/p", model="m", mode="workspace", version="0", system="S")
    )

    async def due() -> None:
        async for event in compressor.compact_if_due():
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

    def count_line(line: bytes, path: Path, start: int) -> Event:
        taken.append(len(line))
        return parse_log_line(line, path, start)

    monkeypatch.setattr("agent.session.log_lines.parse_log_line", count_line)
    again, resumed, known = Session.open(session.folder), Projection([]), Facts()
    follow_session(again, resumed, known)
    again.close()
    assert sum(taken) < (session.folder / "log.jsonl").stat().st_size / 4
    assert [m.text for m in resumed.messages] == [m.text for m in projection.messages]
    assert known.as_data() == facts.as_data()
    assert len(known.constraints) == 5


def never_shortened(folder: Path) -> Session:
    """A long session that another program has written, say: of the kinds of events that facts are read off."""
    session = Session.create(folder)
    session.append(
        SessionStart(session="s", project="/p", model="m", mode="workspace", version="0", system="S")
    )
    for i in range(200):
        if i % 40 == 0:
            session.append(Prompt(text=f"Go on. You must never touch lib{i}."))
        tool, data = "read", {"path": f"m{i % 7}.py", "first": 1, "last": 30}
        if i % 50 == 7:
            tool, data = "memory", {"note": f"note {i}"}
        if i % 50 == 9:
            tool, data = "edit", {"path": f"n{i}.py", "changed": [f"n{i}.py"]}
        asked = AskedAction(id=f"c{i}", tool=tool, arguments={"path": f"m{i % 7}.py"})
        session.append(MessageEvent(text=f"I use part {i}, because it fits.", actions=[asked]))
        session.append(ActionEvent(call=f"c{i}", tool=tool, effect="write" if tool == "edit" else "read"))
        text = "".join(f"{n}\tdef f_{i}_{n}(): pass\n" for n in range(30))
        session.append(ObservationEvent(call=f"c{i}", tool=tool, text=text, data=data))
        if i % 60 == 5:
            session.append(PlanEvent(items=[(f"item {i}", "open")]))
    session.rewind(f"e{session.replayed.count - 9}")
    session.append(Prompt(text="And now?"))
    session.close()
    return session


def taken_up(folder: Path) -> tuple[Facts, Compaction, list[str], list[str]]:
    """A first request: the facts, the compaction that made it, its texts; and those when that was undone."""
    session, projection, facts = Session.open(folder), Projection([]), Facts()
    follow_session(session, projection, facts)
    compressor = Compressor(projection=projection, facts=facts, window=lambda: 6_000, cold=True)
    made: list[Compaction] = []

    async def due() -> None:
        async for event in compressor.compact_if_due():
            session.append(event)
            made.append(event)

    asyncio.run(due())
    events = {parse_event_id(event.id): event for event in session.replayed}
    assert check_view(projection.slots, events) == []
    assert check_messages(projection.messages) == []
    texts = [message.text for message in projection.messages]
    session.close()
    (folder / NAME).unlink(missing_ok=True)
    again, resumed, known = Session.open(folder), Projection([]), Facts()
    follow_session(again, resumed, known)
    assert [message.text for message in resumed.messages] == texts
    undo_compaction(again, resumed, made[0])
    again.close()
    return facts, made[0], texts, [message.text for message in resumed.messages]


@pytest.mark.slow
def test_the_far_past_of_a_log_that_was_never_shortened_is_left_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is lost by that but what old steps looked at without changing it."""
    folder = never_shortened(tmp_path / "a").folder
    whole = Path(shutil.copytree(folder, tmp_path / "b"))
    monkeypatch.setattr("agent.context.compression.compressor.NEVER_SENT", 30_000)
    monkeypatch.setattr("agent.context.restore.lazy_history.NEVER_SENT", 30_000)
    facts, compaction, texts, undone = taken_up(whole)
    monkeypatch.setattr("agent.context.restore.projection_replay.FAR", 90_000)
    taken: list[int] = []

    def count_line(line: bytes, path: Path, start: int) -> Event:
        taken.append(len(line))
        return parse_log_line(line, path, start)

    with monkeypatch.context() as patch:
        patch.setattr("agent.session.log_lines.parse_log_line", count_line)
        session, projection, known = Session.open(folder), Projection([]), Facts()
        follow_session(session, projection, known)
        session.close()
    assert sum(taken) < (folder / "log.jsonl").stat().st_size / 2
    assert any("not read yet" in message.text for message in projection.messages)
    known, other, those, again = taken_up(folder)
    assert again == undone
    assert (other.stage, other.folds[0].first, other.folds[0].last) == (
        compaction.stage,
        compaction.folds[0].first,
        compaction.folds[0].last,
    )
    assert [text for text in those if "made by code" not in text] == [
        text for text in texts if "made by code" not in text
    ]
    every = known.as_data() | {
        "files": {path: known.files[path].last_change for path in known.list_changed_files()}
    }
    assert every == facts.as_data() | {
        "files": {path: facts.files[path].last_change for path in facts.list_changed_files()}
    }
    assert (len(known.constraints), len(known.notes), len(known.list_changed_files())) == (5, 4, 4)


@pytest.mark.slow
def test_facts_of_a_session_that_went_back_are_those_of_its_branch(tmp_path: Path) -> None:
    session, projection, facts = long_log(tmp_path, 120)
    session.rewind("e8")
    assert list(facts.constraints) == ["You must never touch lib0."]
    assert facts.steps == 3
    assert len(projection.messages) == 7
    session.close()
    again, resumed, known = Session.open(session.folder), Projection([]), Facts()
    follow_session(again, resumed, known)
    assert known.as_data() == facts.as_data()
    again.close()
