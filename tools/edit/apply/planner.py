"""Plan the changes of files in memory: all of them, or a refusal that names every problem."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TypeVar

from sandbox.fs.dirfd_walk import NotAFile
from sandbox.fs.text_file import BinaryFile, TextFile, decode_bytes, encode_text
from sandbox.fs.workspace_tree import Tree
from sandbox.guards.linked_files import explain_forbidden_write
from sandbox.lazy_dataclass import dataclass
from tools.core.text import format_count
from tools.edit.apply.edit_engine import EditRefused, Place, edit_text, shift_places
from tools.edit.apply.edit_plan import ChangeRefused, PlannedFile, PlanRefused, Problem
from tools.edit.apply.line_endings import Origins, create_origins, strip_carriage_returns
from tools.edit.apply.path_variants import list_path_variants, normalize_path
from tools.edit.edit_model import Create, Delete, Edit, FileChange, Update


def plan_changes(
    files: Tree,
    changes: Sequence[FileChange],
    *,
    known: Callable[[str], bool] = lambda path: False,
    strictest: bool = False,
    by_bytes: bool = False,
) -> list[PlannedFile]:
    """Return the planned files, in the order in which they are first named. Raises PlanRefused.

    known: whether the author of the changes knows an existing file's content, so that it may be replaced as a
        whole, by a new file or one that moves there; by default none is
    strictest: edits have to match exactly; by_bytes: bytes that are not UTF-8 are lone surrogates in them
    """
    planner = _Planner(files, known, strictest, by_bytes)
    problems = [found for each in changes if (found := _capture_problem(each.path, planner.add, each))]
    problems += [found for path in planner.states if (found := _capture_problem(path, planner.finish, path))]
    if problems:
        already = _is_all_applied(problems, planner.planned)
        raise PlanRefused(problems, max(len(changes) - len(problems), 0), already=already)
    return planner.planned


def _capture_problem(path: str, work: Callable[[_Given], None], given: _Given) -> Problem | None:
    """Run a piece of work and return its problem, None if it succeeded."""
    try:
        work(given)
    except ChangeRefused as refusal:
        return refusal.problem
    except ValueError as refusal:  # the tree's or the encoding's: outside, protected, binary, not a file
        return Problem(path=path, text=str(refusal))
    except OSError as error:
        return Problem(path=path, text=error.strerror or str(error))
    return None


def _is_all_applied(problems: Sequence[Problem], planned: Sequence[PlannedFile]) -> bool:
    """Return whether all changes were applied before; at least one file must exist as evidence."""
    made = all(each.already or each.gone for each in problems) and not any(
        each.has_changes for each in planned
    )
    return made and (any(each.already for each in problems) or bool(planned))


_Given = TypeVar("_Given")


@dataclass(slots=True, kw_only=True)
class _State:
    """Planned state of a file.

    text: None if there will be no file; "" for a file that is not text
    unreadable: why it is not text: then `kept` is its content
    origins: of a text with several kinds of line endings, if only edits led to it
    edits: number of edits made
    """

    before: bytes | None
    like: TextFile | None = None
    text: str | None = None
    unreadable: str = ""
    kept: bytes | None = None
    origins: Origins | None = None
    edits: int = 0
    places: list[Place] = field(default_factory=list)
    source: str = ""
    to: str = ""
    mode: int | None = None
    notes: list[str] = field(default_factory=list)


class _Planner:
    def __init__(self, files: Tree, known: Callable[[str], bool], strictest: bool, by_bytes: bool) -> None:
        self._files, self._known, self._strictest, self._by_bytes = files, known, strictest, by_bytes
        self.states: dict[str, _State] = {}
        self.planned: list[PlannedFile] = []

    def add(self, change: FileChange) -> None:
        match change:
            case Update():
                self._plan_update(change)
            case Create():
                self._plan_create(change)
            case Delete():
                self._plan_delete(change)

    def finish(self, path: str) -> None:
        """Add the planned file. Raises ValueError if its encoding lacks a character."""
        state = self.states[path]
        origin = self.states[state.source].like if state.source else state.like
        if state.text is None:
            after = None
        elif state.unreadable:
            after = state.kept
        elif state.before is not None and state.like and state.text == state.like.text and not state.source:
            after = state.before
        else:
            like = state.like or self._build_format(path, state.text)
            after = encode_text(state.text, like, state.origins)
        result = PlannedFile(
            path=path,
            before=state.before,
            after=after,
            old_text=origin.text if origin and (state.source or state.before is not None) else "",
            new_text=state.text or "",
            places=tuple(state.places),
            source=state.source,
            to=state.to,
            mode=self._compute_mode_change(path, state),
            notes=tuple(state.notes),
        )
        self.planned.append(result)

    def _build_format(self, path: str, text: str) -> TextFile:
        return decode_bytes(b"") if self._by_bytes else self._files.build_new_format(path, text)

    def _encode_new(self, path: str, text: str) -> bytes | None:
        """Return the bytes of a new file, None if its encoding lacks a character."""
        try:
            return encode_text(text, self._build_format(path, text), None)
        except ValueError:
            return None

    def _plan_update(self, change: Update) -> None:
        if change.copies:
            self._plan_copy(change)
            return
        try:
            path, note = self._resolve_existing(change.path)
        except ChangeRefused as refusal:
            if change.to and self._is_already_moved(change):
                raise ChangeRefused(
                    Problem(path=change.path, text=f"already moved to {change.to!r}", already=True)
                ) from None
            raise refusal
        self._check_writable(change.path, path)
        state = self._get_state(path)
        if state.text is None:
            raise self._build_missing_refusal(change.path)
        if change.edits:
            self._plan_edits(path, state, change.edits)
        if note:
            state.notes.append(note)
        state.mode = change.mode if change.mode is not None else state.mode
        if change.to:
            self._plan_move(path, state, change.to)

    def _plan_copy(self, change: Update) -> None:
        """Plan a copy of a file, with edits; the file itself stays."""
        named = list(self.states)
        path, _ = self._resolve_existing(change.path)
        original = self._get_state(path)
        if path not in named:
            del self.states[path]  # nothing changes there
        if original.text is None:
            raise self._build_missing_refusal(change.path)
        copy = replace(original, places=[], edits=0, notes=[f"copied from {path}"])
        if change.edits:
            self._plan_edits(path, copy, change.edits)
        mode = change.mode if change.mode is not None else original.mode
        if mode is None and original.before is not None:
            mode = self._read_mode(path)
        self._plan_create(Create(path=change.to, content=self._require_text(copy), mode=mode, new=True))
        target = self.states[self._files.resolve_relative(normalize_path(change.to))]
        target.like, target.origins, target.notes = original.like, copy.origins, copy.notes

    def _plan_edits(self, path: str, state: _State, edits: Sequence[Edit]) -> None:
        text = self._require_text(state)
        edits = strip_carriage_returns(edits, state.like)
        origins = state.origins
        if state.like and state.like.exceptions and text == state.like.text:
            origins = create_origins(text)
        try:
            result = edit_text(text, edits, path=path, strictest=self._strictest, origins=origins)
        except EditRefused as refusal:
            number = f"edit {refusal.edit + 1} of {len(edits)}: " if len(edits) > 1 else ""
            made = refusal.already and all(self._is_already_applied(text, each, path) for each in edits)
            raise ChangeRefused(Problem(path=path, text=number + str(refusal), already=made)) from None
        new = [replace(place, edit=place.edit + state.edits) for place in result.places]
        state.places = [*shift_places(state.places, text, result.text), *new]
        state.edits += len(edits)
        state.text, state.origins = result.text, result.origins

    def _is_already_applied(self, text: str, edit: Edit, path: str) -> bool:
        """Return whether the edit, taken alone, was applied before."""
        try:
            edit_text(text, [edit], path=path, strictest=self._strictest)
        except EditRefused as refusal:
            return refusal.already
        return False

    def _is_already_moved(self, change: Update) -> bool:
        """Return whether the file to move is at its target, with all edits applied."""
        target = self._files.resolve_relative(normalize_path(change.to))
        if not self._files.is_file(target):
            return False
        text = self._files.decode(target, self._files.read(target)).text if change.edits else ""
        return all(self._is_already_applied(text, each, target) for each in change.edits)

    def _plan_move(self, path: str, state: _State, to: str) -> None:
        target = self._files.resolve_relative(normalize_path(to))
        if target == path:
            return
        self._check_writable(to, target)
        if self._files.is_dir(target):
            raise ChangeRefused(Problem(path=path, text=f"cannot move to {target!r}: it is a folder"))
        if state.before is not None and state.source:
            raise ChangeRefused(
                Problem(
                    path=path, text="another file moves here and this one away: do that one after another"
                )
            )
        there = self._get_state(target)
        if there.text is not None and not self._known(target):
            raise ChangeRefused(
                Problem(path=path, text=f"cannot move to {target!r}: it exists and was not read")
            )
        source = state.source or path
        mode = state.mode
        if mode is None and self._files.is_file(source):
            mode = self._read_mode(source)
        content = state.kept if state.source else state.before
        moved = replace(state, before=there.before, kept=content, source=source, mode=mode, to="")
        self.states[path] = _State(before=state.before, like=None if state.source else state.like, to=target)
        if source == target:  # moved there and back
            moved.source = ""
        self.states[target] = moved

    def _plan_create(self, change: Create) -> None:
        path = self._files.resolve_relative(normalize_path(change.path))
        self._check_writable(change.path, path)
        if self._files.is_dir(path):
            raise ChangeRefused(Problem(path=path, text="is a folder", folder=True))
        state = self._get_state(path)
        if state.text and self._encode_new(path, change.content) == state.before:
            state.mode = change.mode if change.mode is not None else state.mode
            return  # as this very change would make it: its text may look different, as with CRLF line ends
        if state.text and state.text != change.content and (change.new or not self._known(path)):
            why = "the edit makes a new file: remove" if change.new else "was not read: read"
            text = f"exists and {why} it first, or edit a part of it"
            raise ChangeRefused(Problem(path=path, text=text))
        if state.text is not None:
            self._require_text(state)
        state.unreadable, state.to, state.origins = "", "", None
        state.text = change.content
        state.mode = change.mode if change.mode is not None else state.mode

    def _plan_delete(self, change: Delete) -> None:
        if link := self._find_link(change.path):
            path, target = link
            self._files.check_writable(path)
            if change.hunks:
                self._check_deleted_content(path, os.fsdecode(target), change)
            self.states[path] = _State(before=target)
            return
        try:
            path, note = self._resolve_existing(change.path)
        except ChangeRefused as refusal:
            raise ChangeRefused(replace(refusal.problem, gone=bool(refusal.problem.missing))) from None
        self._files.check_writable(path)
        state = self._get_state(path)
        if state.text is None:
            raise self._build_missing_refusal(change.path)
        if change.hunks and state.text:
            self._check_deleted_content(path, state.text, change)
        if note:
            state.notes.append(note)
        state.text, state.places, state.origins = None, [], None

    def _check_deleted_content(self, path: str, text: str, change: Delete) -> None:
        """Raise ChangeRefused if a file's content is not the one that the diff removes."""
        try:
            hunks = strip_carriage_returns(
                change.hunks, self.states[path].like if path in self.states else None
            )
            left = edit_text(text, hunks, path=path, strictest=self._strictest).text
        except EditRefused as refusal:
            raise ChangeRefused(
                Problem(path=path, text=f"is not as the diff that removes it says: {refusal}")
            ) from None
        if left.strip():
            kept = format_count(left.strip().count("\n") + 1, "line")
            raise ChangeRefused(
                Problem(path=path, text=f"the diff removes the file, but leaves {kept} of it")
            )

    def _check_writable(self, named: str, path: str) -> None:
        """Raise ChangeRefused or ValueError if a file must not be written by the name that was given for it."""
        is_linked = False
        for candidate in list_path_variants(named, self._files.root.name):
            with suppress(ValueError), self._files.open_entry(candidate) as place:
                is_linked = is_linked or (place.is_linked and place.path == path)
        if why := explain_forbidden_write(self._files.root, named, path, is_linked=is_linked):
            raise ChangeRefused(Problem(path=named, text=why))
        self._files.check_writable(path)

    def _get_state(self, path: str) -> _State:
        if path not in self.states:
            self.states[path] = self._load_state(path)
        return self.states[path]

    def _load_state(self, path: str) -> _State:
        content = self._read_content(path)
        if content is None:
            return _State(before=None)
        try:
            like = decode_bytes(content) if self._by_bytes else self._files.decode(path, content)
        except BinaryFile as problem:  # it can still be moved and removed
            return _State(before=content, text="", unreadable=str(problem), kept=content)
        return _State(before=content, like=like, text=like.text)

    def _read_content(self, path: str) -> bytes | None:
        """Return a file's bytes, None if there is none; a check first would double the cost of a large patch."""
        try:
            return self._files.read(path)
        except (FileNotFoundError, NotAFile):
            return None
        except PermissionError:
            if self._files.is_file(path):
                raise
            return None

    def _require_text(self, state: _State) -> str:
        if state.unreadable:
            raise BinaryFile(state.unreadable)
        return state.text or ""

    def _find_link(self, path: str) -> tuple[str, bytes] | None:
        """Return path and text of the named link, None if it is not a link."""
        for candidate in list_path_variants(path, self._files.root.name):
            with suppress(ValueError), self._files.open_entry(candidate, follow_last=False) as place:
                found = place.stat()
                if found and stat.S_ISLNK(found.st_mode):
                    return place.path, os.fsencode(os.readlink(place.name, dir_fd=place.folder))
        return None

    def _resolve_existing(self, path: str) -> tuple[str, str]:
        """Return the path of the existing file that is meant, and a note if the given path differs."""
        for candidate in list_path_variants(path, self._files.root.name):
            try:
                relative = self._files.resolve_relative(candidate)
            except ValueError:  # another spelling may be inside; if none is, the call after the loop raises
                continue
            if self._has_state_or_file(relative):
                note = (
                    f"{path!r} was taken to mean {relative!r}"
                    if candidate not in (path, normalize_path(path))
                    else ""
                )
                return relative, note
            if self._files.is_dir(relative) and relative != ".":
                raise ChangeRefused(Problem(path=path, text="is a folder", folder=True))
        self._files.resolve_relative(normalize_path(path))
        raise self._build_missing_refusal(path)

    def _has_state_or_file(self, path: str) -> bool:
        """Return whether an earlier change named this path, or a file exists there, which is then loaded."""
        if path not in self.states and (found := self._load_state(path)).before is not None:
            self.states[path] = found
        return path in self.states

    def _build_missing_refusal(self, path: str) -> ChangeRefused:
        return ChangeRefused(Problem(path=path, text="no such file", missing=path))

    def _read_mode(self, path: str) -> int:
        return stat.S_IMODE((self._files.root / path).stat().st_mode)

    def _compute_mode_change(self, path: str, state: _State) -> int | None:
        """Return the mode to set, None if the file already has it."""
        if state.text is None or state.mode is None:
            return None
        if state.before is not None and self._read_mode(path) == state.mode:
            return None
        return state.mode
