"""Lessons that a repository shares: Markdown files in `.patchwright/memory`, one lesson each, reviewed like code.

They are read at the start of a session, once the user trusts the files as they are, and stay claims of a file: what is
seen here, and what the person says, comes before them. None is run, and none of them permits anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from agent.app_dirs import Home
from agent.extension.extension_files import SHARED_LESSONS
from agent.extension.front_matter import BadFrontMatter, read_list_field, read_text_field, split_front_matter
from agent.extension.project_trust import describe_untrusted, is_trusted
from agent.extension.shared_files import write_shared_file
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Check, Lesson, LessonKind
from agent.memory.standing import is_trusted as is_shown
from packages.memory.lessons.claims import find_problem, make_lesson_id
from sandbox.errors import Fault, UserError
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition, TrustStore
from sandbox.sanitize import quote_name

_MOST_FILES, _MOST_BYTES = 200, 4_096

_SHARED_KINDS = ("command", "contrast", "correction", "tool-error", "note")
"""Kinds that others can use: whom a person refused what is their own."""

_FIELDS = ("use", "avoid", "purpose", "path", "tool", "language")

_CHECKS = ("file", "symbol")
"""Checks that only look: one that runs a command would let a file of the repository choose it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    content: bytes


def find_lessons_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the lessons of the repository's files, each with its text, for the user to trust or not."""
    return _list_definitions(_read_files(root)[0])


def adopt_shared_lessons(store: MemoryStore, home: Home, root: Path) -> list[str]:
    """Bring the store to what the repository's files say now; return what a person should hear of, one line each.

    Lessons keep the standing that outcomes gave them. Those whose file changed, is gone, or is trusted no more, go.
    """
    files, surplus = _read_files(root)
    known = store.list_lessons(replaced=True)
    found: dict[str, Lesson] = {}
    notices = (
        [f"{SHARED_LESSONS} has more than {_MOST_FILES} lessons: the others are not read"] if surplus else []
    )
    if files and not is_trusted(home, root, SHARED_LESSONS, _list_definitions(files)):
        notices.append(describe_untrusted(len(files), "lesson", root))
    else:
        own = {each.claim.casefold() for each in known if each.origin != "repository"}
        lessons, problems = _parse_files(files)
        found = {each.id: each for each in lessons if each.claim.casefold() not in own}
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            notices.append(f"a shared lesson is not used: {problems[0]}{more}")
    gone = [each.id for each in known if each.origin == "repository" and each.id not in found]
    if gone:
        store.forget(lessons=gone)
    present = {each.id for each in known}
    store.put_lessons([each for each in found.values() if each.id not in present])
    return notices


def share_lessons(store: MemoryStore, home: Home, root: Path, names: Sequence[str]) -> Iterator[str]:
    """Write lessons into files of the repository; yield a line for each. names: ids; none for all that are shown.

    Raises UserError for one that cannot be shared. Files that the user trusted stay trusted.
    """
    known = store.list_lessons()
    by_id = {each.id: each for each in known}
    if unknown := [each for each in names if each not in by_id]:
        raise UserError(
            Fault.USAGE, f"no lesson is remembered as {unknown[0]!r}", "List them: patchwright memory list"
        )
    wanted = [by_id[each] for each in names] or [
        each
        for each in known
        if each.origin in ("code", "person") and is_shown(each) and not _explain_unshared(each)
    ]
    for each in wanted:
        if problem := _explain_unshared(each):
            raise UserError(Fault.USAGE, f"{each.id} cannot be shared: {problem}")
    before = _list_definitions(_read_files(root)[0])
    trusted = not before or is_trusted(home, root, SHARED_LESSONS, before)
    for each in wanted:
        path = f"{SHARED_LESSONS}/{_make_name(each)}"
        write_shared_file(root, path, _render(each).encode())
        yield f"{each.id}  {path}"
    if wanted and trusted:
        TrustStore(home.config).grant(root / SHARED_LESSONS, _list_definitions(_read_files(root)[0]))


def _explain_unshared(lesson: Lesson) -> str:
    """Return why a lesson cannot be shared, "" if it can."""
    if lesson.origin == "repository":
        return f"it is already, by {lesson.event}"
    if lesson.kind not in _SHARED_KINDS:
        return f"a {lesson.kind} is of one person alone"
    return find_problem(lesson)


def _make_name(lesson: Lesson) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", lesson.claim.lower())[:40].strip("-")
    return f"{words}-{lesson.id}.md" if words else f"{lesson.id}.md"


def _render(lesson: Lesson) -> str:
    """Return the file of a lesson. JSON texts are YAML texts."""
    lines = [f"kind: {lesson.kind}"]
    lines += [
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name in _FIELDS
        if (value := getattr(lesson, name))
    ]
    checks = [f"{each.kind} {each.value}" for each in lesson.checks if each.kind in _CHECKS]
    if checks:
        lines.append(f"checks: {json.dumps(checks, ensure_ascii=False)}")
    head = "\n".join(lines)
    return f"---\n{head}\n---\n\n{lesson.claim}\n"


def _read_files(root: Path) -> tuple[list[_File], bool]:
    """Return the files of the folder by name, and whether there are more than are read."""
    folder = root / SHARED_LESSONS
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                each.name for each in islice(entries, 4 * _MOST_FILES) if each.name.endswith(".md")
            )
    except OSError:  # none, or no folder
        return [], False
    found = []
    for name in names[:_MOST_FILES]:
        if name.lower() == "readme.md":
            continue
        try:
            content = read_workspace_file(root, f"{SHARED_LESSONS}/{name}", _MOST_BYTES)
        except UserError:  # a link outside, a pipe, or far too long: as a file that says nothing
            content = b""
        if content is not None:
            found.append(_File(path=f"{SHARED_LESSONS}/{name}", content=content))
    return found, len(names) > _MOST_FILES


def _list_definitions(files: Sequence[_File]) -> tuple[Definition, ...]:
    return tuple(
        Definition(
            kind="lesson",
            name=quote_name(each.path),
            runs=" ".join(each.content.decode("utf-8", "replace").split()),
            digest=hashlib.sha256(each.content).hexdigest(),
        )
        for each in files
    )


def _parse_files(files: Sequence[_File]) -> tuple[list[Lesson], list[str]]:
    """Return the lessons of the files, and a line for each that is none."""
    lessons: list[Lesson] = []
    problems: list[str] = []
    for each in files:
        try:
            lessons.append(_parse_file(each))
        except (BadFrontMatter, UnicodeDecodeError, ValueError) as error:
            reason = (
                "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error).partition("\n")[0]
            )
            problems.append(f"{quote_name(each.path)}: {reason[:120]}")
    return lessons, problems


def _parse_file(file: _File) -> Lesson:
    """Return the lesson of a file. Raises ValueError, of which BadFrontMatter is one, for one that is none."""
    if not file.content:
        raise ValueError("it cannot be read, or is too long")
    fields, body = split_front_matter(file.content.decode("utf-8")) or ({}, "")
    kind = read_text_field(fields, "kind")
    if kind not in _SHARED_KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(_SHARED_KINDS)}")
    texts = {name: read_text_field(fields, name) for name in _FIELDS}
    claim = " ".join(body.split())
    now = time.time()
    lesson = Lesson(
        id=make_lesson_id("shared", kind, claim, *texts.values()), kind=_KINDS[kind], claim=claim,
        use=texts["use"], avoid=texts["avoid"],
        purpose=texts["purpose"], path=texts["path"], tool=texts["tool"], language=texts["language"],
        origin="repository", event=file.path, checks=(Check(kind="file", value=file.path), *_read_checks(fields)),
        created=now, seen=now,
    )  # fmt: skip
    if problem := find_problem(lesson):
        raise ValueError(problem)
    return lesson


_KINDS: Mapping[str, LessonKind] = {each: each for each in get_args(LessonKind)}


def _read_checks(fields: Mapping[str, Any]) -> Iterator[Check]:
    if not isinstance(fields.get("checks", []), list):
        raise ValueError("`checks` must be a list")
    for entry in read_list_field(fields, "checks"):
        kind, _, value = entry.partition(" ")
        if kind == "file" and value:
            yield Check(kind="file", value=value)
        elif kind == "symbol" and value:
            yield Check(kind="symbol", value=value)
        else:
            raise ValueError(f"a check is `file PATH` or `symbol PATH:NAME`, not {entry!r}")
