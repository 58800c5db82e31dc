"""Branches of a log: going back, forking, and opening a long one without reading it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import (
    ActionEvent,
    AskedAction,
    Event,
    Fork,
    MessageEvent,
    ObservationEvent,
    Prompt,
    Rewind,
    SessionStart,
    Title,
    parse_event,
    parsing,
    render_event,
)
from agent.session.branch_history import History
from agent.session.export_import import create_fork
from agent.session.log import INTERRUPTED, Session, read_events
from agent.session.log_index import LogIndex, parse_event_id
from agent.session.log_lines import parse_log_line
from sandbox.errors import UserError


def texts(session: Session) -> list[str]:
    return [getattr(event, "text", event.kind) for event in session.replayed]


def reopened(session: Session) -> Session:
    session.close()
    return Session.open(session.folder)


def conversation(folder: Path, *prompts: str) -> Session:
    session = Session.create(folder)
    for text in prompts:
        session.append(Prompt(text=text))
    return session


def test_going_back_starts_a_new_branch_and_the_old_one_stays(tmp_path: Path) -> None:
    session = conversation(tmp_path, "one", "two", "three")
    event = session.rewind("e1")
    assert (event.id, event.parent, event.to) == ("e4", "e1", "e1")
    session.append(Prompt(text="other"))
    assert texts(session) == ["one", "rewind", "other"]
    assert [point.text for point in session.list_prompts()] == ["one", "other"]
    again = reopened(session)
    assert texts(again) == ["one", "rewind", "other"]
    again.rewind("e3")
    assert texts(again) == ["one", "two", "three", "rewind"], "the old branch can be taken up again"
    again.close()
    assert len(list(read_events(again.folder))) == 6, "nothing is ever taken out of the log"


def test_going_back_to_an_event_that_is_not_there_is_refused(tmp_path: Path) -> None:
    session = conversation(tmp_path, "one")
    for wrong in ("e2", "e0", "nonsense", "e1x"):
        with pytest.raises(UserError, match="has no event"):
            session.rewind(wrong)
    assert len(session.replayed) == 1
    session.close()


def test_going_back_into_a_batch_answers_what_was_answered_only_later(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    session.append(
        MessageEvent(actions=[AskedAction(id="a", tool="read"), AskedAction(id="b", tool="shell")])
    )
    session.append(ObservationEvent(call="a", tool="read", text="A"))
    session.append(ActionEvent(call="b", tool="shell", effect="execute"))
    session.append(ObservationEvent(call="b", tool="shell", text="B"))
    session.rewind("e2")
    assert texts(session) == ["", "A", "rewind", INTERRUPTED]
    assert len(reopened(session).replayed) == 4, "and is not answered again on opening"


def test_subscribers_that_can_start_over_are_handed_the_branch(tmp_path: Path) -> None:
    session = conversation(tmp_path, "one", "two")
    view: list[str] = []
    told: list[str] = []
    session.subscribe(lambda event: view.append(event.id), replay=True, restart=view.clear)
    session.subscribe(lambda event: told.append(event.kind))
    session.rewind("e1")
    assert view == ["e1", "e3"]
    assert told == ["rewind"]
    session.close()


@pytest.mark.parametrize("checkpoint", ["whole", "none", "torn", "older", "foreign"])
def test_a_crash_after_going_back_changes_no_branch(tmp_path: Path, checkpoint: str) -> None:
    """Whatever state the index was left in, the log says what holds."""
    session = conversation(tmp_path, "one", "two")
    session.append(MessageEvent(actions=[AskedAction(id="a", tool="read")]))
    session._index.save()
    session.append(ObservationEvent(call="a", tool="read", text="A"))
    session.rewind("e1")
    session.append(Prompt(text="three"))
    expected = texts(session)
    older = {p.name: p.read_bytes() for p in session.folder.glob("log.*") if p.name != "log.jsonl"}
    session.close()
    if checkpoint == "none":
        (session.folder / "log.index").unlink()
    elif checkpoint == "torn":
        data = (session.folder / "log.index").read_bytes()
        (session.folder / "log.index").write_bytes(data[:-3])
    elif checkpoint == "older":
        for name, content in older.items():
            (session.folder / name).write_bytes(content)
    elif checkpoint == "foreign":
        (session.folder / "log.state.json").write_text('{"version": 1, "count": 2, "size": 7, "check": 1}')
    again = Session.open(session.folder)
    assert texts(again) == expected
    again.close()


def test_a_fork_holds_the_history_up_to_its_event(tmp_path: Path) -> None:
    session = conversation(tmp_path, "one", "two")
    session.rewind("e1")
    session.append(Prompt(text="three"))
    (session.folder / "artifacts").mkdir()
    (session.folder / "artifacts/out-1").write_text("whole")
    copy = create_fork(session.folder, title="another way")  # while the first is open
    assert texts(copy) == ["one", "rewind", "three", "fork", "another way"]
    assert [(e.origin, e.at) for e in copy.replayed.select_events(Fork)] == [(session.id, "e4")]
    assert (copy.folder / "artifacts/out-1").read_text() == "whole"
    copy.append(Prompt(text="only there"))
    assert texts(session) == ["one", "rewind", "three"]
    old_branch = create_fork(session.folder, "e2")
    assert texts(old_branch) == ["one", "two", "fork"]
    with pytest.raises(UserError, match="no event 'e9'"):
        create_fork(session.folder, "e9")
    for each in (session, copy, old_branch):
        each.close()


@pytest.mark.slow
def test_a_long_log_opens_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.create(tmp_path)
    session.append(SessionStart(session="s", project="p", model="m", mode="workspace", version="0"))
    for i in range(1_000):
        session.append(MessageEvent(actions=[AskedAction(id=f"c{i}", tool="read")]))
        session.append(ObservationEvent(call=f"c{i}", tool="read", text=f"{i} " + "x" * 3_000))
    session.append(Title(text="long"))
    session.close()
    size = (session.folder / "log.jsonl").stat().st_size
    taken: list[int] = []

    def count_line(line: bytes, path: Path, start: int) -> Event:
        taken.append(len(line))
        return parse_log_line(line, path, start)

    monkeypatch.setattr("agent.session.log_lines.parse_log_line", count_line)
    again = Session.open(session.folder)
    assert size > 3_000_000
    assert len(again.replayed) == 2_002
    assert sum(taken) == 0
    assert [title.text for title in again.replayed.select_events(Title)] == ["long"]
    assert next(iter(reversed(again.replayed))).kind == "title"
    assert sum(taken) < 1_000
    again.append(Prompt(text="go on"))
    again.close()


# What JSON has no number for, a log has as text.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.text(), st.dictionaries(st.text(), JSON, max_size=3))
def test_a_line_says_the_same_read_at_once_or_step_by_step(text: str, data: dict[str, object]) -> None:
    for event in (
        ObservationEvent(id="e1", call="c", tool="read", text=text, data=data),
        MessageEvent(id="e2", actions=[AskedAction(id="c", tool="read", arguments=data)], kept=[data]),
        SessionStart(session="s", project=text, model="m", mode="full", version="0", outputs="once"),
    ):
        line = render_event(event)
        at_once, step_by_step = parsing._parse_fast(line), parsing._parse_with_migration(line)
        assert at_once == step_by_step
        assert at_once is not None
        assert vars(at_once) == vars(event)


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        (b'"kind":"prompt","text":"\\ud800"}', "Prompt"),
        (b'"kind":"prompt","text":"x","more":' + b"[" * 300 + b"]" * 300 + b"}", "Prompt"),
        (b'"kind":"prompt","text":"x","kind":"title"}', "Title"),
        (b'"kind":"prompt","text":"x","v":1}', "Prompt"),
        (b'"kind":"of another time","text":"x"}', "UnknownEvent"),
        (b'"kind":"prompt","text":"x","v":99}', "newer"),
        (b'"kind":"prompt","text":7}', "valid string"),
        (b'"kind":"prompt"', "delimiter"),
    ],
)
def test_an_odd_line_is_read_step_by_step(then: bytes, expected: str) -> None:
    line = b'{"v":2,"id":"e1","parent":"","time":1.5,' + then
    assert parsing._parse_fast(line) is None
    if expected[0].isupper():
        assert type(parse_event(line)).__name__ == expected
        return
    with pytest.raises(ValueError, match=expected):
        parse_event(line)


class Model:
    """The same tree in the plainest way: each event with its parent."""

    def __init__(self) -> None:
        self.parents: list[int] = []

    def add(self, parent: int | None = None) -> None:
        self.parents.append(len(self.parents) if parent is None else parent)

    def path(self) -> list[int]:
        at, found = len(self.parents), []
        while at:
            found.append(at)
            at = self.parents[at - 1]
        return found[::-1]


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.integers(1, 40)), max_size=60))
def test_the_branch_is_the_chain_of_parents(steps: list[int | None]) -> None:
    index, model = LogIndex(Path("unused")), Model()
    for step in [None, *steps]:
        to = min(step, index.count) if step is not None else 0
        event = Rewind(to=f"e{to}") if to else Prompt(text="x")
        index.add_event(event, b"line\n")
        model.add(to or None)
    history = History(Path("unused"), index)
    assert [n for first, last in history.list_runs() for n in range(first, last + 1)] == model.path()
    assert len(history) == len(model.path())


@pytest.mark.parametrize("wrong", ["", "x1", "e", "e1.5"])
def test_what_is_no_id_has_no_place(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"not the id|invalid literal"):
        parse_event_id(wrong)
