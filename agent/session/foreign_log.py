"""The one filter for logs that were written elsewhere: exports, and sessions that come back from other machines.

They are untrusted. Their system prompts and models are not taken over (a resumed session gets the present ones), nor
their snapshots and undo events (they name trees in another machine's store), nor their goals (their check is a
command), nor how their turns were made (a cluster, models, a patch to apply).
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.app_dirs import make_private_folder
from agent.context.compression.summary import build_sections
from agent.context.ledger.session_facts import Facts
from agent.context.ledger.state_ledger import render_ledger
from agent.events import (
    Compaction,
    Event,
    GoalEvent,
    Prompt,
    Rewind,
    SessionStart,
    Signal,
    SnapshotEvent,
    UndoEvent,
    parse_event,
    render_event,
)
from agent.session.images import FOLDER as IMAGES
from agent.session.images import LARGEST as LARGEST_IMAGE
from agent.session.images import derive_image_name
from agent.session.log_index import parse_event_id
from sandbox.fs.private_files import open_private, write_private_file
from sandbox.fs.regular_file import read_regular_file
from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.child_environment import redact_bytes

MAX_ARTIFACT = 64 << 20
"""Largest artifact that is taken over, in bytes; outputs are capped at less when recorded."""

MAX_LINE = 64 << 20
"""Bytes of one event: an answer with its longest arguments is a tenth of it."""

_ARTIFACT = compile_lazily(r"out-[0-9]{1,9}", re.ASCII)


def filter_line(line: bytes, number: int) -> bytes:
    """Return a line of a foreign log, the number-th, as it is taken over. Raises ValueError, TypeError, KeyError,
    AttributeError or RecursionError for one with which the session could not be resumed; NewerFormat."""
    event = strip_local_state(parse_event(line))
    if parse_event_id(event.id) != number:
        raise ValueError(f"event {event.id!r} is out of order")
    _check_event(event)
    return redact_bytes(render_event(event))


def copy_foreign_session(source: Path, target: Path) -> None:
    """Copy what is taken over of a session's folder to a new one: its log up to the first damage, artifacts, images.

    Nothing else of it counts: no index, no record of a process, no mailbox, no question. Blocking. Raises OSError, also
    for a log without a first event.
    """
    make_private_folder(target)
    with (
        (source / "log.jsonl").open("rb") as log,
        open(target / "log.jsonl", "xb", opener=open_private) as copy,
    ):
        for line in _filter_log(log.readline):
            copy.write(line)
        if not copy.tell():
            raise OSError(errno.EBADMSG, "no event", str(source))
    for path in sorted((source / "artifacts").glob("out-*")):
        if _ARTIFACT.fullmatch(path.name) and (content := read_regular_file(path, MAX_ARTIFACT)) is not None:
            write_private_file(make_private_folder(target / "artifacts") / path.name, redact_bytes(content))
    for path in sorted((source / IMAGES).glob("[!.]*")):
        content = read_regular_file(path, LARGEST_IMAGE)
        if content is not None and path.name == derive_image_name(content):
            write_private_file(make_private_folder(target / IMAGES) / path.name, content)


def _filter_log(read_line: Callable[[int], bytes]) -> Iterator[bytes]:
    number = 0
    while (line := read_line(MAX_LINE)).endswith(b"\n"):
        number += 1
        try:
            yield filter_line(line, number)
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
        ):  # NewerFormat is a ValueError
            return


def strip_local_state(event: Event) -> Event:
    """Return an event of another machine's session without the fields that are only valid there."""
    if isinstance(event, SessionStart):
        event.system = event.model = ""
    if isinstance(event, Prompt):
        event.strategy = None
    if isinstance(event, SnapshotEvent | UndoEvent | GoalEvent):
        return Signal(
            name=event.kind, detail="of another machine", id=event.id, parent=event.parent, time=event.time
        )
    return event


def _check_event(event: Event) -> None:
    """Raise ValueError, TypeError or AttributeError if resuming the session would fail on the event."""
    named: list[str] = []
    if isinstance(event, Rewind):
        named = [event.to]
    elif isinstance(event, Compaction):
        named = [*event.masked, *(each for fold in event.folds for each in (fold.first, fold.last))]
        facts, known = Facts(), Facts().as_data()
        if any(type(event.state[key]) is not type(known[key]) for key in event.state.keys() & known.keys()):
            raise ValueError(f"event {event.id!r} holds facts of another form")
        facts.load(event.state)
        build_sections(facts)
        render_ledger(facts, shortened=True)
    if not all(1 <= parse_event_id(each) < parse_event_id(event.id) for each in named):
        raise ValueError(f"event {event.id!r} names one that is not before it")
