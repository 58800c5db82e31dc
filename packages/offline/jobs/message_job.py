"""A commit message for the uncommitted changes: by the model if it passes the checks of a message, else by code."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from packages.offline.jobs.desk import NotDone, Outcome
from packages.offline.jobs.job_reader import Job
from sandbox.errors import UserError
from sandbox.fs.regular_file import UnsafeFileError
from sandbox.fs.untrusted_file import read_workspace_file

if TYPE_CHECKING:
    from pathlib import Path

    from packages.offline.jobs.desk import Desk
    from tools.git.broker import Broker
    from tools.git.git_change import Change
    from tools.git.messages.message_style import Style

LARGEST, MOST_FILES = 2_000_000, 100
"""Bytes of a file whose diff is shown, and files that are looked at."""

MOST_DIFF = 6_000
"""Characters of the diff: some 2,000 tokens."""


async def suggest_message(desk: Desk, job: Job) -> Outcome:
    """Suggest a message; nothing is committed. Raises NotDone."""
    from agent.model.routing.roles import Role
    from agent.turn.side_calls import request_short_text
    from tools.git.messages.message_prompts import build_message_prompt
    from tools.git.messages.message_style import add_ticket
    from tools.git.messages.message_summary import compose_message
    from tools.git.messages.model_message import judge_message, parse_message

    change, style, ticket, diff = await asyncio.to_thread(_read_changes, desk)
    desk.tell(f"{len(change.files)} changed files: the model words the message, code checks it")
    asked = build_message_prompt(style, diff[:MOST_DIFF])
    reply = await request_short_text(desk.runtime, asked, purpose="commit message", role=Role.MAIN)
    message = parse_message(reply)
    message = type(message)(subject=add_ticket(message.subject, style, ticket), body=message.body)
    if await asyncio.to_thread(judge_message, message, change, style, job.text):
        return Outcome(text=str(message), is_done=True)
    own = (await asyncio.to_thread(compose_message, change, style, ticket)).rstrip()
    if not own:
        raise NotDone("nothing that a message could name is changed")
    return Outcome(
        text=f"{own}\n\n(Composed by code: the model's message did not fit the change.)", is_done=True
    )


def _read_changes(desk: Desk) -> tuple[Change, Style, str, str]:
    """Return the staged changes, without any all uncommitted ones; the messages' style, the ticket and the diff."""
    from sandbox.fs.repository import find_root, read_branch
    from tools.core.text import format_unified_diff
    from tools.git.broker import Broker
    from tools.git.git_change import Change
    from tools.git.git_process import Git
    from tools.git.messages.message_style import find_ticket, learn_style

    root = find_root(desk.at.root)
    if root is None:
        raise NotDone("this is no git repository")
    try:
        sides = _read_sides(Broker(root, desk.at.trusts), root)
    except UserError as error:
        raise NotDone(error.message) from None
    if not sides:
        raise NotDone("nothing is changed since the last commit")
    git = Git(root, alone=True)
    diff = ""
    for path, both in sides.items():
        if len(diff) > MOST_DIFF or sum(len(each or b"") for each in both) > LARGEST:
            continue
        before, after = ((each or b"").decode("utf-8", "replace") for each in both)
        diff += format_unified_diff(path, before, after)
    return Change.from_contents(git, sides), learn_style(git), find_ticket(read_branch(root)), diff


def _read_sides(broker: Broker, root: Path) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return the content before and after of each changed file, None where there is none."""
    staged = _list_paths(broker, "diff", "--cached", "--name-only", "-z", "--no-ext-diff", "--no-renames")
    paths = staged or _list_paths(
        broker, "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", "HEAD"
    )
    return {
        path: (
            _read_blob(broker, f"HEAD:{path}"),
            _read_blob(broker, f":{path}") if staged else _read_file(root, path),
        )
        for path in paths[:MOST_FILES]
    }


def _list_paths(broker: Broker, *arguments: str) -> list[str]:
    return [each for each in broker.run(*arguments).stdout.decode("utf-8", "replace").split("\0") if each]


def _read_blob(broker: Broker, name: str) -> bytes | None:
    from tools.core.action import ToolFailure

    try:
        return bytes(broker.run("show", "--no-textconv", name).stdout)
    except (ToolFailure, UserError):
        return None


def _read_file(root: Path, path: str) -> bytes | None:
    try:
        return read_workspace_file(root, path, LARGEST)
    except UnsafeFileError:
        return None
