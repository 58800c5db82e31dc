"""Commits of a turn that were due, or that the model tried, and that were not made: what the end of the turn says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.verify.suite_evidence import list_modified_files
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

_AFTER_HOOK = "Fix what the hook reports. When you are done, your changes are committed again."


@dataclass(slots=True)
class RefusedCommits:
    """The last commit of the turn, if it failed.

    workspace: whose uncommitted changes count; a commit of nothing is no failure
    """

    workspace: Workspace
    _reason: str = ""
    _is_by_hook: bool = False
    _has_advised: bool = False

    def begin_turn(self) -> None:
        """Forget the commits of earlier turns."""
        self._reason, self._is_by_hook, self._has_advised = "", False, False

    def track(self, text: str, data: Mapping[str, Any]) -> None:
        """Handle the observation of an action."""
        if data.get("commit"):
            self._reason = ""
        elif (kind := data.get("not_committed")) in ("hook", "other"):
            self._reason, self._is_by_hook = text.removeprefix("git_commit: ").strip(), kind == "hook"

    @property
    def reason(self) -> str:
        """Why the changes are not committed; "" if no commit failed, or all changes are."""
        return self._reason if list_modified_files(self.workspace) else ""

    def advise_model(self) -> str:
        """Return what the model is to fix for the hook that refused the commit, once in a turn; "" for nothing."""
        if self._has_advised or not self._is_by_hook or not self.reason:
            return ""
        self._has_advised = True
        return f"Your changes could not be committed: {self.reason}\n{_AFTER_HOOK}"
