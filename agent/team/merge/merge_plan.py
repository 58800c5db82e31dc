"""Plan of a three-way merge of a child's changes into the files of its parent, path by path, as `git merge` does it.

base: what the child started from; ours: the parent's present files, by their bytes on disk; theirs: the child's.
All three are commits too, so that git finds renames; contents are those of a checkout, with filters and line endings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from agent.team.merge.merge_result import ConflictKind, MergeConflict, Side
from agent.team.merge.present_files import (
    TYPES,
    FileState,
    PresentFile,
    Unmergeable,
    build_planned_file,
    check_new_place,
    list_folders,
    read_present_file,
)
from agent.team.merge.tree_changes import (
    TreeEntry,
    list_tree_paths,
    read_checkout_contents,
    read_tree_changes,
)
from sandbox.fs.three_way_merge import MergeConflict as LinesConflict
from sandbox.fs.three_way_merge import merge_lines, merge_values
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from tools.edit.apply.edit_plan import PlannedFile
from tools.git.git_process import Git


class MergeUnit(NamedTuple):
    """One file to merge: its path in each side, and where the result goes."""

    base: str
    ours: str
    theirs: str
    target: str


@dataclass(slots=True, kw_only=True)
class MergePlan:
    """files: the changes to write, by path; conflicts: paths without a merge (then nothing is to be written)"""

    files: dict[str, PlannedFile] = field(default_factory=dict)
    conflicts: list[MergeConflict] = field(default_factory=list)


class MergePlanner:
    """Plans one merge; blocking. Call it while nobody else writes the tree (`Transactions.lock_tree`).

    git: in the parent's repository; tree: the parent's files
    base, ours, theirs: commits; `ours` has the files of `tree`
    """

    def __init__(self, git: Git, tree: Tree, *, base: str, ours: str, theirs: str) -> None:
        self._git = git
        self._tree = tree
        self._commits = {"base": base, "ours": ours, "theirs": theirs}
        self._theirs = read_tree_changes(git, base, theirs)
        self._ours = read_tree_changes(git, base, ours)
        self._plan = MergePlan()
        self._contents: dict[str, dict[str, bytes]] = {"base": {}, "theirs": {}}
        self._consumed: set[str] = set()

    def plan(self) -> MergePlan:
        """Return the plan."""
        units = list(self._list_renamed())
        units += [
            MergeUnit(path, path, path, path)
            for path in sorted(self._theirs.entries)
            if path not in self._consumed
        ]
        self._load_contents(units)
        for unit in units:
            try:
                self._plan_unit(unit)
            except Unmergeable as problem:
                self._refuse(unit.target, problem.kind, str(problem), unit)
        self._refuse_moved_folders()
        self._refuse_equal_names()
        return self._plan

    def _list_renamed(self) -> Iterator[MergeUnit]:
        """Yield the files that one side renamed and the other changed; note the renames that have no merge."""
        ours, theirs = self._ours, self._theirs
        for source in sorted({*ours.renames, *theirs.renames}):
            mine, its = ours.renames.get(source), theirs.renames.get(source)
            if mine is not None and its is not None:
                self._consumed |= {source, mine, its}
                if mine == its:
                    yield MergeUnit(source, mine, its, mine)
                else:
                    self._refuse(source, "renamed", f"the parent moved it to {mine!r}, the child to {its!r}")
            elif its is not None and source in ours.entries:
                yield from self._follow_rename(source, its, by_child=True)
            elif mine is not None and source in theirs.entries:
                yield from self._follow_rename(source, mine, by_child=False)

    def _follow_rename(self, source: str, target: str, *, by_child: bool) -> Iterator[MergeUnit]:
        """Yield the unit of a file that one side moved and the other one changed."""
        self._consumed |= {source, target}
        mover, other = (self._theirs, self._ours) if by_child else (self._ours, self._theirs)
        who, whom = ("child", "parent") if by_child else ("parent", "child")
        changed, moved = other.entries[source].new, mover.entries[target].new
        if changed is None:
            self._refuse(source, "renamed", f"the {who} moved it to {target!r}, the {whom} deleted it")
        elif target in other.entries:
            self._refuse(target, "renamed", f"the {who} moved {source!r} here, the {whom} has a file here")
        elif moved is None or changed.is_file != moved.is_file:
            self._refuse(source, "type", TYPES)
        else:
            yield MergeUnit(source, source if by_child else target, target if by_child else source, target)

    def _load_contents(self, units: list[MergeUnit]) -> None:
        wanted: dict[str, dict[str, TreeEntry]] = {"base": {}, "theirs": {}}
        for unit in units:
            for side, path in (("base", unit.base), ("theirs", unit.theirs)):
                if (entry := self._find_entry(side, path)) is not None:
                    wanted[side][path] = entry
        for side, entries in wanted.items():
            self._contents[side] = read_checkout_contents(self._git, self._commits[side], entries)

    def _find_entry(self, side: str, path: str) -> TreeEntry | None:
        """Return a path's entry in one of the commits, if any side changed it."""
        changes = {"ours": self._ours, "theirs": self._theirs}.get(side)
        if changes is not None and path in changes.entries:
            return changes.entries[path].new
        found = self._theirs.entries.get(path) or self._ours.entries.get(path)
        return found.old if found is not None else None

    def _read_state(self, side: str, path: str) -> FileState | None:
        entry = self._find_entry(side, path)
        return None if entry is None else FileState.from_mode(self._contents[side][path], entry.mode)

    def _plan_unit(self, unit: MergeUnit) -> None:
        entries = [
            self._find_entry(*each)
            for each in (("base", unit.base), ("ours", unit.ours), ("theirs", unit.theirs))
        ]
        if any(entry is not None and entry.is_repository for entry in entries):
            if entries[1] != entries[2]:
                raise Unmergeable("repository", "it has git of its own: bring its commit over there")
            return
        present = read_present_file(self._tree, unit.ours)
        wanted = self._merge_states(unit, present)
        if unit.ours == unit.target:
            if present is None and wanted is not None:
                check_new_place(self._tree, unit.target)
            self._add(unit.target, build_planned_file(unit.target, present, wanted))
        elif wanted is not None:
            check_new_place(self._tree, unit.target)
            self._add(unit.ours, build_planned_file(unit.ours, present, None))
            self._add(unit.target, build_planned_file(unit.target, None, wanted, moved=present))

    def _add(self, path: str, planned: PlannedFile | None) -> None:
        if planned is not None:
            self._plan.files[path] = planned

    def _merge_states(self, unit: MergeUnit, present: PresentFile | None) -> FileState | None:
        """Return the state that the target gets."""
        base, theirs = self._read_state("base", unit.base), self._read_state("theirs", unit.theirs)
        ours = present.state if present is not None else None

        def resolve() -> FileState | None:
            if theirs is None:
                if (
                    unit.ours not in self._ours.entries and base is not None
                ):  # unchanged, as git's filters see it
                    return None
                raise Unmergeable("deleted", "the child deleted it, the parent changed it")
            if ours is None:
                raise Unmergeable("deleted", "the parent deleted it, the child changed it")
            return _merge_both_changed(base, ours, theirs)

        return merge_values(base, ours, theirs, resolve)

    def _refuse_moved_folders(self) -> None:
        """Note new files in folders that the other side has moved away: git asks a person where they belong."""
        for adder, mover, who in ((self._theirs, "ours", "parent"), (self._ours, "theirs", "child")):
            renames = (self._ours if mover == "ours" else self._theirs).renames
            moved = {
                folder
                for old, new in renames.items()
                for folder in list_folders(old)
                if folder not in list_folders(new)
            }
            if not moved:
                continue
            paths = list_tree_paths(self._git, self._commits[mover])
            moved -= {folder for path in paths for folder in list_folders(path)}
            for path, change in adder.entries.items():
                gone = [folder for folder in list_folders(path) if folder in moved]
                if change.old is None and change.new is not None and gone:
                    self._refuse(path, "renamed", f"it is new in {gone[0]!r}, a folder that the {who} moved")

    def _refuse_equal_names(self) -> None:
        """Note new names that this file system takes for those of other files (`core.ignoreCase`)."""
        files = self._plan.files
        made = {path for path, file in files.items() if file.after is not None and file.before is None}
        if not made or self._git.read_setting("core.ignorecase", "bool") != "true":
            return
        taken: dict[str, str] = {}
        for path in (*list_tree_paths(self._git, self._commits["ours"]), *sorted(made)):
            other = taken.setdefault(path.casefold(), path)
            if other != path and path in made:
                self._refuse(path, "case", f"this file system takes it for {other!r}")

    def _refuse(self, path: str, kind: ConflictKind, reason: str, unit: MergeUnit | None = None) -> None:
        unit = unit or MergeUnit(path, path, path, path)
        sides = {}
        for side, own in (("base", unit.base), ("theirs", unit.theirs)):
            entry = self._find_entry(side, own)
            if entry is not None and not entry.is_repository:
                if own not in self._contents[side]:
                    commit = self._commits[side]
                    self._contents[side] |= read_checkout_contents(self._git, commit, {own: entry})
                sides[side] = Side(path=own, content=self._contents[side][own], mode=entry.mode)
        try:
            present = read_present_file(self._tree, unit.ours)
        except Unmergeable:  # a folder, or not readable: the reason says so
            present = None
        if present is not None:
            sides["ours"] = Side(path=unit.ours, content=present.content, mode=present.mode)
        self._plan.conflicts.append(MergeConflict(path=path, kind=kind, reason=reason, **sides))


def _merge_both_changed(base: FileState | None, ours: FileState, theirs: FileState) -> FileState:
    """Merge what both sides changed. Raises Unmergeable."""
    if ours.is_link != theirs.is_link:
        raise Unmergeable("type", TYPES)
    if ours.is_link:
        raise Unmergeable("added" if base is None else "lines", "both made it a link, to other places")
    if base is None or base.is_link:
        if ours.content != theirs.content:
            raise Unmergeable("added", "both made it, with other contents")
        raise Unmergeable("mode", "both made it, one of them executable")
    content = merge_values(
        base.content,
        ours.content,
        theirs.content,
        lambda: _merge_contents(base.content, ours.content, theirs.content),
    )
    # Of two values one is the base's where both differ, so that nothing is left to resolve.
    executable = merge_values(
        base.is_executable, ours.is_executable, theirs.is_executable, lambda: ours.is_executable
    )
    return FileState(content, False, executable)


def _merge_contents(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    try:
        return merge_lines(base, ours, theirs)
    except LinesConflict as conflict:
        if str(conflict) == "binary":
            raise Unmergeable("binary", "both changed it, and it is binary") from None
        raise Unmergeable("lines", f"both changed it: {conflict}") from None
