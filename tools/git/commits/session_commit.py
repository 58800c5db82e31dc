"""Commit of the session's changes only; the user's index and work tree keep their state."""

from __future__ import annotations

import bisect
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.fs.regular_file import GIT_FILE, read_regular_file
from sandbox.fs.three_way_merge import MergeConflict, merge_lines, merge_values
from sandbox.helpers.git_runner import LITERAL, GitOutput
from sandbox.secrets.child_environment import redact
from tools.changes.session_changes import SessionChanges
from tools.core.action import ToolFailure
from tools.core.text import strip_terminal_codes
from tools.core.untrusted_output import escape_lookalikes
from tools.core.workspace import Workspace
from tools.git import repository_programs
from tools.git.broker import Broker, copy_index, create_scratch_folder, explain_failure
from tools.git.commits import commit_secrets, tampered_hooks
from tools.git.commits.changed_files import ChangedFile, list_changed_files
from tools.git.commits.commit_plan import CommitPlan, plan_commit
from tools.git.commits.git_objects import (
    Entry,
    compute_blob_id,
    diff_commits,
    read_blobs,
    read_index_entries,
    store_blob,
    write_index_entries,
)

# Editors and shell prompts hold the index lock briefly; longer means a waiting command, or a crash.
_LOCK_PATIENCE = 2.0

_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
}

# Messages that the user has prepared (merge --squash, revert -n) and that any commit deletes.
_PREPARED = ("MERGE_MSG", "SQUASH_MSG", "MERGE_MODE")

_TRAILER = "Assisted-by"

_APART = "the user has since changed lines that you wrote: yours are committed, theirs are in the file, uncommitted"

# Name of the fact that holds the last commit of this process to which the index was updated.
_DONE = "commit made"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedFile:
    """One file of a commit; lines added and removed, None for a binary file."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """A commit that was made.

    sha: its full id
    left_out: changed files that are not in it, and why
    untrusted: definitions of the repository that did not run, in one line
    notes: further notes for the user
    output: output of hooks
    """

    sha: str
    subject: str
    files: tuple[CommittedFile, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    output: str
    untrusted: str = ""


async def commit_session(at: Workspace, message: str) -> CommitResult:
    """Commit the session's changes and remove them from its record.

    The user's uncommitted changes stay as they were, staged or not. The repository's hooks run if the user trusts
    them. Raises ToolFailure, with the reason, when nothing was committed.
    """
    broker = Broker.from_path(at.root, at.trusts)
    return await broker.run_in_thread(lambda: _commit_blocking(at, broker, message))


def _commit_blocking(at: Workspace, broker: Broker, message: str) -> CommitResult:
    text = _add_trailer(message, str(at.facts.get("model", "")))
    _refuse_unfinished(broker)
    _wait_for_lock(broker)
    _require_identity(broker)
    old = _read_head(broker)
    _finish_interrupted_commit(at, broker, old)
    with create_scratch_folder() as folder:
        index = copy_index(broker, folder)
        # The last commit's entries, with the stat data of the user's index where it applies.
        broker.run("read-tree", *(("--reset", old) if old else ("--empty",)), index=index)
        head, _ = read_index_entries(broker, index)
        files = list_changed_files(at, broker, head)
        _refuse_tampered(broker, files)
        chosen = plan_commit(broker, files, head, index)
        _refuse_conflicts(chosen)
        if not chosen.entries:
            _forget_changes(at.changes, files, chosen.already_committed)
            raise ToolFailure(_explain_nothing_to_commit(at, chosen))
        write_index_entries(broker, chosen.entries, index)
        commit_secrets.refuse_new_secrets(broker, old, index, at.settings.secrets_allowed)
        output = _run_commit(broker, text, index)
    new = _read_head(broker)
    if new == old:
        raise ToolFailure(_explain_refusal(broker, output))
    changes = diff_commits(broker, old, new)
    notes = [f"{file.path}: {_APART}" for file in files if file.has_foreign_edits and file.path in changes]
    notes += _update_user_index(broker, changes)
    at.facts[_DONE] = new
    _forget_changes(at.changes, files, (*changes, *chosen.already_committed))
    return _build_result(broker, new, chosen, notes, output)


def _add_trailer(message: str, model: str) -> str:
    # Half of a surrogate pair, as a reply that was cut may hold, cannot be written.
    text = redact(message.replace("\r\n", "\n").strip()).encode("utf-8", "replace").decode()
    if not text or "\0" in text:
        raise ToolFailure("git_commit: nothing was committed: give a message (a subject line, then details)")
    maker = f"{_TRAILER}: Patchwright" + (f" ({' '.join(model.split())})" if model.strip() else "")
    if maker in text.split("\n"):
        return text + "\n"
    paragraphs = text.split("\n\n")
    last = paragraphs[-1].split("\n")
    trailers = len(paragraphs) > 1 and all(re.match(r"[\w-]+: |\s", line) for line in last)
    return f"{text}\n{maker}\n" if trailers else f"{text}\n\n{maker}\n"


def find_unfinished_operation(broker: Broker) -> str:
    """Return the user's unfinished operation in the repository, as "a merge"; "" if none."""
    return next((what for name, what in _UNFINISHED.items() if (broker.folder / name).exists()), "")


def _refuse_unfinished(broker: Broker) -> None:
    if what := find_unfinished_operation(broker):
        raise ToolFailure(
            f"git_commit: nothing was committed: {what} is in progress in this repository. "
            "The user finishes or aborts it first; your changes stay in the files."
        )


def _wait_for_lock(broker: Broker) -> None:
    lock = broker.folder / "index.lock"
    deadline = time.monotonic() + _LOCK_PATIENCE
    while lock.exists():
        if time.monotonic() > deadline:
            raise ToolFailure(
                f"git_commit: nothing was committed: {str(lock)!r} exists: another git command is running "
                "here, or one crashed. If none runs, the user removes that file. Your changes stay in place."
            )
        time.sleep(0.05)


def _require_identity(broker: Broker) -> None:
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        output = broker.run("var", name, ok=range(256))
        if output.returncode:
            reason = explain_failure(broker.root, "commit", output)
            raise ToolFailure(f"{reason}\nNothing was committed; your changes stay in the files.")


def _read_head(broker: Broker) -> str:
    """Return the last commit, "" before the first. git resolves it: it knows every reference storage format."""
    return broker.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1)).stdout.decode().strip()


def _finish_interrupted_commit(at: Workspace, broker: Broker, head: str) -> None:
    """Update the index after a kill between a commit and the index update: git would show the commit as reverted.

    This is the case if the last commit is ours, the session has not recorded it yet, and the index still holds the
    state before it. (If it is recorded, the user has staged that state since.)
    """
    if not head or not at.changes or head == at.facts.get(_DONE):
        return
    message = broker.run("log", "-1", "--no-show-signature", "--format=%P%n%B", head).stdout.decode(
        "utf-8", "replace"
    )
    parent, _, text = message.partition("\n")
    if " " in parent or f"\n{_TRAILER}: Patchwright" not in text:
        return
    entries, _ = read_index_entries(broker)
    behind = {
        path: (before, after)
        for path, (before, after) in diff_commits(broker, parent, head).items()
        if path in at.changes and before != after and entries.get(path) == before
    }
    _update_user_index(broker, behind)


def _refuse_tampered(broker: Broker, files: Sequence[ChangedFile]) -> None:
    bad = tampered_hooks.find_tampered_files(broker, [file.path for file in files])
    if bad and not any(each.kind == "hook" for each in broker.untrusted_definitions):
        raise ToolFailure(
            f"git_commit: nothing was committed: this session changed {', '.join(bad)}, which the commit "
            "hooks of this repository would run outside the sandbox. The user reviews and commits these."
        )


def _refuse_conflicts(chosen: CommitPlan) -> None:
    if chosen.conflicts:
        raise ToolFailure(
            "git_commit: nothing was committed: your changes cannot be separated from the user's own "
            f"uncommitted ones in:\n{_format_reasons(chosen.conflicts)}\n"
            "The files are as they were. The user commits or stashes their changes, or commits these files.",
            conflicts=chosen.conflicts,
        )


def _explain_nothing_to_commit(at: Workspace, chosen: CommitPlan) -> str:
    text = "git_commit: nothing to commit: "
    if chosen.excluded:
        return f"{text}the changed files are not git's to commit here:\n{_format_reasons(chosen.excluded)}"
    if chosen.already_committed:
        return f"{text}the last commit has these changes already."
    if at.changes:
        return f"{text}the files that you changed are as they were before."
    return f"{text}no file was changed in this session. (The user's own changes are theirs to commit.)"


def _run_commit(broker: Broker, text: str, index: Path) -> GitOutput:
    prepared = {name: _read_if_present(broker.folder / name) for name in _PREPARED}
    try:
        # Not the user's commit.cleanup: that may drop a line that starts with "#".
        options = ("--quiet", "--cleanup=whitespace", "--file=-")
        return broker.run_with_hooks("commit", *options, stdin=text.encode(), index=index)
    finally:
        for name, content in prepared.items():
            if content is not None and not (broker.folder / name).exists():
                (broker.folder / name).write_bytes(content)


def _explain_refusal(broker: Broker, output: GitOutput) -> str:
    kept = "Nothing was committed, and your changes stay in the files."
    ran = [path.name for path in repository_programs.list_active_hooks(broker)]
    if ran and "fatal:" not in output.stderr:
        names = ", ".join(ran)
        return f"git_commit: a hook of this repository ({names}) refused the commit:\n{_format_output(output)}\n{kept}"
    return f"{explain_failure(broker.root, 'commit', output)}\n{kept}"


def _update_user_index(broker: Broker, changes: Mapping[str, tuple[Entry | None, Entry | None]]) -> list[str]:
    """Update the user's index for the commit's paths only; the user's staged changes stay staged."""
    entries, unmerged = read_index_entries(broker)
    updates: dict[str, Entry | None] = {}
    left: list[str] = []
    for path, (old, new) in changes.items():
        present = entries.get(path)
        if path in unmerged:
            left.append(path)
        elif present == old or (old is None and _is_intent_to_add(present)):
            updates[path] = new
        elif present != new:
            merged = _merge_entry(broker, old, present, new)
            if merged is None:
                left.append(path)
            else:
                updates[path] = merged
    for path in _find_blocked_paths(entries, updates):
        left.append(path)
        del updates[path]
    notes = [f"staged version left as it was, without this commit's change: {path}" for path in left]
    try:
        _stage_after_lock(broker, updates)
    except ToolFailure as failure:  # the commit is made; only the index is not updated yet
        notes.append(f"the index could not follow, so git shows these files as staged back: {failure}")
    return notes


def _find_blocked_paths(entries: Mapping[str, Entry], updates: Mapping[str, Entry | None]) -> list[str]:
    """Return paths blocked by a file that the user staged where they need a folder, or the reverse: git would
    silently drop the user's entry."""
    added = [path for path, entry in updates.items() if entry and path not in entries]
    stay = sorted(path for path in entries if updates.get(path, entries[path]) is not None) if added else []
    there = set(stay)
    found = []
    for path in added:
        parts = path.split("/")
        below = bisect.bisect_left(stay, f"{path}/")
        inside = below < len(stay) and stay[below].startswith(f"{path}/")
        if inside or any("/".join(parts[:count]) in there for count in range(1, len(parts))):
            found.append(path)
    return found


def _stage_after_lock(broker: Broker, updates: Mapping[str, Entry | None]) -> None:
    if not updates:
        return
    deadline = time.monotonic() + _LOCK_PATIENCE
    while (broker.folder / "index.lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    write_index_entries(broker, updates)
    # Scripts that compare stat data must not see these files as changed.
    names = b"".join(os.fsencode(path) + b"\0" for path, entry in updates.items() if entry)
    options = ("--refresh", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
    broker.run(LITERAL, "add", *options, stdin=names, ok=range(256))


def _is_intent_to_add(entry: Entry | None) -> bool:
    """Return whether this is the empty placeholder entry of `git add --intent-to-add`."""
    return entry is not None and entry[1] == compute_blob_id(b"", entry[1])


def _merge_entry(broker: Broker, old: Entry | None, present: Entry | None, new: Entry | None) -> Entry | None:
    if not (old and present and new) or {old[0], present[0], new[0]} - {"100644", "100755"}:
        return None
    texts = read_blobs(broker, (old[1], present[1], new[1]))
    try:
        content = merge_lines(texts[old[1]], texts[present[1]], texts[new[1]])
    except MergeConflict:
        return None
    mode = merge_values(old[0], present[0], new[0], lambda: present[0])
    return mode, store_blob(broker, content)


def _forget_changes(changes: SessionChanges, files: Sequence[ChangedFile], paths: Iterable[str]) -> None:
    settled = set(paths)
    for file in files:
        for key in file.keys if file.path in settled else ():
            changes.forget(key)


def _build_result(
    broker: Broker, sha: str, chosen: CommitPlan, notes: list[str], output: GitOutput
) -> CommitResult:
    options = ("--numstat", "-z", "-r", "--root", "--no-renames", "--no-commit-id")
    safe = ("--no-ext-diff", "--no-textconv")
    files = []
    for line in broker.run("diff-tree", *options, *safe, sha).split_fields():
        added, removed, path = line.split("\t", 2)
        numbers = (None, None) if added == "-" else (int(added), int(removed))
        files.append(CommittedFile(path=path, added=numbers[0], removed=numbers[1]))
    subject = broker.run("log", "-1", "--no-show-signature", "--format=%s", sha).stdout
    return CommitResult(
        sha=sha,
        subject=subject.decode("utf-8", "replace").strip(),
        files=tuple(files),
        left_out=dict(chosen.excluded),
        notes=tuple(notes),
        output=_format_output(output),
        untrusted=repository_programs.format_warning(broker.untrusted_definitions),
    )


def _format_output(output: GitOutput) -> str:
    return escape_lookalikes(
        strip_terminal_codes(f"{output.stdout.decode('utf-8', 'replace')}\n{output.stderr}").strip()
    )


def _format_reasons(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"  {path}: {reason}" for path, reason in reasons.items())


def _read_if_present(path: Path) -> bytes | None:
    return read_regular_file(path, GIT_FILE)
