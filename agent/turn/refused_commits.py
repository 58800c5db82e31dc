"""Commits of a turn beside those that the session made: refused ones, and those of a command, a person or a child."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.turn.turn_start import TurnStart, read_head
from agent.turn.turn_verdict import TurnFacts
from agent.verify.suite_evidence import list_modified_files
from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from sandbox.lazy_dataclass import dataclass
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace

_AFTER_HOOK = "Fix what the hook reports. When you are done, your changes are committed again."


@dataclass(slots=True)
class RefusedCommits:
    """The last commit of the turn, if it failed.

    workspace: whose uncommitted changes count; a commit of nothing is no failure
    _has_lost_changes: the hook that refused it has undone them
    """

    workspace: Workspace
    _reason: str = ""
    _is_by_hook: bool = False
    _has_advised: bool = False
    _has_lost_changes: bool = False

    def begin_turn(self) -> None:
        """Forget the commits of earlier turns."""
        self._reason, self._is_by_hook, self._has_advised = "", False, False
        self._has_lost_changes = False

    def track(self, text: str, data: Mapping[str, Any]) -> None:
        """Handle the observation of an action."""
        if data.get("commit"):
            self._reason = ""
        elif (kind := data.get("not_committed")) in ("hook", "other"):
            self._reason, self._is_by_hook = text.removeprefix("git_commit: ").strip(), kind == "hook"

    def track_due_commit(self, text: str, data: Mapping[str, Any]) -> None:
        """Handle the observation of a commit for which there were changes."""
        self.track(text, data)
        self._has_lost_changes = bool(self._reason) and not list_modified_files(self.workspace)

    @property
    def reason(self) -> str:
        """Why the changes are not committed; "" if no commit failed, or all changes are."""
        return self._reason if self._has_lost_changes or list_modified_files(self.workspace) else ""

    def advise_model(self) -> str:
        """Return what the model is to fix for the hook that refused the commit, once in a turn; "" for nothing."""
        if self._has_advised or not self._is_by_hook or not self.reason:
            return ""
        self._has_advised = True
        return f"Your changes could not be committed: {self.reason}\n{_AFTER_HOOK}"


@dataclass(slots=True)
class OtherCommits:
    """Whether HEAD has moved to a new commit since the start of a turn, and what is left to commit."""

    workspace: Workspace
    _start: TurnStart = TurnStart(0.0, "")

    def begin_turn(self, start: TurnStart) -> None:
        """Remember the last commit."""
        self._start = start

    def has_new_commit(self) -> bool:
        """Return whether the last commit is another one, and made since: not one that was only checked out."""
        root, head = find_root(self.workspace.root), read_head(self.workspace.root)
        if root is None or not head or head == self._start.head:
            return False
        from tools.git.broker import Broker

        made = Broker(root, self.workspace.trusts).run("log", "-1", "--format=%ct", head).stdout
        return int(made or b"0") >= int(self._start.began)

    async def has_uncommitted_work(self, facts: TurnFacts) -> bool:
        """Return whether anything differs from the last commit; new files alone count unless the model looked at them
        and found nothing to commit."""
        from tools.git.status import read_status

        if find_root(self.workspace.root) is None:
            return False
        try:
            found = await read_status(self.workspace.root, self.workspace.trusts)
        except (ToolFailure, UserError):  # git cannot read the repository: it says so elsewhere
            return False
        known = bool(found.staged or found.unstaged or found.unmerged)
        return known or (bool(found.untracked) and not (facts.looked and facts.says_needless))

    async def add_to(self, facts: TurnFacts) -> TurnFacts:
        """Return the facts of a turn that was to commit and whose session has made no commit."""
        if not facts.intent.wants_commit or facts.commit != "none":
            return facts
        try:
            is_made = await asyncio.to_thread(self.has_new_commit)
        except (ToolFailure, UserError):
            is_made = False
        if is_made:
            return replace(facts, commit="made")
        return replace(facts, uncommitted=await self.has_uncommitted_work(facts))
