"""A look at a session before it is opened says what reading all of its log would say, wherever its index ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import End, Event, MessageEvent, Prompt, SessionStart, Title
from agent.session.log import Session, read_events
from agent.session.session_preview import preview_session

KINDS = st.sampled_from(["session", "prompt", "end", "message", "title", "rewind"])


def made(kind: str, number: int) -> Event:
    match kind:
        case "session":
            return SessionStart(session="s", project="/p", model=f"m{number}", mode="workspace", version="0")
        case "prompt":
            return Prompt(text=f"do {number}")
        case "end":
            return End(outcome="done")
        case "title":
            return Title(text=f"t{number}")
    return MessageEvent(text=f"a{number}", model="m")


@pytest.mark.slow
@given(kinds=st.lists(KINDS, max_size=12), indexed=st.integers(0, 12), torn=st.booleans())
def test_it_says_what_the_whole_log_says(
    kinds: list[str], indexed: int, torn: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    session = Session.create(tmp_path_factory.mktemp("sessions"))
    for number, kind in enumerate(kinds):
        if number == indexed:
            session._index.save()
        if kind == "rewind" and number:
            session.rewind("e1")
        else:
            session.append(made(kind, number))
    if torn:
        with (session.folder / "log.jsonl").open("ab") as file:
            file.write(b'{"v":2,"kind":"prompt","te')
    seen = preview_session(session.folder)
    events = list(read_events(session.folder))
    models = [event.model for event in events if isinstance(event, SessionStart)]
    turns = [event for event in events if isinstance(event, Prompt | End)]
    assert seen.id == session.id
    assert seen.model == (models[-1] if models else "")
    assert seen.unfinished == bool(turns and isinstance(turns[-1], Prompt))
    session.close()


def test_there_is_nothing_to_see_of_a_session_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        preview_session(tmp_path / "none")
