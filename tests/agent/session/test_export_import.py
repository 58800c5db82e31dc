"""Exports hold a whole session; what an import takes over from a stranger is bounded."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from agent.events import (
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    SnapshotEvent,
    UndoEvent,
    parse_event,
)
from agent.session.export_import import export_to_stream, import_from_stream
from agent.session.log import Session
from sandbox.errors import UserError
from tests.support.pictures import make_png


def whole_session(folder: Path) -> Session:
    session = Session.create(folder)
    session.append(
        SessionStart(
            session=session.id, project="/p", model="openai/x", mode="workspace", version="0", system="Obey"
        )
    )
    session.append(Prompt(text="one"))
    session.append(SnapshotEvent(tree="abc", when="before"))
    session.append(UndoEvent(action="undo", steps=[], before="abc", after="def"))
    session.append(MessageEvent(text="two"))
    session.append(Prompt(text="left"))
    session.rewind("e5")
    session.append(Prompt(text="three"))
    (session.folder / "artifacts").mkdir()
    (session.folder / "artifacts/out-1").write_bytes(b"\0 whole \xff")
    return session


def exported(session: Session) -> bytes:
    buffer = io.BytesIO()
    export_to_stream(session.folder, buffer)
    return buffer.getvalue()


def test_an_export_comes_back_with_its_branches_and_outputs(tmp_path: Path) -> None:
    session = whole_session(tmp_path / "a")
    again = import_from_stream(io.BytesIO(exported(session)), tmp_path / "b")
    assert [getattr(e, "text", e.kind) for e in again.replayed] == [
        "session", "one", "signal", "signal", "two", "rewind", "three",
    ]  # fmt: skip
    assert (again.folder / "artifacts/out-1").read_bytes() == b"\0 whole \xff"
    assert (again.folder / "log.jsonl").stat().st_mode & 0o777 == 0o600
    again.rewind("e6")
    assert [p.text for p in again.list_prompts()] == ["one", "left"], "the branch that was left is there, too"
    session.close()
    again.close()


def test_an_import_takes_over_no_orders_of_a_stranger(tmp_path: Path) -> None:
    session = whole_session(tmp_path / "a")
    again = import_from_stream(io.BytesIO(exported(session)), tmp_path / "b")
    [start] = again.replayed.select_events(SessionStart)
    assert (start.system, start.model) == ("", "")
    assert not list(again.replayed.select_events(SnapshotEvent, UndoEvent))
    session.close()
    again.close()


HEAD = b'{"patchwright_export":1,"session":"s"}\n'
EVENT = b'{"v":2,"id":"e1","parent":"","time":1,"kind":"prompt","text":"x"}\n'

SECOND = b'{"v":2,"id":"e2","parent":"e1","time":1,"kind":%s}\n'
COMPACTION = b'"compaction","tokens_before":9,"tokens_after":1,"reason":"r"'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not an export"),
        (b"[]\n", "not an export"),
        (b'{"patchwright_export":99}\n', "format 99"),
        (HEAD, "holds no events"),
        (HEAD + b"nonsense\n", "line 2 of the export is damaged"),
        (HEAD + EVENT + EVENT, "line 3 .* out of order"),
        (HEAD + b'{"kind":"prompt","id":"e1"}\n', "line 2 .* damaged"),
        (HEAD + EVENT + b'{"artifact":"../../x","base64":""}\n', "names no artifact"),
        (HEAD + EVENT + b'{"artifact":"out:1","base64":"?"}\n', "line 3 .* damaged"),
        (
            HEAD + EVENT + b'{"artifact":"out:1","base64":""}\n{"artifact":"out:01","base64":""}\n',
            "there twice",
        ),
        (HEAD + EVENT + b'{"artifact":"out:' + b"1" * 300 + b'","base64":""}\n', "names no artifact"),
        (HEAD + EVENT + SECOND % b'"rewind","to":"e2"', "line 3 .* not before it"),
        (HEAD + EVENT + SECOND % b'"rewind","to":"there"', "line 3 .* damaged"),
        (HEAD + EVENT + SECOND % (COMPACTION + b',"masked":{"e7":""}'), "line 3 .* not before it"),
        (HEAD + EVENT + SECOND % (COMPACTION + b',"state":{"goals":5}'), "line 3 .* facts of another form"),
        (HEAD + EVENT + SECOND % (COMPACTION + b',"state":{"files":{"a":[1,2,3,4]}}'), "line 3 .* damaged"),
        (HEAD + b'{"kind":' + b"[" * 100_000 + b"\n", "line 2 .* damaged"),
    ],
)
def test_what_is_no_whole_export_is_refused(tmp_path: Path, text: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said):
        import_from_stream(io.BytesIO(text), tmp_path)
    assert not list(tmp_path.rglob("log.jsonl"))


def test_secrets_do_not_come_in_by_an_import(tmp_path: Path) -> None:
    key = "sk-proj-" + "A1b2C3d4" * 6
    event = {"v": 2, "id": "e1", "parent": "", "time": 1, "kind": "prompt", "text": f"use {key}"}
    session = import_from_stream(io.BytesIO(HEAD + json.dumps(event).encode() + b"\n"), tmp_path)
    session.close()
    assert key not in (session.folder / "log.jsonl").read_text()


def test_a_compaction_of_the_first_format_is_brought_up_to_date() -> None:
    line = b'{"v":1,"id":"e9","kind":"compaction","masked":["e3"],"tokens_before":9,"tokens_after":1,"reason":"r"}'
    event = parse_event(line)
    assert (event.v, vars(event)["masked"], vars(event)["stage"]) == (2, {"e3": ""}, "masking")
    assert isinstance(
        parse_event(b'{"v":1,"id":"e1","kind":"observation","call":"a","tool":"t","text":""}'),
        ObservationEvent,
    )


def test_pictures_go_along_and_no_file_that_is_none_comes_in(tmp_path: Path) -> None:
    from agent.session.images import attach_images, load_image

    picture = make_png()
    (tmp_path / "shot.png").write_bytes(picture)
    session = Session.create(tmp_path / "a")
    text, names = attach_images("look at @shot.png", tmp_path, session.folder)
    session.append(Prompt(text=text, images=names))
    session.close()
    sent = exported(session)
    assert json.loads(sent.splitlines()[0])["patchwright_export"] == 2
    again = import_from_stream(io.BytesIO(sent), tmp_path / "b")
    assert load_image(again.folder, names[0]) == load_image(session.folder, names[0]) is not None
    again.close()
    for wrong in ("../../evil.png", "0" * 16 + ".png"):
        with pytest.raises(UserError, match="is no picture"):
            import_from_stream(io.BytesIO(sent.replace(names[0].encode(), wrong.encode())), tmp_path / "c")
