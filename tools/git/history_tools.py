"""`git_log`, `git_show`, `git_blame`: history, read without running programs that the repository configures."""

from __future__ import annotations

from sandbox.helpers.git_runner import LITERAL
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import strip_terminal_codes
from tools.core.workspace import Workspace
from tools.git.broker import Broker

MOST = 200
"""Commits that one call lists at most; a narrower query finds others."""

_REVISION = compile_lazily(r"[\w@][\w./@{}^~:+-]*")
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")


@tool(effect="read")
async def git_log(
    path: str = "",
    added_or_removed: str = "",
    pattern: str = "",
    revision: str = "HEAD",
    count: int = 20,
    *,
    at: Workspace,
) -> Observation:
    """List commits, the newest first.

    path: that touched this file or folder
    added_or_removed: after which this text occurs more or less often than before (-S)
    pattern: with an added or removed line that matches this POSIX regular expression (-G)
    revision: commit or range, as "main..HEAD"
    """
    if not 1 <= count <= MOST:
        raise ToolFailure(f"git_log: count must be 1 to {MOST} (got {count})")
    searches = [f"-S{added_or_removed}"] if added_or_removed else []
    searches += [f"-G{pattern}"] if pattern else []
    if len(searches) > 1:
        raise ToolFailure("git_log: give added_or_removed or pattern, not both")
    form = ("--no-show-signature", "--date=short", "--format=%h %ad %an: %s", f"--max-count={count}")
    text = await _run_git(
        at,
        "log",
        *_PLAIN,
        *form,
        *searches,
        "--end-of-options",
        _check_revision("git_log", revision),
        "--",
        *_build_path_arguments(at, path),
    )
    return _build_observation(text, "no such commit")


@tool(effect="read")
async def git_show(revision: str = "HEAD", path: str = "", *, at: Workspace) -> Observation:
    """Show a commit with its diff (of one path, if given), or a file as it was: revision "HEAD~3:src/cart.py"."""
    form = ("--no-show-signature", "--stat", "--patch", "--format=%H%n%an %ad%n%n%B")
    name = _check_revision("git_show", revision)
    text = await _run_git(
        at, "show", *_PLAIN, *form, "--end-of-options", name, "--", *_build_path_arguments(at, path)
    )
    return _build_observation(text, "nothing to show")


@tool(effect="read")
async def git_blame(
    path: str, first: int = 1, last: int | None = None, revision: str = "", *, at: Workspace
) -> Observation:
    """Show for each line of a file the commit that it comes from.

    revision: as of this commit; without it, of the file as it is now
    """
    if first < 1 or (last is not None and last < first):
        raise ToolFailure(f"git_blame: no lines {first} to {last}")
    lines = f"-L{first},{'' if last is None else last}"
    names = [_check_revision("git_blame", revision)] if revision else []
    text = await _run_git(
        at, "blame", "--no-textconv", "--date=short", lines, *names, "--", *_build_path_arguments(at, path)
    )
    return _build_observation(text, "the file is empty")


async def _run_git(at: Workspace, *arguments: str) -> str:
    broker = Broker.from_path(at.root, at.trusts)
    output = await broker.run_in_thread(lambda: broker.run(LITERAL, *arguments))
    return strip_terminal_codes(output.stdout.decode("utf-8", "replace")).rstrip("\n")


def _check_revision(tool: str, name: str) -> str:
    """Return a revision, refusing one that git would take for an option."""
    if not _REVISION.fullmatch(name):
        raise ToolFailure(f"{tool}: {name!r} names no commit")
    return name


def _build_path_arguments(at: Workspace, path: str) -> list[str]:
    """Return the path relative to the repository; none for all of it. Raises ToolFailure for one outside."""
    if path in ("", "."):
        return []
    try:
        relative = at.files.resolve_relative(path)
    except ValueError as error:
        raise ToolFailure(str(error)) from None
    broker = Broker.from_path(at.root, at.trusts)
    return [(at.root.resolve().relative_to(broker.root.resolve()) / relative).as_posix()]


def _build_observation(text: str, nothing: str) -> Observation:
    return Observation(text=text or nothing, value=text)
