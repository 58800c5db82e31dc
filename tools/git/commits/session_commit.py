"""Commit of the session's changes only; the user's index and work tree keep their state."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from sandbox.errors import UserError, translate_write_errors
from sandbox.helpers.git_runner import GitOutput
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import UNTRUSTED_SIGNER, Definition
from sandbox.secrets.child_environment import redact
from tools.changes.session_changes import SessionChanges
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git import repository_programs
from tools.git.broker import Broker, Hooks, create_scratch_folder
from tools.git.commits import commit_secrets, tampered_hooks
from tools.git.commits.changed_files import ChangedFile, list_changed_files
from tools.git.commits.commit_plan import CommitPlan, plan_commit
from tools.git.commits.companion_files import list_missing_companions
from tools.git.commits.create_commit import KEPT, CreatedCommit, HookRefused, create_commit, format_output
from tools.git.commits.git_objects import diff_commits, read_index_entries, write_index_entries
from tools.git.commits.publish import HeadMoved, publish_commit, read_head, restore_index
from tools.git.confined_hooks import ConfinedHooks
from tools.git.git_failures import explain_failure
from tools.git.git_process import Git
from tools.git.index_lock import IndexLock
from tools.git.repository_state import (
    find_calling_git,
    find_rebasing_worktree,
    find_second_checkout,
)
from tools.git.scratch_index import copy_index
from tools.git.unfinished_operation import find_unfinished_operation

# Times that a commit is made anew because somebody else committed meanwhile; for the last one the index is locked.
_MOST_ATTEMPTS = 3

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
    confined = ConfinedHooks(at, broker)
    return await broker.run_in_thread(lambda: _commit_blocking(at, broker, confined, message), confined.stop)


def _commit_blocking(at: Workspace, broker: Broker, confined: ConfinedHooks, message: str) -> CommitResult:
    text = _add_trailer(message, str(at.facts.get("model", "")))
    _refuse_unfinished(broker)
    _refuse_unsigned(at, broker)
    author, committer = _require_identity(broker)
    text = _apply_message_rules(broker, text, committer)
    if broker.has_lost_trust:
        confined.refuse_impossible(list(at.changes))
    hooks: Hooks = confined if broker.has_lost_trust else broker
    lock = IndexLock(broker)
    was_reformatted = False
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        lock.wait_until_free()
        try:
            held = lock if attempt == _MOST_ATTEMPTS else nullcontext()
            with held, translate_write_errors(str(broker.folder)):
                return _commit_once(at, broker, hooks, lock, text, author)
        except HeadMoved:
            continue
        except _Reformatted as failure:
            if was_reformatted:
                raise ToolFailure(str(failure), not_committed="hook") from None
            was_reformatted = True
    raise ToolFailure(
        "git_commit: nothing was committed: others move this branch all the time. Your changes stay in the files."
    )


def _commit_once(
    at: Workspace, broker: Broker, hooks: Hooks, lock: IndexLock, text: str, author: str
) -> CommitResult:
    """Commit on top of the HEAD that is read here. Raises HeadMoved if that is no longer HEAD at the end."""
    head = read_head(broker)
    old = head.commit
    if place := find_rebasing_worktree(broker, head.ref):
        raise ToolFailure(
            f"git_commit: nothing was committed: this branch is being rebased or bisected in {place!r}. "
            "The user finishes that first; your changes stay in the files."
        )
    _finish_interrupted_commit(at, broker, lock, old)
    with create_scratch_folder() as folder:
        index = copy_index(broker, folder)
        # The last commit's entries, with the stat data of the user's index where it applies.
        broker.run("read-tree", *(("--reset", old) if old else ("--empty",)), index=index)
        entries, _ = read_index_entries(broker, index)
        files = list_changed_files(at, broker, entries)
        _refuse_tampered(broker, files)
        chosen = plan_commit(broker, files, entries, index)
        _refuse_conflicts(chosen)
        if not chosen.entries:
            _forget_changes(at.changes, files, chosen.already_committed)
            raise ToolFailure(_explain_nothing_to_commit(at, chosen), not_committed="nothing")
        write_index_entries(broker, chosen.entries, index)
        commit_secrets.refuse_new_secrets(broker, old, index, at.settings.secrets_allowed)
        before = _read_dirty_files(broker, hooks, index)
        try:
            made = create_commit(broker, hooks, old, text, index, author)
        except HookRefused as refusal:
            reason = _explain_refusal(refusal)
            changed = before is not None and _find_changes(
                before, _read_dirty_files(broker, hooks, index) or {}
            )
            if changed and changed <= chosen.entries.keys():
                raise _Reformatted(reason) from None
            raise ToolFailure(reason, not_committed="hook") from None
        changes = diff_commits(broker, old, made.sha)
        notes = [
            f"{file.path}: {_APART}" for file in files if file.has_foreign_edits and file.path in changes
        ]
        notes += _note_generated(broker, files, changes)
        notes += list_missing_companions(broker.root, files, changes)
        notes += publish_commit(broker, lock, head, made.sha, made.subject, changes)
        followed = lock.read_index()
        outputs = [*made.outputs, *_run_later_hooks(broker, index, notes)]
    at.facts[_DONE] = made.sha
    _forget_changes(at.changes, files, (*changes, *chosen.already_committed))
    if head.is_detached:
        notes.append("HEAD is on no branch; to keep this commit, the user makes one: git switch -c NAME")
    elif place := find_second_checkout(broker, head.ref):
        notes.append(f"{place!r} has this branch checked out too, and is one commit behind now")
    result = _build_result(broker, hooks, made, chosen, notes, outputs)
    if lock.read_index() != followed:
        restore_index(broker, lock, changes)
    return result


def _note_generated(broker: Broker, files: Sequence[ChangedFile], paths: Collection[str]) -> list[str]:
    """Return a note for the user on each committed change of a file that a program generates."""
    from tools.fs.generated_files import HEAD, describe_generated

    kept = [each for each in files if each.base and each.now and each.path in paths]
    told = (
        (
            each.path,
            describe_generated(each.base.content[:HEAD].decode("utf-8", "replace"), each.path, broker.root),
        )
        for each in kept
        if each.base
    )
    return [f"{path} is {found}" for path, found in told if found]


class _Reformatted(Exception):
    """A hook refused the commit and changed files of the commit only, as a formatter does. Its text is the reason."""


def _read_dirty_files(broker: Broker, hooks: Hooks, index: Path) -> dict[str, tuple[int, ...]] | None:
    """Return the tracked files that differ from an index, with the signs by which a later change is seen; None if no
    hook can change files."""
    if not hooks.has_hook("pre-commit"):
        return None
    names = broker.run("diff-files", "--name-only", "-z", index=index).split_fields()
    found: dict[str, tuple[int, ...]] = {}
    for name in names:
        with suppress(OSError):  # deleted
            info = (broker.root / name).lstat()
            found[name] = (info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode)
    return found


def _find_changes(before: Mapping[str, tuple[int, ...]], after: Mapping[str, tuple[int, ...]]) -> set[str]:
    return {name for name in after if after[name] != before.get(name)} | (before.keys() - after.keys())


def _run_later_hooks(broker: Broker, index: Path, notes: list[str]) -> list[GitOutput]:
    """Run the hooks that can no longer refuse the commit; one that is interrupted, or too slow, adds a note."""
    found = []
    try:
        found.append(broker.run_hook("post-commit", index=index))
        found.append(broker.run_hook("post-index-change", "0", "0", index=index))
    except (ToolFailure, UserError) as error:
        notes.append(f"the commit is made, but not all hooks ran after it: {error}")
    return [output for output in found if output is not None]


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


def _refuse_unfinished(broker: Broker) -> None:
    if caller := find_calling_git(broker.root):
        raise ToolFailure(
            f"git_commit: nothing was committed: this runs in a hook of {caller}, which commits itself. "
            "Your changes stay in the files."
        )
    if what := find_unfinished_operation(broker.folder):
        raise ToolFailure(
            f"git_commit: nothing was committed: {what} is in progress in this repository. "
            "The user finishes or aborts it first; your changes stay in the files."
        )


def _refuse_unsigned(at: Workspace, broker: Broker) -> None:
    """Refuse a commit that is to be signed by a program which the user does not trust: it would have no signature."""
    at.facts.pop(UNTRUSTED_SIGNER, None)
    if found := _list_untrusted_signers(broker):
        named = ", ".join(f"{each.name} = {each.runs}" for each in found)
        at.facts[UNTRUSTED_SIGNER] = named
        raise ToolFailure(
            f"git_commit: nothing was committed: it would have to be signed by {named}, which this repository names "
            "and the user does not trust. Your changes stay in the files. To see and trust it: patchwright trust"
        )


def _list_untrusted_signers(broker: Broker) -> list[Definition]:
    """Return the untrusted settings that name what signs, if commits here are to be signed and would not be."""
    named = [each for each in broker.untrusted_definitions if each.name.startswith("gpg.")]
    if not named or broker.signs_commits():
        return []
    wanted = broker.run_raw("config", "--type=bool", "--get", "commit.gpgsign").stdout.strip()
    return named if wanted == b"true" else []


def _apply_message_rules(broker: Broker, text: str, committer: str) -> str:
    """Return a message as the project wants it: wrapped, and signed off where commits are. Raises ToolFailure if it
    breaks a rule that the project states."""
    from tools.git.messages.message_style import finish_message, learn_style

    style = learn_style(Git(broker.root, alone=True))
    text = f"{finish_message(text, style, committer)}\n"
    if broken := style.rules.check(text):
        stated = "\n".join(f"  {each}" for each in style.rules.describe())
        raise ToolFailure(
            f"git_commit: nothing was committed: {'; '.join(broken)}.\n"
            f"Rules of this project ({', '.join(style.rules.sources)}):\n{stated}\n{KEPT}",
            not_committed="hook",
        )
    return text


def _require_identity(broker: Broker) -> tuple[str, str]:
    """Return author and committer as git prints them. Raises ToolFailure if git knows no author or no committer."""
    found = []
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        output = broker.run("var", name, ok=range(256))
        if output.returncode:
            reason = explain_failure(broker.root, "commit", output)
            raise ToolFailure(f"{reason}\nNothing was committed; your changes stay in the files.")
        found.append(output.stdout.decode("utf-8", "surrogateescape").strip())
    return found[0], found[1]


def _finish_interrupted_commit(at: Workspace, broker: Broker, lock: IndexLock, head: str) -> None:
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
    changes = diff_commits(broker, parent, head)
    restore_index(broker, lock, {path: change for path, change in changes.items() if path in at.changes})


def _refuse_tampered(broker: Broker, files: Sequence[ChangedFile]) -> None:
    bad = tampered_hooks.find_tampered_files(broker, [file.path for file in files])
    is_run = not any(each.kind == "hook" for each in broker.untrusted_definitions)
    if bad and (is_run or broker.has_lost_trust):
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


def _explain_refusal(refusal: HookRefused) -> str:
    return f"git_commit: a hook of this repository ({refusal.hook}) refused the commit:\n{refusal}\n{KEPT}"


def _forget_changes(changes: SessionChanges, files: Sequence[ChangedFile], paths: Iterable[str]) -> None:
    settled = set(paths)
    for file in files:
        for key in file.keys if file.path in settled else ():
            changes.forget(key)


def _build_result(
    broker: Broker,
    hooks: Hooks,
    made: CreatedCommit,
    chosen: CommitPlan,
    notes: list[str],
    outputs: Sequence[GitOutput],
) -> CommitResult:
    options = ("--numstat", "-z", "-r", "--root", "--no-renames", "--no-commit-id")
    safe = ("--no-ext-diff", "--no-textconv")
    files = []
    for line in broker.run("diff-tree", *options, *safe, made.sha).split_fields():
        added, removed, path = line.split("\t", 2)
        numbers = (None, None) if added == "-" else (int(added), int(removed))
        files.append(CommittedFile(path=path, added=numbers[0], removed=numbers[1]))
    return CommitResult(
        sha=made.sha,
        subject=made.subject,
        files=tuple(files),
        left_out=dict(chosen.excluded),
        notes=tuple(notes),
        output="\n".join(filter(None, map(format_output, outputs))),
        untrusted=_format_untrusted(broker, hooks),
    )


def _format_untrusted(broker: Broker, hooks: Hooks) -> str:
    if isinstance(hooks, ConfinedHooks) and hooks.note:
        return hooks.note
    return repository_programs.format_warning(broker.untrusted_definitions)


def _format_reasons(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"  {path}: {reason}" for path, reason in reasons.items())
