"""Automatic commits of a session's changes: when, on which branch, and with which message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.monitor.answers import TellModel, TurnEnd
from agent.monitor.monitor import Monitor
from agent.session_settings import When
from agent.turn.side_calls import HasSideCalls, request_short_text
from agent.verify.suite_evidence import SuiteEvidence, list_modified_files, read_current_content
from agent.verify.weakened_tests import WeakenedTests
from sandbox.policy.decision import Mode
from tools.core.action import Observation, ToolFailure
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.git.git_change import Change
    from tools.git.messages.message_style import Style

BRANCHES = "patchwright/"
"""Prefix of the branches that the agent creates."""

_LARGEST = 2_000_000
"""Characters of both sides of a file whose diff is computed for the message."""

_DIFF = 12_000
"""Characters of a diff in the prompt for a commit message: about 3k tokens."""

_SHORTEST_BODY = 4
"""Words of a final reply that is worth keeping in the message, unlike `All tests pass`."""

Act = Callable[[str, dict[str, object]], Awaitable[Observation]]
"""Run an action of the harness: a tool and its arguments."""


class Committer:
    """Commits through the gateway, as the tool `git_commit` does: the agent's hunks, and none of the user's.

    act: runs an action of the harness
    asking: requests a short text from a model
    tests: the guard against weakened tests
    """

    def __init__(
        self, when: When, workspace: Workspace, act: Act, asking: HasSideCalls, tests: WeakenedTests
    ) -> None:
        self.when = when
        self.prompt = ""
        """Prompt of the current turn."""
        self.is_forbidden = False
        """Whether a prompt forbids commits."""
        self._workspace = workspace
        self._act = act
        self._asking = asking
        self._tests = tests

    @property
    def may_commit(self) -> bool:
        """Whether the settings want commits, and no prompt forbids them."""
        return self.when != "never" and not self.is_forbidden

    async def commit_after_turn(self, ended: TurnEnd) -> Observation | None:
        """Commit the remaining changes at the end of a verified turn; None if no commit was due."""
        return await self._commit_changes(ended) if self.may_commit else None

    async def find_calling_git(self) -> str:
        """Return the git command in whose hook a commit would be made now, as "git commit"; "" if none is due."""
        if not self.may_commit or not list_modified_files(self._workspace):
            return ""
        from sandbox.fs.repository import find_root
        from tools.git.repository_state import find_calling_git

        return await asyncio.to_thread(
            find_calling_git, find_root(self._workspace.root) or self._workspace.root
        )

    async def commit_before_request(self, evidence: SuiteEvidence) -> str:
        """With "step": commit when the whole suite passed on the current files.

        Returns a note for the model, "" if nothing was committed.
        """
        report = evidence.get_current_report() if self.when == "step" and self.may_commit else None
        if report is None or report.get("outcome") != "passed" or self._tests.find_weakened_tests():
            return ""
        if await self.find_calling_git():
            return ""
        made = await self._commit_changes()
        commit = made.data.get("commit") if made is not None and not made.failed else None
        return (
            f"[Your changes so far are committed, since the tests pass: {str(commit)[:10]}]" if commit else ""
        )

    async def commit_now(self) -> Observation | None:
        """Commit at once, on the user's request; None if nothing was changed."""
        return await self._commit_changes()

    async def _commit_changes(self, ended: TurnEnd | None = None) -> Observation | None:
        if not list_modified_files(self._workspace):
            return None
        text = "" if ended is None else ended.text
        is_checked = ended is not None and ended.is_checked  # its text is code's, and may be the request
        message = await self._compose_message(text, "" if is_checked else self.prompt)
        if self.when == "branch" and self._workspace.mode is not Mode.READ_ONLY:
            try:
                await asyncio.to_thread(_switch_to_own_branch, self._workspace, self.prompt or message)
            except ToolFailure as failure:
                return Observation(text=str(failure), data={"not_committed": "other"}, failed=True)
        return await self._act("git_commit", {"message": message})

    async def _compose_message(self, text: str, request: str) -> str:
        """Use the final reply if it is a message for this change; else ask a model; else compose one by code.

        request: what a model was asked for, which a message must not only repeat
        """
        from tools.git.messages.message_prompts import build_message_prompt
        from tools.git.messages.message_style import add_ticket
        from tools.git.messages.message_summary import compose_message
        from tools.git.messages.model_message import drop_repetition, is_echo, judge_message, parse_message

        change, style, ticket = await asyncio.to_thread(_collect_message_inputs, self._workspace)
        reply = parse_message(text)
        reply = replace(reply, subject=add_ticket(reply.subject, style, ticket))
        if await asyncio.to_thread(judge_message, reply, change, style, request):
            return str(reply)
        diff = await asyncio.to_thread(_build_diff, self._workspace)
        asked = build_message_prompt(style, diff[:_DIFF])
        answer = parse_message(await request_short_text(self._asking, asked, purpose="commit message"))
        answer = replace(answer, subject=add_ticket(answer.subject, style, ticket))
        if await asyncio.to_thread(judge_message, answer, change, style, request):
            return str(answer)
        own = (await asyncio.to_thread(compose_message, change, style, ticket)).rstrip() or "Apply changes"
        says_more = len(text.split()) >= _SHORTEST_BODY and not is_echo(text, request)
        return f"{own}\n\n{drop_repetition(own, text) if says_more else ''}".strip()


class StepCommits(Monitor):
    """Commits before a request, as the setting "step" wants it, and tells the model."""

    def __init__(self, committer: Committer, evidence: SuiteEvidence) -> None:
        self._committer = committer
        self._evidence = evidence

    async def before_request(self) -> Sequence[TellModel]:
        """See `Monitor.before_request`."""
        note = await self._committer.commit_before_request(self._evidence)
        return [TellModel(text=note)] if note else ()


def _collect_message_inputs(at: Workspace) -> tuple[Change, Style, str]:
    """Return (the session's changes, the style of the repository's messages, the branch's ticket)."""
    from sandbox.fs.repository import find_root, read_branch
    from tools.git.git_change import Change
    from tools.git.git_process import Git
    from tools.git.messages.message_style import find_ticket, learn_style

    git = Git(find_root(at.root) or at.root, alone=True)
    ticket = find_ticket(read_branch(git.root))
    return Change.from_contents(git, _read_changed_contents(at)), learn_style(git), ticket


def _read_changed_contents(at: Workspace) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {
        path: (at.changes.originals[path], read_current_content(at, path)) for path in list_modified_files(at)
    }


def _build_diff(at: Workspace) -> str:
    """Return the diff of the changes, as far as a model is shown it."""
    from tools.core.text import format_unified_diff

    diff = ""
    for path, sides in _read_changed_contents(at).items():
        if len(diff) > _DIFF:
            break
        before, after = ((each or b"").decode("utf-8", "replace") for each in sides)
        if len(before) + len(after) > _LARGEST:
            diff += f"--- a/{path}\n+++ b/{path}\n(too large to show)\n"
        else:
            diff += format_unified_diff(path, before, after)
    return diff


def _switch_to_own_branch(at: Workspace, words: str) -> None:
    """Switch to a new branch at the current commit; files and index are unchanged. No-op on such a branch.

    Also a no-op during a merge or a rebase, which moving HEAD would break; the commit is then refused as well.
    """
    from sandbox.fs.repository import find_root, read_branch
    from tools.git.broker import Broker
    from tools.git.new_branch import switch_to_new_branch
    from tools.git.unfinished_operation import find_unfinished_operation

    root = find_root(at.root)
    if root is None or read_branch(root).startswith(BRANCHES):
        return
    broker = Broker(root, at.trusts)
    if find_unfinished_operation(broker.folder):
        return
    slug = "-".join(re.findall(r"[a-z0-9]+", words.lower()))[:40].strip("-") or "work"
    switch_to_new_branch(broker, f"{BRANCHES}{slug}")
