"""Lines about the memory for a person, in the command and in the conversation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.app_dirs import Home
from agent.memory.memory_key import find_store_path
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case, Lesson
from agent.memory.standing import describe_standing
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

SHOWN_CASES = 10

NOTHING = "nothing is remembered of this repository"


def answer_command(home: Home, root: Path, argument: str) -> list[str]:
    """Return the lines that `/memory ARGUMENT` shows. Raises UserError for a word that is none of its commands."""
    word, *names = argument.split() or ["list"]
    store = MemoryStore(find_store_path(home, root))
    match word:
        case "list" if not names:
            return list(list_records(store, SHOWN_CASES))
        case "show" if len(names) == 1:
            return list(show_record(store, names[0]))
        case "why" if len(names) == 1:
            return list(explain_record(store, names[0]))
        case "forget" if names:
            return [forget_records(store, names)]
    raise UserError(
        Fault.USAGE, f"{argument!r} is not understood", "/memory [list | show ID | why ID | forget ID…]"
    )


def list_records(store: MemoryStore, cases: int) -> Iterator[str]:
    """Yield a line for each lesson, and for the newest cases."""
    lessons = store.list_lessons()
    count, commits = store.count_cases("turn"), store.count_cases("history")
    if not lessons and not count and not commits:
        yield NOTHING
        return
    for each in lessons:
        yield sanitize_text(f"{each.id}  {each.claim}  ({describe_standing(each)})")
    for case in store.list_cases(cases, "turn"):
        yield sanitize_text(
            f"c{case.id}  {_format_date(case.time)}  {_shorten(case.task)}  ({_describe_end(case)})"
        )
    if count > cases:
        yield f"… {format_count(count - cases, 'older case')}"
    if commits:
        yield format_count(commits, "commit of the history", "commits of the history")


def show_record(store: MemoryStore, name: str) -> Iterator[str]:
    """Yield all that is stored of a lesson or case. Raises UserError for an unknown name."""
    record = find_record(store, name)
    shown = _list_lesson_rows(record) if isinstance(record, Lesson) else _list_case_rows(record)
    for label, value in shown:
        if value:
            yield sanitize_text(f"{label}: {value}").replace("\n", "\n  ")


def explain_record(store: MemoryStore, name: str) -> Iterator[str]:
    """Yield where a record comes from, and when it was shown to a model and why."""
    record = find_record(store, name)
    yield sanitize_text(_describe_origin(record))
    if isinstance(record, Case):
        return
    yield describe_standing(record)
    for use in store.list_uses(record.id):
        used = "followed" if use.used else "not followed"
        yield sanitize_text(
            f"{_format_date(use.time)}  shown in {use.session}: {use.why}; {used}; {use.outcome}"
        )


def _describe_origin(record: Lesson | Case) -> str:
    if isinstance(record, Lesson) and record.origin in ("repository", "import") and not record.session:
        source = "a file of this repository" if record.origin == "repository" else "notes that were imported"
        return f"from {source}: {record.event or 'an export'}"
    return f"from session {record.session or 'of nobody here'}, event {record.event or '–'}"


def forget_records(store: MemoryStore, names: Sequence[str]) -> str:
    """Delete records; return a line that says so. Raises UserError for an unknown name, before any is deleted."""
    if not store.is_scrubbed:
        store.scrub()
    records = [find_record(store, each) for each in names]
    count = store.forget(
        lessons=[each.id for each in records if isinstance(each, Lesson)],
        cases=[each.id for each in records if isinstance(each, Case)],
    )
    sessions = ", ".join(sorted({each.session for each in records if each.session}))
    kept = f"; the logs of their sessions are kept: {sessions}" if sessions else ""
    files = ", ".join(
        each.event for each in records if isinstance(each, Lesson) and each.origin == "repository"
    )
    back = f"; to keep it so, delete what the repository shares: {files}" if files else ""
    left = ", ".join(each.path for each in records if isinstance(each, Lesson) and each.kind == "skill")
    stay = f"; its files stay: {left}" if left else ""
    return sanitize_text(f"forgot {format_count(count, 'record')}{kept}{back}{stay}")


def find_record(store: MemoryStore, name: str) -> Lesson | Case:
    """Return a lesson by its id, or a case (`c12`). Raises UserError if there is none."""
    number = name[1:]
    found: Lesson | Case | None = store.get_lesson(name)
    if found is None and name[:1] == "c" and number.isascii() and number.isdigit() and len(number) < 10:
        found = store.get_case(int(number))
    if found is None:
        raise UserError(Fault.USAGE, f"nothing is remembered as {name!r}", "List it: patchwright memory list")
    return found


def _list_lesson_rows(lesson: Lesson) -> Iterator[tuple[str, str]]:
    yield "lesson", lesson.claim
    yield "kind", f"{lesson.kind}, from {lesson.origin}"
    yield "use", lesson.use
    yield "fails", lesson.avoid
    scope = (
        ("path", lesson.path),
        ("tool", lesson.tool),
        ("language", lesson.language),
        ("for", lesson.purpose),
    )
    yield "scope", ", ".join(f"{label} {value}" for label, value in scope if value)
    yield "checks", "; ".join(f"{each.kind} {each.value}" for each in lesson.checks)
    yield "standing", describe_standing(lesson)
    yield "session", f"{lesson.session} {lesson.event}".strip()
    yield "confirmed", _format_date(lesson.seen)


def _list_case_rows(case: Case) -> Iterator[tuple[str, str]]:
    yield "task", case.task
    yield "date", _format_date(case.time)
    yield "outcome", _describe_end(case)
    yield "places", ", ".join(case.places)
    yield "names", ", ".join(case.names)
    for command in case.commands:
        yield "worked", command.line
    for failure in case.failures:
        yield "failed", f"{failure.line}\n{failure.cause}"
    yield "steps", str(case.steps or "")
    yield "tokens", str(case.tokens or "")
    yield "cost", f"${case.cost:.4f}" if case.cost else ""
    yield "session", f"{case.session} {case.event}".strip()


def _describe_end(case: Case) -> str:
    verified = f", verified by {case.verified}" if case.verified else ""
    return f"{case.outcome or case.source}{verified}"


def _format_date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _shorten(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 80 else f"{line[:79]}…"
