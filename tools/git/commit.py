"""Commit what the session changed and nothing else, leaving the user's index and work tree as they were."""

from __future__ import annotations

import bisect
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.secrets import redact
from tools.action import ToolFailure
from tools.framing import content
from tools.git import definitions, hooks, secrets
from tools.git.broker import LITERAL, Broker, copy_of_index, explain, scratch
from tools.git.entries import Entry, blob_id, committed, contents, stage, staged, store
from tools.git.merge import Plan, merge, plan
from tools.git.output import Output
from tools.git.touched import Touched, touched
from tools.text import plain
from tools.workspace import Workspace

# Editors and prompts hold the index's lock for moments; longer means a command that waits, or a crash.
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

# Name of the fact which is the last commit that this process has made, and brought the index to.
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
    untrusted: what of the repository was kept from running, in one line
    notes: what else the user should know
    output: what hooks printed
    """

    sha: str
    subject: str
    files: tuple[CommittedFile, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    output: str
    untrusted: str = ""


async def commit(at: Workspace, message: str) -> CommitResult:
    """Commit the session's changes. They leave `at.changed`.

    What the user had changed and not committed stays uncommitted, staged or not, as it was. The repository's
    hooks run if the user trusts them. Raises ToolFailure when nothing was committed, saying why.
    """
    broker = Broker.of(at.root, at.settings.trusts)
    return await broker.in_thread(lambda: _commit(at, broker, message))


def _commit(at: Workspace, broker: Broker, message: str) -> CommitResult:
    text = _with_trailer(message, str(at.facts.get("model", "")))
    _refuse_unfinished(broker)
    _wait_for_lock(broker)
    _require_identity(broker)
    old = _head(broker)
    _finish_cut_off(at, broker, old)
    with scratch() as folder:
        index = copy_of_index(broker, folder)
        # What the last commit holds, with the stat data of the user's index where it applies.
        broker.run("read-tree", *(("--reset", old) if old else ("--empty",)), index=index)
        head, _ = staged(broker, index)
        files = touched(at, broker, head)
        _refuse_tampered(broker, files)
        chosen = plan(broker, files, head, index)
        _refuse_conflicts(chosen)
        if not chosen.entries:
            _forget(at, files, chosen.done)
            raise ToolFailure(_nothing(at, chosen))
        stage(broker, chosen.entries, index)
        secrets.refuse_new(broker, old, index, at.settings.secrets_allowed)
        output = _run(broker, text, index)
    new = _head(broker)
    if new == old:
        raise ToolFailure(_refused(broker, output))
    changes = committed(broker, old, new)
    notes = [f"{file.path}: {_APART}" for file in files if file.apart and file.path in changes]
    notes += _bring_index(broker, changes)
    at.facts[_DONE] = new
    _forget(at, files, (*changes, *chosen.done))
    return _result(broker, new, chosen, notes, output)


def _with_trailer(message: str, model: str) -> str:
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


def unfinished(broker: Broker) -> str:
    """What the user has begun and not finished in the repository, as "a merge"; "" if nothing."""
    return next((what for name, what in _UNFINISHED.items() if (broker.folder / name).exists()), "")


def _refuse_unfinished(broker: Broker) -> None:
    if what := unfinished(broker):
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
            reason = explain(broker.root, "commit", output)
            raise ToolFailure(f"{reason}\nNothing was committed; your changes stay in the files.")


def _head(broker: Broker) -> str:
    """The last commit, "" before the first. Asked of git, which knows every way to store references."""
    return broker.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1)).stdout.decode().strip()


def _finish_cut_off(at: Workspace, broker: Broker, head: str) -> None:
    """A kill between a commit and the index leaves the index behind: git would show the commit staged back.

    That is so where the last commit is ours, the session does not know yet that it was made, and the index
    still holds what stood before it. (Where it knows, that is how the user has staged it since.)
    """
    if not head or not at.changed or head == at.facts.get(_DONE):
        return
    message = broker.run("log", "-1", "--no-show-signature", "--format=%P%n%B", head).stdout.decode(
        "utf-8", "replace"
    )
    parent, _, text = message.partition("\n")
    if " " in parent or f"\n{_TRAILER}: Patchwright" not in text:
        return
    entries, _ = staged(broker)
    behind = {
        path: (before, after)
        for path, (before, after) in committed(broker, parent, head).items()
        if path in at.changed and before != after and entries.get(path) == before
    }
    _bring_index(broker, behind)


def _refuse_tampered(broker: Broker, files: Sequence[Touched]) -> None:
    bad = hooks.tampered(broker, [file.path for file in files])
    if bad and not any(each.kind == "hook" for each in broker.untrusted):
        raise ToolFailure(
            f"git_commit: nothing was committed: this session changed {', '.join(bad)}, which the commit "
            "hooks of this repository would run outside the sandbox. The user reviews and commits these."
        )


def _refuse_conflicts(chosen: Plan) -> None:
    if chosen.conflicts:
        raise ToolFailure(
            "git_commit: nothing was committed: your changes cannot be separated from the user's own "
            f"uncommitted ones in:\n{_list(chosen.conflicts)}\n"
            "The files are as they were. The user commits or stashes their changes, or commits these files.",
            conflicts=chosen.conflicts,
        )


def _nothing(at: Workspace, chosen: Plan) -> str:
    text = "git_commit: nothing to commit: "
    if chosen.left_out:
        return f"{text}the changed files are not git's to commit here:\n{_list(chosen.left_out)}"
    if chosen.done:
        return f"{text}the last commit has these changes already."
    if at.changed:
        return f"{text}the files that you changed are as they were before."
    return f"{text}no file was changed in this session. (The user's own changes are theirs to commit.)"


def _run(broker: Broker, text: str, index: Path) -> Output:
    prepared = {name: _content(broker.folder / name) for name in _PREPARED}
    try:
        # Not the user's commit.cleanup: that may drop a line that starts with "#".
        options = ("--quiet", "--cleanup=whitespace", "--file=-")
        return broker.run_with_hooks("commit", *options, stdin=text.encode(), index=index)
    finally:
        for name, content in prepared.items():
            if content is not None and not (broker.folder / name).exists():
                (broker.folder / name).write_bytes(content)


def _refused(broker: Broker, output: Output) -> str:
    kept = "Nothing was committed, and your changes stay in the files."
    ran = [path.name for path in definitions.active(broker)]
    if ran and "fatal:" not in output.stderr:
        names = ", ".join(ran)
        return f"git_commit: a hook of this repository ({names}) refused the commit:\n{_said(output)}\n{kept}"
    return f"{explain(broker.root, 'commit', output)}\n{kept}"


def _bring_index(broker: Broker, changes: Mapping[str, tuple[Entry | None, Entry | None]]) -> list[str]:
    """Let the user's index follow, for the commit's paths alone; what the user staged stays staged."""
    entries, unmerged = staged(broker)
    updates: dict[str, Entry | None] = {}
    left: list[str] = []
    for path, (old, new) in changes.items():
        present = entries.get(path)
        if path in unmerged:
            left.append(path)
        elif present == old or (old is None and _is_intent(present)):
            updates[path] = new
        elif present != new:
            merged = _merged(broker, old, present, new)
            if merged is None:
                left.append(path)
            else:
                updates[path] = merged
    for path in _in_the_way(entries, updates):
        left.append(path)
        del updates[path]
    notes = [f"staged version left as it was, without this commit's change: {path}" for path in left]
    try:
        _stage_patiently(broker, updates)
    except ToolFailure as failure:  # the commit stands; only the index does not know of it yet
        notes.append(f"the index could not follow, so git shows these files as staged back: {failure}")
    return notes


def _in_the_way(entries: Mapping[str, Entry], updates: Mapping[str, Entry | None]) -> list[str]:
    """Paths that cannot be entered while a file of the user's is staged where they need a folder, or the reverse:
    git would drop theirs without a word."""
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


def _stage_patiently(broker: Broker, updates: Mapping[str, Entry | None]) -> None:
    if not updates:
        return
    deadline = time.monotonic() + _LOCK_PATIENCE
    while (broker.folder / "index.lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    stage(broker, updates)
    # So that scripts which compare by stat data do not see these files as changed.
    names = b"".join(os.fsencode(path) + b"\0" for path, entry in updates.items() if entry)
    options = ("--refresh", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
    broker.run(LITERAL, "add", *options, stdin=names, ok=range(256))


def _is_intent(entry: Entry | None) -> bool:
    """`git add --intent-to-add` leaves an entry of an empty file, which stands for nothing yet."""
    return entry is not None and entry[1] == blob_id(b"", entry[1])


def _merged(broker: Broker, old: Entry | None, present: Entry | None, new: Entry | None) -> Entry | None:
    if not (old and present and new) or {old[0], present[0], new[0]} - {"100644", "100755"}:
        return None
    texts = contents(broker, (old[1], present[1], new[1]))
    content = merge(broker, texts[old[1]], texts[present[1]], texts[new[1]])
    mode = present[0] if present[0] != old[0] else new[0]
    return None if content is None else (mode, store(broker, content))


def _forget(at: Workspace, files: Sequence[Touched], paths: Iterable[str]) -> None:
    settled = set(paths)
    for file in files:
        for key in file.keys if file.path in settled else ():
            at.changed.pop(key, None)
            at.modes.pop(key, None)


def _result(broker: Broker, sha: str, chosen: Plan, notes: list[str], output: Output) -> CommitResult:
    options = ("--numstat", "-z", "-r", "--root", "--no-renames", "--no-commit-id")
    safe = ("--no-ext-diff", "--no-textconv")
    files = []
    for line in broker.run("diff-tree", *options, *safe, sha).fields():
        added, removed, path = line.split("\t", 2)
        numbers = (None, None) if added == "-" else (int(added), int(removed))
        files.append(CommittedFile(path=path, added=numbers[0], removed=numbers[1]))
    subject = broker.run("log", "-1", "--no-show-signature", "--format=%s", sha).stdout
    return CommitResult(
        sha=sha,
        subject=subject.decode("utf-8", "replace").strip(),
        files=tuple(files),
        left_out=dict(chosen.left_out),
        notes=tuple(notes),
        output=_said(output),
        untrusted=definitions.warning(broker.untrusted),
    )


def _said(output: Output) -> str:
    return content(plain(f"{output.stdout.decode('utf-8', 'replace')}\n{output.stderr}").strip())


def _list(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"  {path}: {reason}" for path, reason in reasons.items())


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # nothing was prepared
        return None
