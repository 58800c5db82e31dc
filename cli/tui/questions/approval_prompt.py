"""Approval by the user at the terminal if the policy asks for it, never twice in a row for the same action."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from typing import Protocol

from agent.app_dirs import Home
from cli.output.effect_description import describe_effect
from cli.tui.frontend import Answer, Option, Question
from cli.tui.questions.change_editor import ChangeEditor
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Decision, Policy
from sandbox.policy.effects import Effect
from sandbox.sanitize import sanitize_for_approval, sanitize_text


class Asker(Protocol):
    """The part of a frontend that asks: of a terminal, or of a session that has none."""

    def alert(self, text: str) -> None:
        """See `Frontend.alert`."""
        ...

    def print(self, text: str) -> None:
        """See `Frontend.print`."""
        ...

    async def ask(self, question: Question) -> Answer:
        """See `Frontend.ask`."""
        ...


@dataclass(slots=True, kw_only=True)
class TerminalApprover:
    """An `Approver`. pause: the turn's clock is stopped inside this context; editor: of changes, where there is one"""

    front: Asker
    policy: Policy
    home: Home
    pause: Callable[[], AbstractContextManager[None]] = nullcontext
    editor: ChangeEditor | None = None
    _allowed: set[tuple[str, str]] = field(default_factory=set)  # for the session
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)  # concurrent actions ask one after the other
    _last: tuple[tuple[str, str, str], Decision] | None = None  # the last answer in this turn

    def forget_last_answer(self) -> None:
        """Forget the last answer, so that the same action is asked about again."""
        self._last = None

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        """See `Approver.ask`."""
        async with self._one:
            return await self._ask_person(tool, effect, question)

    async def _ask_person(self, tool: str, effect: Effect, question: Decision) -> Decision:
        what = describe_effect(effect)
        key = (tool, what)
        is_edit = effect.kind == "write" and not effect.outside and bool(effect.paths)
        is_allowed = key in self._allowed or (is_edit and self._allows_edit(effect))
        if is_allowed and not question.asks_anew:
            return Decision(verdict="allow", reason="the user allows it in this session")
        asked = (*key, effect.change)
        if self._last is not None and self._last[0] == asked and not question.asks_anew:
            return self._last[1]
        rules = tuple(f"shell({sanitize_for_approval(each)})" for each in question.always)
        self.front.alert("an action waits for your answer")
        can_edit = is_edit and question.can_edit and self.editor is not None
        asked_about = Question(
            title=f"Allow {sanitize_text(tool)}?",
            what=what,
            change=effect.change,
            why=sanitize_text(question.reason),
            options=_list_options(rules, is_edit=is_edit, can_edit=can_edit),
            otherwise="no",
        )
        content: str | None = None
        with self.pause():
            answer = await self.front.ask(asked_about)
            while answer.name == "edit" and self.editor is not None:
                edited = await self.editor.edit_change(asked_about.change)
                if isinstance(edited, str):
                    self.front.print(f"not edited: {sanitize_text(edited)}\n")
                else:
                    content = edited.new
                    asked_about = replace(asked_about, change=edited.format_diff())
                answer = await self.front.ask(asked_about)
        decision = self._apply_answer(answer, key, effect if is_edit else None)
        if decision.verdict == "allow" and content is not None:
            decision = replace(decision, content=content, reason=f"{decision.reason}, as they edited it")
        if not question.asks_anew:
            self._last = (asked, decision)
        return decision

    def _allows_edit(self, edit: Effect) -> bool:
        """Return whether all edits of the session are allowed, or those of each of its files."""
        return _ALL_EDITS in self._allowed or self._allowed.issuperset(_list_file_keys(edit))

    def _apply_answer(self, answer: Answer, key: tuple[str, str], edit: Effect | None) -> Decision:
        match answer.name:
            case "file" if edit is not None:
                self._allowed.update(_list_file_keys(edit))
                return Decision(verdict="allow", reason="the user allows edits of this file in this session")
            case "session" if edit is not None:
                self._allowed.add(_ALL_EDITS)
                return Decision(verdict="allow", reason="the user allows edits in this session")
            case "no":
                return Decision(verdict="deny", reason="the user refused it")
            case "word":
                said = f" and says: {answer.text}" if answer.text else ""
                return Decision(verdict="deny", reason=f"the user refused it{said}")
            case "session":
                self._allowed.add(key)
                return Decision(verdict="allow", reason="the user allows it in this session")
            case "rule":
                return self._store_rules(tuple(each.strip() for each in answer.text.split(";")))
        return Decision(verdict="allow", reason="the user allowed it")

    def _store_rules(self, rules: tuple[str, ...]) -> Decision:
        from cli.settings.permission_rules import store_rules
        from sandbox.policy.rules import parse_rule

        try:
            parsed = [parse_rule(each, "allow") for each in rules]
        except UserError as error:  # the user's edit is no valid rule: allow once
            self.front.print(sanitize_text(f"no rule was stored: {error.message}") + "\n")
            return Decision(verdict="allow", reason="the user allowed it")
        patterns = [each.pattern for each in parsed if each.kind == "shell"]
        self.policy.rules = self.policy.rules.with_allowed_commands(patterns)
        try:
            store_rules(self.home, patterns)
        except UserError as error:  # the rule applies in this session at least
            self.front.print(sanitize_text(f"not stored: {error.message}") + "\n")
        return Decision(verdict="allow", reason="the user allows it always")


_ALL_EDITS = ("", "edits")
"""Stands for every edit inside the workspace that a person has allowed for the session."""


def _list_file_keys(edit: Effect) -> list[tuple[str, str]]:
    return [("edits of", path) for path in edit.paths]


def _list_options(
    rules: tuple[str, ...], *, is_edit: bool = False, can_edit: bool = False
) -> tuple[Option, ...]:
    """Return the answers.

    rules: patterns that a lasting "yes" would store; () if no wider permission is advisable
    is_edit: of files inside the workspace; can_edit: its text can be changed first
    """
    lasting = Option(
        name="rule",
        key="r",
        label="Yes, always",
        about="; ".join(rules),
        line="rule to store, which you can edit (Enter stores it and goes on, Esc goes back):",
        text="; ".join(rules),
    )
    return (
        Option(name="once", key="y", label="Yes, once"),
        *([Option(name="edit", key="e", label="Edit it first", about="in your editor")] if can_edit else []),
        *([Option(name="file", key="f", label="Yes, and later edits of this file")] if is_edit else []),
        Option(
            name="session", key="s", label=f"Yes, {'and all edits of' if is_edit else 'for'} this session"
        ),
        *([lasting] if rules else []),
        Option(name="no", key="n", label="No"),
        Option(
            name="word",
            key="t",
            label="No, and tell it why",
            line="what shall the model be told? (Enter sends it with the no, Esc goes back)",
        ),
    )
