"""Bounds of a turn by what its prompt forbids: on every path, be it the model's, the harness's or a child's.

A ban on commits holds until a prompt asks for one, since a later commit would have the changes it was said of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from agent.events import End, Event, Prompt, Steer
from agent.prompt.ban_signs import may_forbid
from agent.session.branch_history import History
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode, Policy
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.rules.prompt_rule import PromptRule
    from agent.rules.rules_monitor import RulesMonitor
    from agent.turn.auto_commit import Committer


@dataclass(slots=True, kw_only=True)
class PromptBounds:
    """Follows the prompts of a session, and binds each turn.

    get_monitor: returns the monitor of rules; None if there is none, and it is not to be made
    history: of a resumed session, whose prompts may have forbidden commits
    is_child: another session wrote the prompts: its model names no command for the tests
    """

    workspace: Workspace
    policy: Policy
    committer: Committer
    get_monitor: Callable[[bool], RulesMonitor | None]
    history: History
    is_child: bool = False
    rules: tuple[PromptRule, ...] = ()
    _texts: list[str] = field(default_factory=list)
    _has_read_history: bool = False

    def handle_event(self, event: Event) -> None:
        """Bind the turn that a prompt begins; a text of the person during it counts with the prompt."""
        match event:
            case Prompt():
                self._texts = [event.text]
                self._bind()
                self._note_test_command(event.text)
            case Steer() if event.by == "person":
                self._texts.append(event.text)
                self._bind()
                self._note_test_command(event.text)
            case End():
                self._texts = []
                self._apply(None)

    def _bind(self) -> None:
        self._read_history()
        if not (self.committer.is_forbidden or any(map(may_forbid, self._texts))):
            self._apply(None)
            return
        from dataclasses import replace

        from agent.prompt.prompt_reader import read_intents
        from agent.rules.prompt_rule import build_prompt_rule

        intent = read_intents(self._texts)
        if intent.wants_commit or intent.forbids_commit:
            self.committer.is_forbidden = intent.forbids_commit
        self._apply(build_prompt_rule(replace(intent, forbids_commit=self.committer.is_forbidden)))

    def _note_test_command(self, text: str, *, is_newest: bool = True) -> None:
        """Keep the command that runs the tests for the session, where the person tells it."""
        if self.is_child or "`" not in text:
            return
        from agent.prompt.told_test_command import find_told_test_command
        from tools.testing.launch import TOLD_TESTS

        command = find_told_test_command(text)
        if command and (is_newest or TOLD_TESTS not in self.workspace.facts):
            self.workspace.facts[TOLD_TESTS] = command

    def _apply(self, rule: PromptRule | None) -> None:
        """Hold the session to a rule; without one that forbids every change, commands write as its mode lets them."""
        self.rules = (rule,) if rule is not None else ()
        if (monitor := self.get_monitor(rule is not None)) is not None:
            monitor.bind_prompt(rule)
        self.workspace.mode = Mode.READ_ONLY if rule is not None and rule.everything else self.policy.mode

    def _read_history(self) -> None:
        """Find out, once, what the last prompts of a resumed session that speak of commits and of tests say of them."""
        if self._has_read_history:
            return
        self._has_read_history = True
        if self.history.count_marked("prompt") < 2:  # the prompt that begins this turn is one
            return
        is_known = False
        for event in self.history.select_marked_newest_first("prompt"):
            if not isinstance(event, Prompt):
                continue
            self._note_test_command(event.text, is_newest=False)
            if not is_known and may_forbid(event.text):
                from agent.prompt.prompt_reader import read_intent

                intent = read_intent(event.text)
                if intent.wants_commit or intent.forbids_commit:
                    self.committer.is_forbidden = intent.forbids_commit
                    is_known = True
