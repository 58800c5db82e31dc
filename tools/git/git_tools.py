"""git tools of the model: `git_status`, `git_diff`, `git_commit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.fs.repository import find_root, read_branch, read_head_commit
from sandbox.helpers.git_runner import LITERAL
from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import format_count, format_unified_diff, join_names
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.git.broker import Broker
    from tools.git.commits.session_commit import CommittedFile

__all__ = ["find_root", "git_commit", "git_diff", "git_status", "read_branch", "read_head_commit"]

# Names of one group that are shown: more says nothing but "many".
_MAX_NAMES = 40

# Characters of a diff that are shown; about 4k tokens.
_MAX_DIFF = 16_000


@tool(effect="read")
async def git_status(*, at: Workspace) -> Observation:
    """Show branch and changed files, and which are yours."""
    from tools.git.status import read_status

    found = await read_status(at.root, at.trusts)
    mine = _list_session_paths(at)
    lines = [found.summary]
    for title, names in found.groups:
        if names:
            lines.append(f"{title} ({len(names)}):")
            lines += [f"  {name}{_format_owner(name[2:] in mine)}" for name in names[:_MAX_NAMES]]
            if len(names) > _MAX_NAMES:
                lines.append(f"  … and {len(names) - _MAX_NAMES} more")
    if not any(names for _, names in found.groups):
        lines.append("Nothing changed since the last commit.")
    facts = found.as_data(_MAX_NAMES) | {"changed_by_session": sorted(mine)}
    return Observation(text="\n".join(lines), data=facts)


@tool(effect="read")
async def git_diff(path: str = "", staged: bool = False, *, at: Workspace) -> Observation:
    """Show uncommitted changes, with your new files."""
    from tools.git.broker import Broker

    relative = at.files.resolve_relative(path) if path not in ("", ".") else ""
    if find_root(at.root) is None:
        return _build_diff_observation(
            at, _diff_session(at, relative), "No git repository here: only your own changes."
        )
    broker = Broker.from_path(at.root, at.trusts)
    text = await broker.run_in_thread(lambda: _diff_work_tree(at, broker, relative, staged=staged))
    return _build_diff_observation(at, text, "")


@tool(effect="git")
async def git_commit(message: str, *, at: Workspace) -> Observation:
    """Commit your changes, and no others. Hooks run; fix what they report."""
    from tools.git.commits.session_commit import commit_session
    from tools.git.messages.model_message import drop_repeated_paragraphs

    try:
        made = await commit_session(at, drop_repeated_paragraphs(message))
    except ToolFailure as failure:
        failure.data.setdefault("not_committed", "other")
        raise
    lines = [f"committed {made.sha[:10]} {made.subject}"]
    lines += [f"  {file.path} {_format_line_counts(file)}" for file in made.files[:_MAX_NAMES]]
    if len(made.files) > _MAX_NAMES:
        lines.append(f"  … and {len(made.files) - _MAX_NAMES} more")
    lines += [f"left out: {path}: {reason}" for path, reason in made.left_out.items()]
    lines += [f"note: {note}" for note in made.notes]
    if made.untrusted:
        lines.append(f"note: {made.untrusted}")
    if made.output:
        lines.append(f"Output of hooks:\n{made.output}")
    names = [file.path for file in made.files]
    data = {"commit": made.sha, "files": names, "left_out": dict(made.left_out)}
    if made.untrusted:
        data["untrusted"] = made.untrusted
    return Observation(text="\n".join(lines), data=data)


def _format_owner(own: bool) -> str:
    return " (changed by you)" if own else ""


def _list_session_paths(at: Workspace) -> set[str]:
    """Return the files that the session changed, relative to the repository."""
    root = find_root(at.root)
    prefix = at.root.resolve().relative_to(root.resolve()) if root else Path()
    return {(prefix / path).as_posix() for path in at.changes}


def _diff_work_tree(at: Workspace, broker: Broker, path: str, *, staged: bool) -> str:
    from tools.git.broker import create_scratch_folder
    from tools.git.scratch_index import copy_index

    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")
    prefix = at.root.resolve().relative_to(broker.root.resolve())
    limit = (prefix / path).as_posix()
    places = () if limit == "." else (limit,)
    if staged:
        return broker.run(LITERAL, "diff", "--cached", *options, "--", *places).stdout.decode(
            "utf-8", "replace"
        )
    with create_scratch_folder() as folder:
        index = copy_index(broker, folder)
        _add_new_files(at, broker, index, folder)
        return broker.run(LITERAL, "diff", *options, "--", *places, index=index).stdout.decode(
            "utf-8", "replace"
        )


def _add_new_files(at: Workspace, broker: Broker, index: Path, objects: Path) -> None:
    """Add the session's new files to a scratch index, so that the diff shows them."""

    new = sorted(path for path in _list_session_paths(at) if (broker.root / path).is_file())
    if new:
        names = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in new)
        options = ("--intent-to-add", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
        broker.run(LITERAL, "add", *options, stdin=names, index=index, objects=objects, ok=range(256))


def _diff_session(at: Workspace, path: str) -> str:
    parts = []
    for name, before in at.changes.originals.items():
        if path in ("", ".", name) or name.startswith(path + "/"):
            after = at.files.read(name) if at.files.is_file(name) else b""
            texts = [content.decode("utf-8", "replace") for content in (before or b"", after)]
            parts.append(format_unified_diff(name, *texts))
    return "".join(parts)


def _build_diff_observation(at: Workspace, text: str, note: str) -> Observation:
    head_lines = [note] if note else []
    if not text:
        return Observation(
            text="\n".join([*head_lines, "no differences"]), data={"diff": "", "files": []}, value=""
        )
    files = _list_diff_files(text)
    data = {"files": files, "diff": text[:_MAX_DIFF]}
    if len(text) <= _MAX_DIFF:
        return Observation(text="\n".join([*head_lines, text]), data=data, value=text)
    shown = text[:_MAX_DIFF].rpartition("\n")[0]
    try:
        ref = at.artifacts.save(text.encode())
    except OSError:  # disk full: the part that is shown matters more than its copy
        ref = ""
    rest = format_count(text.count("\n") - shown.count("\n"), "more line")
    how = f'recall(ref="{ref}", start={shown.count(chr(10)) + 2})' if ref else "git_diff with a path"
    names = f"Diff of {format_count(len(files), 'file')}: {join_names(files, _MAX_NAMES)}"
    told = "\n".join([*head_lines, names, shown, f"[… {rest}: {how} …]"])
    return Observation(text=told, data=data, ref=ref, value=text)


def _list_diff_files(diff: str) -> list[str]:
    return [line[4:].removeprefix("b/") for line in diff.split("\n") if line.startswith("+++ ")]


def _format_line_counts(file: CommittedFile) -> str:
    return "(binary)" if file.added is None else f"+{file.added} -{file.removed}"
