"""What tools are given of the memory: the command that ran the tests, and the kinds of changes that mended something.

Only what sessions here have seen counts: not what notes, exports and files of the repository claim.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from functools import partial

from agent.memory.lesson_checks import holds
from agent.memory.memory_store import MemoryStore
from agent.memory.records import PAST_REPAIRS, Lesson
from agent.memory.retrieval import list_trusted
from sandbox.errors import UserError
from tools.core.workspace import Workspace
from tools.testing.launch import REMEMBERED_TESTS


def add_engine_facts(store: MemoryStore, at: Workspace) -> None:
    """Add what is remembered to a workspace's facts, as functions: most turns need none of it."""
    at.facts[REMEMBERED_TESTS] = partial(find_test_command, store, at)
    at.facts[PAST_REPAIRS] = partial(count_past_repairs, store)


async def find_test_command(store: MemoryStore, at: Workspace) -> str:
    """Return the command that ran the tests here and whose checks hold, "" for none."""
    for each in _list_seen(store):
        if (
            each.purpose == "test"
            and each.kind in ("command", "contrast")
            and each.use
            and holds(each, at.root)
        ):
            return each.use
    return ""


def count_past_repairs(store: MemoryStore) -> Mapping[str, int]:
    """Return how often changes of each template mended something here."""
    return {each.use: each.good for each in _list_seen(store) if each.kind == "repair"}


def _list_seen(store: MemoryStore) -> Iterator[Lesson]:
    """Yield the trusted lessons that code drew from sessions, the weightiest first; none from a store in trouble."""
    try:
        yield from (each for each in list_trusted(store) if each.origin == "code")
    except (UserError, sqlite3.Error, OSError):  # told when a session recalls from it, or writes to it
        return
