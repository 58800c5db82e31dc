"""A hostile node of a cluster gets nothing into the sessions of this machine but words, marked as another's."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from agent.events import GoalEvent, Prompt, SessionStart, SnapshotEvent, UndoEvent
from agent.session.log import Session, read_events
from agent.session.received_sessions import take_sessions
from packages.scale.cluster.archives import unpack_folder
from sandbox.errors import UserError
from tests.support.hostile_node import SECRET, HostileNode


@pytest.fixture
def node(tmp_path: Path) -> HostileNode:
    (tmp_path / "sessions").mkdir()
    return HostileNode(received=tmp_path / "received")


def take(node: HostileNode, tmp_path: Path) -> Path:
    sessions = tmp_path / "sessions"
    assert take_sessions(node.received, sessions, node.session, node.started_by) == [node.session]
    return sessions / node.session


def test_a_log_from_a_node_is_stripped_like_an_import(node: HostileNode, tmp_path: Path) -> None:
    node.write_session()
    folder = take(node, tmp_path)
    events = list(read_events(folder))
    assert len(events) == len(node.events)
    start, prompt = events[0], events[1]
    assert isinstance(start, SessionStart)
    assert (start.model, start.system, start.started_by) == ("", "", node.started_by)
    assert isinstance(prompt, Prompt)
    assert (prompt.text, prompt.strategy) == ("go", None)
    assert not [each for each in events if isinstance(each, SnapshotEvent | UndoEvent | GoalEvent)]
    assert SECRET.encode() not in (folder / "log.jsonl").read_bytes()
    session = Session.open(folder)
    session.close()


def test_no_other_file_of_a_node_is_taken(node: HostileNode, tmp_path: Path) -> None:
    node.write_session()
    folder = take(node, tmp_path)
    assert sorted(each.name for each in folder.iterdir()) == ["artifacts", "log.jsonl"]
    assert [each.name for each in (folder / "artifacts").iterdir()] == ["out-1"]
    assert (folder / "artifacts" / "out-1").read_text() == "output [redacted]\n"
    assert (folder / "log.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000 + b"\n",
        b'{"v":2,"id":"e3","parent":"","time":1,"kind":"title","text":"out of order"}\n',
        b'{"v":2,"id":"e9","parent":"","time":1e300,"kind":"title","text":"no time"}\n',
        b'{"v":2,"id":"e9","parent":"","time":1,"kind":"rewind","to":"e99"}\n',
        b'{"v":99,"id":"e9","parent":"","time":1,"kind":"title","text":"newer"}\n',
        b"torn",
        b"\xff\xfe\n",
    ],
    ids=range(7),
)
def test_a_log_is_taken_up_to_its_first_odd_line(line: bytes, node: HostileNode, tmp_path: Path) -> None:
    more = b'{"v":2,"id":"e10","parent":"e9","time":1,"kind":"title","text":"after it"}\n'
    node.write_session(more_lines=line + more)
    assert [each.id for each in read_events(take(node, tmp_path))] == [f"e{n}" for n in range(1, 9)]


@pytest.mark.parametrize("first", [b"", b"\n", b"nonsense\n"])
def test_a_folder_without_a_first_event_is_no_session(
    first: bytes, node: HostileNode, tmp_path: Path
) -> None:
    (node.write_session() / "log.jsonl").write_bytes(first)
    assert take_sessions(node.received, tmp_path / "sessions", node.session, node.started_by) == []
    assert list((tmp_path / "sessions").iterdir()) == []


@pytest.mark.parametrize(
    "members",
    [
        [("../out", tarfile.REGTYPE, "")],
        [("logs", tarfile.SYMTYPE, "/etc")],
        [("a", tarfile.SYMTYPE, "b"), ("a/log.jsonl", tarfile.REGTYPE, "")],
        [
            ("a/b", tarfile.DIRTYPE, ""),
            ("a/up", tarfile.SYMTYPE, ".."),
            ("out", tarfile.SYMTYPE, "a/up/../.."),
        ],
        [("device", tarfile.BLKTYPE, "")],
    ],
    ids=range(5),
)
def test_an_archive_of_a_node_stays_in_its_folder(
    members: list[tuple[str, bytes, str]], node: HostileNode, tmp_path: Path
) -> None:
    packed = tmp_path / "packed.tgz"
    packed.write_bytes(node.build_archive(*members))
    with pytest.raises(UserError, match="archive"):
        unpack_folder(packed, tmp_path / "unpacked")
    assert not (tmp_path / "out").exists()
