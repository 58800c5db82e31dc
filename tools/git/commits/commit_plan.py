"""Plan a commit of the session's changes, file by file, without any of the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from sandbox.fs.three_way_merge import MergeConflict, merge_lines
from sandbox.lazy_dataclass import dataclass
from tools.fs.pointer_files import find_keeper
from tools.git.broker import Broker
from tools.git.commits.changed_files import ChangedFile, find_enclosing_repository
from tools.git.commits.git_objects import (
    Entry,
    compute_blob_id,
    read_blobs,
    store_blob,
    store_files,
    store_filtered_blob,
)
from tools.git.repository_programs import list_filter_names
from tools.git.repository_state import find_marked_paths


@dataclass(slots=True, kw_only=True)
class CommitPlan:
    """Entries to commit, and files that are left out.

    entries: the new entry of each path, None to delete it
    already_committed: paths whose present version is committed already
    excluded: paths that cannot be committed here (ignored, nested repositories …), and why
    conflicts: paths in which the session's changes cannot be separated from the user's, and why
    """

    entries: dict[str, Entry | None] = field(default_factory=dict)
    already_committed: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)


def plan_commit(
    broker: Broker, files: Sequence[ChangedFile], head: Mapping[str, Entry], index: Path
) -> CommitPlan:
    """Plan the commit by comparing base, last commit and present version of every file.

    head: the entries of the last commit, which `index` holds as well
    """
    result = CommitPlan(excluded=_find_excluded_files(broker, files, head, index))
    kept = [file for file in files if file.path not in result.excluded]
    known = read_blobs(broker, (head[file.path][1] for file in kept if file.path in head))
    present = _store_current_files(broker, kept, head, known)
    for file in kept:
        if file.conflict:
            result.conflicts[file.path] = file.conflict
            continue
        _decide_entry(broker, file, head.get(file.path), present.get(file.path, ""), result)
    _add_folder_conflicts(result, head)
    return result


def _find_excluded_files(
    broker: Broker, files: Sequence[ChangedFile], head: Mapping[str, Entry], index: Path
) -> dict[str, str]:
    """Find files that must not be committed here, and why."""
    reasons = find_marked_paths(broker, [file.path for file in files if file.path in head])
    asked = []
    for file in files:
        if file.path in reasons:
            continue
        if inner := find_enclosing_repository(broker.root, file.path, head):
            reasons[file.path] = f"it belongs to the repository in {inner!r}"
        elif file.is_original_lost:
            reasons[file.path] = (
                "what it was before is not known (too large to keep, ignored meanwhile, or the record is damaged): "
                "the user commits it"
            )
        elif file.base is not None and file.path not in head:
            reasons[file.path] = "it was the user's, and not yet in git, before you changed it"
        else:
            asked.append(file.path)
    # As `git add` does: ignored, unless tracked. "./": a leading colon would start a pattern.
    names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in asked)
    output = broker.run("check-ignore", "-z", "--stdin", stdin=names, index=index, ok=(0, 1))
    ignored = {name.removeprefix("./") for name in output.split_fields()}
    reasons |= _find_untrusted_filtered(broker, [file for file in files if file.path in asked], head)
    reasons |= _find_empty_pointers(broker, [file for file in files if file.path not in reasons])
    return reasons | {path: "ignored by .gitignore" for path in asked if path in ignored}


def _find_untrusted_filtered(
    broker: Broker, files: Sequence[ChangedFile], head: Mapping[str, Entry]
) -> dict[str, str]:
    """Find files that an untrusted filter would transform (encrypt, say) before git stores them."""
    names = list_filter_names(broker.untrusted_definitions)
    if not names:
        return {}
    stdin = b"".join(os.fsencode(file.path) + b"\0" for file in files)
    fields = broker.run("check-attr", "-z", "--stdin", "filter", stdin=stdin).split_fields()
    filtered = {path: value for path, value in zip(fields[::3], fields[2::3], strict=True) if value in names}
    return {
        file.path: f"the filter {filtered[file.path]!r} of this repository is not trusted: patchwright trust"
        for file in files
        if file.path in filtered and not _is_stored_raw(file, head.get(file.path))
    }


def _find_empty_pointers(broker: Broker, files: Sequence[ChangedFile]) -> dict[str, str]:
    """Find new and changed pointers to data that is not in its store: after the commit nobody could fetch it."""
    found = {}
    for file in files:
        if file.now is None or file.now.mode == "120000":
            continue
        before = file.base.content if file.base else None
        keeper = find_keeper(before, file.now.content, file.path, root=broker.root, git_folder=broker.shared)
        if keeper == "Git LFS" and "lfs" not in _read_filter(broker, file.path):
            continue  # a text as any other, as in the tests of a tool for LFS
        if keeper:
            found[file.path] = f"a pointer of {keeper} to data that is not here"
    return found


def _read_filter(broker: Broker, path: str) -> list[str]:
    """Return the name of the filter that .gitattributes give a file, with its path and the attribute's name."""
    stdin = os.fsencode(path) + b"\0"
    return list(broker.run("check-attr", "-z", "--stdin", "filter", stdin=stdin).split_fields())


def _is_stored_raw(file: ChangedFile, head: Entry | None) -> bool:
    """Return whether the last commit has the session's base unfiltered: the filter does not transform this file."""
    return (
        file.base is not None and head is not None and compute_blob_id(file.base.content, head[1]) == head[1]
    )


def _store_current_files(
    broker: Broker, files: Sequence[ChangedFile], head: Mapping[str, Entry], known: Mapping[str, bytes]
) -> dict[str, str]:
    """Store the present contents; returns blob ids by path."""
    found = {}
    plain: dict[bool, list[str]] = {True: [], False: []}
    for file in files:
        if file.now and file.now.mode == "120000":
            found[file.path] = store_blob(broker, file.now.content)
        elif file.now and file.has_foreign_edits:
            found[file.path] = _store_like_git(
                broker, file.path, file.now.content, head.get(file.path), known
            )
        elif file.now:
            plain[_has_committed_crlf(head.get(file.path), known)].append(file.path)
    return found | store_files(broker, plain[False]) | store_files(broker, plain[True], "--no-filters")


def _store_like_git(
    broker: Broker, path: str, content: bytes, entry: Entry | None, known: Mapping[str, bytes]
) -> str:
    """Store a content as git would store that of the file."""
    return (
        store_blob(broker, content)
        if _has_committed_crlf(entry, known)
        else store_filtered_blob(broker, path, content)
    )


def _has_committed_crlf(entry: Entry | None, known: Mapping[str, bytes]) -> bool:
    """Return whether the file is committed with CRLF: then git does not convert its line endings."""
    return entry is not None and b"\r\n" in known.get(entry[1], b"")


def _decide_entry(
    broker: Broker, file: ChangedFile, head: Entry | None, present: str, result: CommitPlan
) -> None:
    if file.now is None and head is None:
        return  # created and removed again
    if head is not None and head[1] == present and file.now:
        mode = _choose_mode(file, head)
        if mode == head[0]:
            result.already_committed.append(file.path)
        else:
            result.entries[file.path] = (mode, present)
    elif file.base is None:
        if head is None:
            result.entries[file.path] = (_choose_mode(file, head), present)
        else:
            result.conflicts[file.path] = "the user had removed it before you wrote it anew"
    elif head is not None and _is_base_committed(broker, file, head):
        result.entries[file.path] = (_choose_mode(file, head), present) if file.now else None
    elif head is not None:
        _merge_with_user_changes(broker, file, head, present, result)


def _merge_with_user_changes(
    broker: Broker, file: ChangedFile, head: Entry, present: str, result: CommitPlan
) -> None:
    if file.base is None or file.now is None:
        result.conflicts[file.path] = "the user had uncommitted changes in it, and you deleted it"
        return
    if "120000" in (head[0], file.now.mode, file.base.mode):
        result.conflicts[file.path] = "the user had changed it too, and it is a symbolic link"
        return
    texts = read_blobs(broker, (head[1],))
    base = _store_like_git(broker, file.path, file.base.content, head, texts)
    texts |= read_blobs(broker, (base, present))
    try:
        merged = merge_lines(texts[base], texts[head[1]], texts[present])
    except MergeConflict:
        result.conflicts[file.path] = "your changes touch lines that the user has changed and not committed"
        return
    mode = _choose_mode(file, head)
    if merged == texts[head[1]] and mode == head[0]:  # committed by the user
        result.already_committed.append(file.path)
    else:
        result.entries[file.path] = (mode, store_blob(broker, merged))


def _is_base_committed(broker: Broker, file: ChangedFile, head: Entry) -> bool:
    """Return whether the session's base is the committed version."""
    if file.base is None or (head[0] == "120000") != (file.base.mode == "120000"):
        return False
    if compute_blob_id(file.base.content, head[1]) == head[1]:
        return True
    return head[0] != "120000" and store_filtered_blob(broker, file.path, file.base.content) == head[1]


def _choose_mode(file: ChangedFile, head: Entry | None) -> str:
    """Return the present mode if the session changed it, else the committed one: a user's chmod is left out."""
    now = file.now.mode if file.now else ""
    if head is None or "120000" in (head[0], now):
        return now
    base = file.base.mode if file.base else ""
    return now if base and base != now else head[0]


def _add_folder_conflicts(result: CommitPlan, head: Mapping[str, Entry]) -> None:
    """Add conflicts for new files in place of a committed folder or below a committed file: they would delete it."""
    new = [path for path, entry in result.entries.items() if entry is not None and path not in head]
    if not new:
        return
    kept = {path for path in head if result.entries.get(path, head[path]) is not None}
    folders = {parent for path in kept for parent in _list_parents(path)}
    for path in new:
        if path in folders or any(parent in kept for parent in _list_parents(path)):
            result.conflicts[path] = "the user has a folder where the last commit has a file, or the reverse"


def _list_parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
