"""State of a repository around a git command of the model: HEAD, references, stash and index, to be put back by undo.

Objects that a command cuts off stay in git's store until git's own clean-up (two weeks), as with `git reflog`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from sandbox.lazy_dataclass import dataclass
from tools.core.action import ToolFailure
from tools.git.broker import Broker
from tools.git.index_lock import IndexLock
from tools.git.unfinished_operation import find_unfinished_operation

_STASH = "refs/stash"
_REMOTES = "refs/remotes/"
_QUIT = {"a merge": "merge", "a cherry-pick": "cherry-pick", "a revert": "revert", "a rebase": "rebase"}
"""Operations that leave the files as they are when they are given up by `--quit`."""


_MOVED = "it has been moved since"
_GOES_WITH_INDEX = "the index goes with it, and something was staged or committed since"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """head: "ref: NAME", or the commit of a detached HEAD; refs: object ids by name, without remote-tracking ones
    stash: (object id, message) of each entry, the newest first
    index: object id of a blob with the bytes of the index, "" without one
    operation: unfinished, as "a merge"; "" if none
    """

    head: str
    refs: Mapping[str, str]
    stash: tuple[tuple[str, str], ...]
    index: str
    operation: str


def read_git_state(broker: Broker) -> GitState:
    """Return the present state; the bytes of the index are kept in git's object store. Blocking."""
    listed = broker.run("for-each-ref", "--format=%(objectname) %(refname)").stdout.decode(
        "utf-8", "surrogateescape"
    )
    pairs = [line.partition(" ")[::2] for line in listed.splitlines()]
    refs = {name: sha for sha, name in pairs if name != _STASH and not name.startswith(_REMOTES)}
    return GitState(
        head=_read_head(broker),
        refs=refs,
        stash=_read_stash(broker) if any(name == _STASH for _, name in pairs) else (),
        index=_store_index(broker),
        operation=find_unfinished_operation(broker.folder),
    )


def compare_states(before: GitState, after: GitState) -> dict[str, Any]:
    """Return what differs, as data for an observation: [before, after] by part; {} if nothing does."""
    names = sorted(before.refs.keys() | after.refs.keys())
    refs = {
        name: [before.refs.get(name, ""), after.refs.get(name, "")]
        for name in names
        if before.refs.get(name) != after.refs.get(name)
    }
    parts: dict[str, Any] = {
        "head": [before.head, after.head],
        "stash": [[list(each) for each in before.stash], [list(each) for each in after.stash]],
        "index": [before.index, after.index],
        "operation": [before.operation, after.operation],
    }
    changed = {name: pair for name, pair in parts.items() if pair[0] != pair[1]}
    if refs:
        changed["refs"] = refs
    return changed | {"place": [_get_place(before), _get_place(after)]} if changed else {}


def revert_states(
    root: Path, changes: Sequence[Mapping[str, Any]], *, forward: bool = False, keep_stash: bool = False
) -> dict[str, str]:
    """Put back what git commands changed, the last one first; `forward` brings it back again. Blocking.

    Each part only if it is as the command left it; HEAD, its branch and the index only together, since an index is
    read against HEAD. `keep_stash`: the stash has files that were left alone, so that it is needed.
    Returns the parts that were left alone, and why.
    """
    top = find_root(root)
    if top is None:
        return {"git": "the repository is gone"} if changes else {}
    left: dict[str, str] = {}
    for change in changes if forward else reversed(changes):
        if keep_stash and "stash" in change:
            left["the stash"] = "it has the files that were left"
            change = {name: part for name, part in change.items() if name != "stash"}
        kept: dict[str, str] = {}
        done: set[str] = set()
        try:
            broker = Broker(top)
            lock = IndexLock(broker, "")  # HEAD never moves where the index cannot follow
            with lock if "index" in change else nullcontext():
                old, new = (1, 0) if forward else (0, 1)
                for part, reason in _revert_change(broker, lock, change, old=old, new=new):
                    done.add(part)
                    kept |= {part: reason} if reason else {}
        except (ToolFailure, UserError) as failure:
            reason = _format_failure(failure)
            kept |= dict.fromkeys((part for part in _name_all(change) if part not in done), reason)
        left |= kept
    return left


def find_obstacles(root: Path, changes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the parts that cannot be put back while another git command runs, and why. Blocking."""
    top = find_root(root)
    if top is None or not any("index" in change for change in changes):
        return {}
    try:
        IndexLock(Broker(top), "").wait_until_free()
    except (ToolFailure, UserError) as failure:
        return dict.fromkeys(name_parts(changes), _format_failure(failure))
    return {}


def has_later_commit(root: Path, changes: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the last switch or merge was built on since, so that its files have to stay. Blocking."""
    top = find_root(root)
    moves = [each for each in changes if "head" in each or _get_branch(each, 1) in each.get("refs", {})]
    if top is None or not moves or "stash" in moves[-1]:
        return False
    return bool(_find_later_changes(Broker(top), moves[-1], 1))


def _name_all(change: Mapping[str, Any]) -> list[str]:
    return name_parts([change]) or ["git"]


def _format_failure(failure: Exception) -> str:
    return " ".join(str(failure).split())


def name_parts(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of what git commands changed, each once, as `revert_states` names them."""
    names = {"head": "HEAD", "index": "the index", "stash": "the stash"}
    found = [
        name
        for change in changes
        for name in (*change.get("refs", ()), *filter(None, map(names.get, change)))
    ]
    return list(dict.fromkeys(found))


def _revert_change(
    broker: Broker, lock: IndexLock, change: Mapping[str, Any], *, old: int, new: int
) -> Iterator[tuple[str, str]]:
    """Put the parts of a change back; yield each with the reason why it was left alone, "" if it was not."""
    for command in change.get("sent", ()):
        yield str(command), "what was sent to another repository stays there"
    if problem := _leave_operation(broker, change.get("operation"), old, new):
        yield from dict.fromkeys(_name_all(change), problem).items()
        return
    yield from _revert_place(broker, change, lock, old=old, new=new)
    if "stash" in change:
        pair = change["stash"]
        if [list(each) for each in _read_stash(broker)] != pair[new]:
            yield "the stash", "it has been changed since"
        else:
            _set_stash(broker, pair[old])
            yield "the stash", ""


def _revert_place(
    broker: Broker, change: Mapping[str, Any], lock: IndexLock, *, old: int, new: int
) -> Iterator[tuple[str, str]]:
    """Put back references, HEAD and the index; the lock is held if the index is to be changed."""
    later = _find_later_changes(broker, change, new)
    branch = _get_branch(change, new)
    own = change.get("head", ("", ""))[new]
    moved = False
    for name, pair in change.get("refs", {}).items():
        if name == branch and later and "HEAD" not in later:
            yield name, later.get(name, _GOES_WITH_INDEX)
        elif place := _find_user(broker, name, own, is_removed=not pair[old]):
            yield name, f"it is checked out in {place}"
        else:
            problem = _move_ref(broker, name, pair[old], pair[new])
            moved = moved or bool(problem)
            yield name, problem
    moved = moved and "head" in change
    if "head" in change:
        if later:
            yield "HEAD", later.get("HEAD", later.get(branch, _GOES_WITH_INDEX))
        elif moved:
            yield "HEAD", "a branch is not as it was left"
        else:
            _set_head(broker, change["head"][old])
            yield "HEAD", ""
    if "index" in change:
        if later or moved:
            yield "the index", later.get("the index", "HEAD or its branch has been moved since")
        else:
            stored = change["index"][old]
            content = broker.run("cat-file", "blob", stored).stdout if stored else None
            lock.replace_index(content, (0, 0))  # old: git compares the files by content
            yield "the index", ""


def _find_later_changes(broker: Broker, change: Mapping[str, Any], new: int) -> dict[str, str]:
    """Return which of HEAD, its branch and the index are not as the command left them, and why."""
    later: dict[str, str] = {}
    place = change.get("place")
    if place:
        head, commit = place[new]
        if _read_head(broker) != head:
            later["HEAD"] = "it has been switched or moved since"
        elif head.startswith("ref: ") and _read_commit(broker) != commit:
            later[_get_branch(change, new)] = _MOVED
    if "index" in change and not _is_index_at(broker, change["index"][new], by_entries=bool(place)):
        later["the index"] = "something was staged or committed since"
    return later


def _get_place(state: GitState) -> list[str]:
    """Return HEAD and its commit, "" if there is none yet."""
    name = state.head.removeprefix("ref: ")
    return [state.head, state.head if name == state.head else state.refs.get(name, "")]


def _get_branch(change: Mapping[str, Any], new: int) -> str:
    """Return the reference that HEAD named, "" if none or unknown."""
    head = str(change.get("place", (("",), ("",)))[new][0])
    return head.removeprefix("ref: ") if head.startswith("ref: ") else ""


def _is_index_at(broker: Broker, stored: str, *, by_entries: bool) -> bool:
    """Return whether the index is a stored one, or has its entries: `git status` renews the times of files in it."""
    now = _store_index(broker)
    if now == stored or not (by_entries and now and stored):
        return now == stored
    return _list_entries(broker, now) == _list_entries(broker, stored)


def _list_entries(broker: Broker, stored: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="patchwright-index-") as folder:
        index = Path(folder, "index")
        index.write_bytes(broker.run("cat-file", "blob", stored).stdout)
        return broker.run("ls-files", "--stage", "-v", "-z", index=index).stdout


def _leave_operation(broker: Broker, pair: Sequence[str] | None, old: int, new: int) -> str:
    """Give up an operation that the command began and left unfinished; return why that cannot be done."""
    now = find_unfinished_operation(broker.folder)
    if not pair:
        return f"{now} is in progress: finish it, or give it up, first" if now else ""
    if pair[old]:
        return f"{pair[old]} that was in progress cannot be brought back"
    if now != pair[new] or now not in _QUIT:
        return f"{now or 'an operation'} is in progress: finish it, or give it up, first" if now else ""
    broker.run(_QUIT[now], "--quit")
    return ""


def _find_user(broker: Broker, name: str, own: str, *, is_removed: bool) -> str:
    """Return the work tree that would lose its branch: another one, or this one since; "" for none.

    own: HEAD as the command left it, "" if it left it alone
    """
    output = broker.run("for-each-ref", "--format=%(worktreepath)", name).stdout
    place = os.fsdecode(output).strip()
    if not place:
        return ""
    is_here = Path(place).resolve() == broker.root.resolve()
    return "" if is_here and (own == f"ref: {name}" or not is_removed) else place


def _move_ref(broker: Broker, name: str, old: str, new: str) -> str:
    """Set a reference to `old` if it is at `new` ("" for none); return why it could not be set, "" if it was."""
    null = broker.null_id
    try:
        if old:
            broker.run("update-ref", "-m", "patchwright: undo", name, old, new or null)
        else:
            broker.run("update-ref", "-d", name, new)
    except ToolFailure as failure:
        now = broker.run("rev-parse", "--verify", "--quiet", name, ok=(0, 1)).stdout.decode().strip()
        return _format_failure(failure) if now == new else "it has been moved since"
    return ""


def _read_commit(broker: Broker) -> str:
    return broker.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1)).stdout.decode().strip()


def _read_head(broker: Broker) -> str:
    name = os.fsdecode(broker.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).stdout).strip()
    return f"ref: {name}" if name else broker.run("rev-parse", "HEAD").stdout.decode().strip()


def _set_head(broker: Broker, head: str) -> None:
    if head.startswith("ref: "):
        broker.run("symbolic-ref", "-m", "patchwright: undo", "HEAD", head.removeprefix("ref: "))
    else:
        broker.run("update-ref", "--no-deref", "-m", "patchwright: undo", "HEAD", head)


def _read_stash(broker: Broker) -> tuple[tuple[str, str], ...]:
    listed = broker.run("log", "-g", "--format=%H %gs", _STASH, "--", ok=(0, 128)).stdout
    lines = listed.decode("utf-8", "surrogateescape").splitlines()
    return tuple((sha, text) for sha, _, text in (line.partition(" ") for line in lines))


def _set_stash(broker: Broker, entries: Sequence[Sequence[str]]) -> None:
    while _read_stash(broker):
        broker.run("stash", "drop", "--quiet")
    for sha, text in reversed(entries):
        broker.run("stash", "store", "--quiet", "-m", text, sha)


def _store_index(broker: Broker) -> str:
    content = IndexLock(broker).read_index()
    if content is None:
        return ""
    return broker.run("hash-object", "-w", "--no-filters", "--stdin", stdin=content).stdout.decode().strip()
