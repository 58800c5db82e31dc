"""The guard against a false "done": tests that a session's uncommitted changes weaken.

A model that cannot make a test pass may make the test say less (reward hacking: METR 2025, "Recent Frontier Models Are
Reward Hacking"). The model hears of it once; what is left then is a person's decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.events import ActionEvent, Event, ObservationEvent, Prompt, Steer
from agent.verify.conclude import content_of, really_changed
from tools.guarding import Advice, Guard
from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.checks.finding import Finding

MOST_SHOWN = 8
"""Findings that are named: the first few say what kind of change it is."""


class WeakenedTests:
    """Finds weakened tests among what a session changed and did not commit, and keeps the model from committing them.

    reported: the model has been told of them in this turn
    """

    def __init__(self, workspace: Workspace) -> None:
        self.reported = False
        self._workspace = workspace
        self._prompts: list[str] = []
        self._commits: set[str] = set()

    def see(self, event: Event) -> None:
        """Take in an event as it is logged, or one of a turn that goes on."""
        match event:
            case Prompt():
                self.reported = False
                self._prompts = [event.text]
            case Steer() if event.by == "person":
                self._prompts.append(event.text)
            case ActionEvent() if event.effect == "git":
                self._commits.add(event.call)
            case ObservationEvent():
                self._commits.discard(event.call)

    def is_commit(self, call: str) -> bool:
        """Whether an action that has begun is a commit of the model's."""
        return call in self._commits and not call.startswith("harness-")

    def may_be_changed(self) -> bool:
        """Whether the session changed test files, and a prompt of the turn asks for that."""
        from tools.checks.weakened import is_test

        if not any(is_test(path) for path in really_changed(self._workspace)):
            return False
        from agent.intent import asks_to_change_tests

        return asks_to_change_tests(self._prompts)

    def find(self) -> list[Finding]:
        """Return what weakens tests, [] if the turn's prompts ask for tests to be changed."""
        changed = really_changed(self._workspace)
        if not changed:
            return []
        from tools.checks.weakened import is_test

        paths = [path for path in changed if is_test(path)]
        if not paths:
            return []
        from agent.intent import asks_to_change_tests

        if asks_to_change_tests(self._prompts):
            return []
        from sandbox.repository import find_root
        from tools.checks.diff import hunks_between
        from tools.checks.staged import Change
        from tools.checks.weakened import check
        from tools.plumbing import Git

        at = self._workspace
        git = Git(find_root(at.root) or at.root, alone=True)
        change = Change.of_contents(git, {path: (at.changed[path], content_of(at, path)) for path in paths})
        for file in change.files:
            file.hunks = hunks_between(file.path, change.text(file.old), change.text(file.new))
        return list(check(change))


class CommitGuard:
    """A gateway's guard: refuses the model's commit of weakened tests, and asks the next guard about all else."""

    def __init__(self, tests: WeakenedTests, following: Guard) -> None:
        self._tests = tests
        self._following = following

    def check(self, call: str) -> Advice:
        """See `Guard.check`."""
        if self._tests.is_commit(call) and (findings := self._tests.find()):
            self._tests.reported = True
            return Advice(refusal=report_to_model(findings))
        return self._following.check(call)


def report_to_model(findings: Sequence[Finding]) -> str:
    """Return what the model is told, once."""
    return (
        f"your changes weaken tests, which nobody asked for:\n{_rows(findings)}\n"
        "Restore these checks and mend the code. If a test is wrong itself, leave it and say why: a person decides."
    )


def report_to_person(findings: Sequence[Finding]) -> str:
    """Return why nothing was committed, and how to go on."""
    return (
        f"Tests were weakened, so nothing was committed:\n{_rows(findings)}\n"
        "The changes are in your files. Look at `git diff`; to keep them: `git commit -a` (in a conversation: /commit);"
        " to take them back: `patchwright undo`."
    )


def _rows(findings: Sequence[Finding]) -> str:
    rows = [
        f"  {each.path}:{each.line}: {each.message}" if each.line else f"  {each.path}: {each.message}"
        for each in findings[:MOST_SHOWN]
    ]
    if len(findings) > MOST_SHOWN:
        rows.append(f"  and {len(findings) - MOST_SHOWN} more")
    return "\n".join(rows)
