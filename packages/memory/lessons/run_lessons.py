"""Lessons from what was run: commands that work, contrasts with those that do not, refusals, repeated failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from agent.memory.command_purposes import split_words
from agent.memory.records import Check, Lesson, LessonKind
from packages.memory.lessons.claims import is_plain, make_lesson_id
from packages.memory.turn_record import DoneCommand, TurnRecord

WORTH = ("test", "build", "lint", "format", "install")
"""Purposes whose commands a later session needs."""


def draw_run_lessons(
    record: TurnRecord, session: str, root: Path, counts: Mapping[str, int]
) -> Iterator[Lesson]:
    """Yield the lessons of a turn's commands and refusals. counts: failures in a row by command"""
    commands = [each for each in record.commands if each.is_kept and is_plain(each.line)]
    for number, each in enumerate(commands):
        if each.cause is None:
            if each.purpose in WORTH and not _shows_nothing(each):
                yield _build(
                    record, session, root, "command", each, f"`{each.line}` works here: {each.purpose}"
                )
        elif each.cause.is_wrong and each.purpose:
            better = _find_better(each, commands[number + 1 :])
            if better is not None:
                claim = f"`{each.line}` fails here, `{better.line}` works"
                yield _build(record, session, root, "contrast", better, claim, avoid=each.line)
    for line, count in counts.items():
        if count >= _REPEATED and is_plain(line):
            yield _build_plain(
                record, session, "tool-error", f"`{line}` fails here again and again", avoid=line
            )
    for refused in record.failed_actions:
        if refused.by == "person" and is_plain(refused.line):
            yield _build_plain(
                record, session, "refusal", f"the person refused `{refused.line}`", avoid=refused.line
            )


def draw_suite_lessons(record: TurnRecord, session: str, root: Path, named: str) -> Iterator[Lesson]:
    """Yield the lesson that the command runs the tests which the person named for this session, if it did."""
    if named and record.suite_ran and is_plain(named):
        event = record.end.id if record.end is not None else record.prompt.id
        command = DoneCommand(line=named, event=event, purpose="test", cause=None, is_kept=True)
        yield _build(record, session, root, "command", command, f"`{named}` works here: test")


def draw_repair_lessons(record: TurnRecord, session: str) -> Iterator[Lesson]:
    """Yield a lesson for each kind of change by which the engine mended what failed, once the turn is done."""
    if not record.is_good or not record.passed:
        return
    now = record.end.time if record.end is not None else record.prompt.time
    for template, each in {
        each.template: each for each in record.repairs if each.path in record.changed
    }.items():
        yield Lesson(
            id=make_lesson_id("repair", template), kind="repair",
            claim=f"changes of the kind {template} mended tests here",
            use=template, tool="repair", session=session, event=each.event, created=now, seen=now, good=1,
        )  # fmt: skip


_REPEATED = 3


def _find_better(failed: DoneCommand, later: list[DoneCommand]) -> DoneCommand | None:
    """Return the next command for the same purpose that ended well, None if the command itself did in the end."""
    if any(each.line == failed.line and each.cause is None for each in later):
        return None  # it was something else that was missing
    fitting = (each for each in later if each.purpose == failed.purpose and each.cause is None)
    return next((each for each in fitting if each.line != failed.line and not _shows_nothing(each)), None)


def _shows_nothing(command: DoneCommand) -> bool:
    """Whether a command that is to test said nothing, so that nobody knows whether it ran a test."""
    return command.purpose == "test" and command.is_silent


def _build(
    record: TurnRecord,
    session: str,
    root: Path,
    kind: LessonKind,
    command: DoneCommand,
    claim: str,
    avoid: str = "",
) -> Lesson:
    now = record.end.time if record.end is not None else record.prompt.time
    paths = (each for each in split_words(command.line) if "/" in each or "." in each)
    files = [each for each in paths if not each.startswith(("/", "-")) and (root / each).is_file()]
    return Lesson(
        id=make_lesson_id(kind, command.line, avoid), kind=kind, claim=claim, use=command.line, avoid=avoid,
        purpose=command.purpose, tool="shell", session=session, event=command.event, created=now, seen=now, good=1,
        checks=tuple(Check(kind="file", value=each) for each in files),
    )  # fmt: skip


def _build_plain(record: TurnRecord, session: str, kind: LessonKind, claim: str, avoid: str) -> Lesson:
    now = record.end.time if record.end is not None else record.prompt.time
    return Lesson(
        id=make_lesson_id(kind, avoid), kind=kind, claim=claim, avoid=avoid, tool="shell", session=session,
        event=record.prompt.id, created=now, seen=now,
    )  # fmt: skip
