"""Learning at the end of a turn: its case, its lessons, and how those that were shown did.

Nothing that goes wrong here is an error of the turn.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from agent.app_dirs import Home
from agent.events import Event, Signal
from agent.memory.memory_key import find_store_path
from agent.memory.memory_store import MemoryStore
from agent.memory.recall_text import list_shown
from agent.memory.records import Lesson, Use
from agent.turn.runtime import Runtime
from packages.memory.lessons.admission import admit_lessons, apply_outcomes, read_results
from packages.memory.lessons.corrections import draw_corrections
from packages.memory.lessons.run_lessons import draw_repair_lessons, draw_run_lessons, draw_suite_lessons
from packages.memory.skills.skill_use import count_skill_uses, list_due_lines
from packages.memory.turn_record import TurnRecord, build_case, read_turn
from sandbox.errors import UserError


def learn_from_turn(
    events: Sequence[Event], runtime: Runtime, home: Home, announce: Callable[[Event], object]
) -> None:
    """Store what the turn of these events has shown. A turn without actions shows nothing but what its person said.

    announce: shows an event to the views, without logging it after the turn's last one
    """
    try:
        record = read_turn(events)
        notices = [] if record is None else _learn(record, dict(list_shown(events)), runtime, home)
    except (UserError, sqlite3.Error, OSError) as problem:
        notices = [f"nothing was remembered of this turn: {problem}"]
    except Exception as problem:  # a fault of our own must not undo the end of a turn
        notices = [f"nothing was remembered of this turn: {type(problem).__name__}: {problem}"]
    for each in notices:
        announce(Signal(name="memory", detail=each))


def _learn(record: TurnRecord, shown: dict[str, str], runtime: Runtime, home: Home) -> list[str]:
    session = runtime.session.id
    wanted = list(draw_corrections(record, _take_typed(record, runtime.typed), session))
    if not record.actions and not wanted:
        return []
    root = runtime.workspace.root
    store = MemoryStore(find_store_path(home, root))
    if not store.is_scrubbed:
        store.scrub()
    if record.actions:
        store.add_case(build_case(record, session))
    counts = _count_failures(record, store)
    drawn = [
        *draw_run_lessons(record, session, root, counts),
        *draw_suite_lessons(record, session, root, runtime.workspace.settings.tests.command),
        *draw_repair_lessons(record, session),
    ]

    def decide(known: list[Lesson]) -> list[Lesson]:
        moved = apply_outcomes(record, shown, known)
        moved |= {name: used for name, (used, _) in count_skill_uses(record, known).items()}
        counted = {name for name, each in moved.items() if each.origin == "code"}
        new = [*wanted, *(each for each in drawn if each.id not in counted)]
        admitted = admit_lessons(new, [moved.get(each.id, each) for each in known])
        return list({**moved, **{each.id: each for each in admitted}}.values())

    known = store.update_lessons(decide)
    ran = read_results(record)
    uses = {each.id: each.use for each in known}
    now = record.end.time if record.end is not None else record.prompt.time
    outcome = record.end.outcome if record.end is not None else "unfinished"
    reasons = {name: (why, uses.get(name, "") in ran) for name, why in shown.items()}
    reasons |= {name: (why, True) for name, (_, why) in count_skill_uses(record, known).items()}
    store.add_uses(
        [
            Use(lesson=name, session=session, time=now, why=why, used=used, outcome=outcome)
            for name, (why, used) in reasons.items()
        ]
    )
    return [*store.notices, *list_due_lines(record, known, root)]


def _take_typed(record: TurnRecord, typed: deque[str]) -> list[tuple[str, str]]:
    """Remove from `typed` what entered the turn; return it, each text with its event.

    The rest of a prompt may be of a script, a command's file, a goal's check: nobody here said it.
    """
    found = [(each, event) for each in typed for text, event in record.words if each in text]
    for each, _ in found:
        with suppress(ValueError):  # it entered twice
            typed.remove(each)
    return found


def _count_failures(record: TurnRecord, store: MemoryStore) -> dict[str, int]:
    """Count the failures of commands that are wrong here; return how often each failed so in a row."""
    counts: dict[str, int] = {}
    for each in record.commands:
        if not each.is_kept:
            continue
        if each.cause is None:
            counts.pop(each.line, None)
            store.clear_failure(each.line)
        elif each.cause.is_wrong:
            counts[each.line] = store.count_failure(each.line, each.cause.text)
    return counts
