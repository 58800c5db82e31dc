"""Approval and questions by elicitation: the client's user sees the command or the diff, and chooses."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

from agent.team.person import UserQuestion, split_option
from cli.output.effect_description import describe_effect
from cli.protocols.mcp_server.open_call import OpenCall
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect
from sandbox.sanitize import sanitize_for_approval, sanitize_text
from sandbox.secrets.child_environment import redact

ONCE, ALL, NO = "allow once", "allow for this call", "reject"

LONGEST_CHANGE = 20_000
"""Characters of a diff. A larger change is refused, as is a longer command line."""

LONGEST_TARGET = 20_000
"""Characters of a command line. A longer one is refused: nobody approves what is not shown."""

_ANSWER, _CHOICE = "answer", "choice"
"""Fields of the forms: the answer, or the user's own words; a choice among options."""

APPROVAL_FORM: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        _ANSWER: {"type": "string", "title": "Answer", "enum": [ONCE, ALL, NO], "description": "What to do"}
    },
    "required": [_ANSWER],
}


class ClientApprover:
    """An `Approver` for one call. "For this call" holds for the same action only: command, or paths and change."""

    def __init__(self, call: OpenCall) -> None:
        self._call = call
        self._allowed: set[tuple[str, str, str]] = set()
        self._one = asyncio.Lock()  # concurrent actions ask one after the other

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        """See `Approver.ask`."""
        async with self._one:
            return await self._ask_user(tool, effect, question)

    async def _ask_user(self, tool: str, effect: Effect, question: Decision) -> Decision:
        target = describe_effect(effect)
        if len(target) > LONGEST_TARGET:
            return Decision(verdict="deny", reason=f"it has {len(target)} characters, too many to be shown")
        if len(effect.change) > LONGEST_CHANGE:
            reason = f"its change has {len(effect.change)} characters, too many to be shown"
            return Decision(verdict="deny", reason=reason)
        key = (tool, target, hashlib.sha256(effect.change.encode("utf-8", "surrogatepass")).hexdigest())
        if key in self._allowed and not question.asks_anew:
            return Decision(verdict="allow", reason="the user allows it in this call")
        message = format_approval(tool, target, effect.change, question.reason)
        answer = await self._call.ask(message, APPROVAL_FORM)
        match (answer or {}).get(_ANSWER):
            case "allow once":
                return Decision(verdict="allow", reason="the user allowed it")
            case "allow for this call":
                self._allowed.add(key)
                return Decision(verdict="allow", reason="the user allows it in this call")
            case "reject":
                return Decision(verdict="deny", reason="the user refused it")
        return Decision(verdict="deny", reason="the user gave no answer")


class ClientPerson:
    """Answers questions of models. Implements `Person`."""

    def __init__(self, call: OpenCall) -> None:
        self._call = call
        self._one = asyncio.Lock()

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`."""
        async with self._one:
            answer = await self._call.ask(
                sanitize_text(redact(question.question.strip())), build_question_form(question)
            )
        text, choice = (answer or {}).get(_ANSWER), (answer or {}).get(_CHOICE)
        if isinstance(text, str) and text.strip():
            return text.strip()
        return choice if isinstance(choice, str) else ""

    async def fill_form(self, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """See `FormPerson.fill_form`."""
        async with self._one:
            return await self._call.ask(sanitize_text(redact(message)), schema)


def format_approval(tool: str, target: str, change: str, reason: str) -> str:
    """Return the text of a question: the tool, its command or paths, the planned diff, and why it is asked."""
    shown = sanitize_for_approval(change).rstrip("\n")
    parts = [f"Allow {sanitize_text(tool)}?", target, shown, sanitize_text(reason)]
    return redact("\n\n".join(filter(None, parts)))


def build_question_form(question: UserQuestion) -> Mapping[str, Any]:
    """Return the form of a model's question: its options, and a line for another answer."""
    labels = [sanitize_text(split_option(each)[0]) for each in question.options]
    title = "Another answer" if labels else "Answer"
    properties: dict[str, Any] = {_ANSWER: {"type": "string", "title": title}}
    if labels:
        choice = {"type": "string", "title": "Choose", "enum": labels}
        return {"type": "object", "properties": {_CHOICE: choice, **properties}}
    return {"type": "object", "properties": properties, "required": [_ANSWER]}
