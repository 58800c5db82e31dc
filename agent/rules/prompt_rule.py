"""The rule that a turn's prompt makes: what the person forbids in words binds as their written rules do.

No settings have it; it holds for one turn, and for the child sessions that the turn starts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Literal

from agent.prompt.prompt_intent import PromptIntent
from agent.rules.event_pattern import TEST_FILE, Happening, matches_command, matches_path
from agent.rules.rule_kinds import RuleBase
from sandbox.lazy_dataclass import dataclass

_COMMITTING = ("commit", "merge", "cherry-pick", "revert", "am", "rebase", "commit-tree")
"""Commands of git that make commits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRule(RuleBase):
    """What a prompt forbids.

    commits: no commit may be made; everything: no file may be changed; tests: no test file that is there
    paths: globs of files that may not be changed; only: globs of the only ones that may, all if empty
    """

    kind: Literal["prompt"] = "prompt"
    name: str = "the prompt"
    commits: bool = False
    everything: bool = False
    tests: bool = False
    paths: list[str] = field(default_factory=list)
    only: list[str] = field(default_factory=list)

    def is_closed(self, path: str, *, is_new: bool) -> bool:
        """Return whether a file may not be changed."""
        if self.everything or any(matches_path(each, path) for each in self.paths):
            return True
        if self.tests and not is_new and TEST_FILE.search(path):
            return True
        return bool(self.only) and not any(matches_path(each, path) for each in self.only)

    def list_closed(self, paths: Collection[str], new: Collection[str] = ()) -> list[str]:
        """Return those of some paths that may not be changed. new: those of files that were not there"""
        return [path for path in sorted(paths) if self.is_closed(path, is_new=path in new)]

    def forbids_commit(self, happenings: Collection[Happening]) -> bool:
        """Return whether something is a commit that may not be made."""
        if not self.commits:
            return False
        return any(each.name == "commit" for each in happenings) or any(
            matches_command(f"git {verb} *", each.commands)
            for each in happenings
            if each.name == "shell"
            for verb in _COMMITTING
        )


def build_prompt_rule(intent: PromptIntent) -> PromptRule | None:
    """Return the rule that a prompt makes, None if it forbids nothing."""
    if not (intent.forbids_commit or intent.restricts_files):
        return None
    return PromptRule(
        commits=intent.forbids_commit or intent.forbids_edits,
        everything=intent.forbids_edits,
        tests=intent.spares_tests,
        paths=list(_list_globs(intent.forbidden_paths)),
        only=list(_list_globs(intent.only_paths)),
    )


def _list_globs(names: Collection[str]) -> Iterator[str]:
    """Yield the globs of files that people name by a path, the end of one, or a folder."""
    for name in names:
        bare = name.removeprefix("./")
        if bare.endswith("/"):
            yield from (f"{bare}**", f"**/{bare}**")
        elif "." not in bare and "*" not in bare:
            yield from (bare, f"{bare}.*", f"**/{bare}", f"**/{bare}.*")
        else:
            yield from (bare, f"**/{bare}")
