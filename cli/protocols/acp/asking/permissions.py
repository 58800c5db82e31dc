"""Approval by the client's user: allowed once, allowed in this session, or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from pydantic import ValidationError

from cli.output.effect_description import describe_effect
from cli.protocols.acp.content.tool_calls import (
    LONGEST_TITLE,
    choose_kind,
    format_text,
    list_locations,
    propose_changes,
)
from cli.protocols.acp.content.updates import UpdateMapper
from cli.protocols.acp.editor_client import GONE, EditorClient
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect
from sandbox.sanitize import sanitize_text
from tools.core.action import current_action

ONCE, SESSION, NO = "allow-once", "allow-session", "reject-once"

OPTIONS = (
    PermissionOption(option_id=ONCE, name="Allow once", kind="allow_once"),
    PermissionOption(option_id=SESSION, name="Allow in this session", kind="allow_always"),
    PermissionOption(option_id=NO, name="Reject", kind="reject_once"),
)


class ClientApprover:
    """An `Approver` over `session/request_permission`. An answer for the session holds for the same action only.

    get_mapper: the updates of the session, which know the tool call in question
    """

    def __init__(self, client: EditorClient, session_id: str, get_mapper: Callable[[], UpdateMapper]) -> None:
        self._client = client
        self._session_id = session_id
        self._get_mapper = get_mapper
        self._allowed: set[tuple[str, str]] = set()  # for the session
        self._one = asyncio.Lock()  # concurrent actions ask one after the other
        self._last: tuple[tuple[str, str, str], Decision] | None = None  # the last answer in this turn
        self._asked = 0

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
        if key in self._allowed and not question.asks_anew:
            return Decision(verdict="allow", reason="the user allows it in this session")
        mapper = self._get_mapper()
        call = current_action.get()
        arguments = mapper.find_arguments(call)
        asked = (*key, repr(arguments))
        if self._last is not None and self._last[0] == asked and not question.asks_anew:
            return self._last[1]
        self._asked += 1
        root = mapper.root
        title = f"{sanitize_text(tool)}: {what}" if what else sanitize_text(tool)
        details = what if len(title) > LONGEST_TITLE else ""
        request = RequestPermissionRequest(
            session_id=self._session_id,
            options=list(OPTIONS),
            tool_call=ToolCallUpdate(
                tool_call_id=call if mapper.is_announced(call) else f"question-{self._asked}",
                title=title[:LONGEST_TITLE],
                kind=choose_kind(tool, effect.kind),
                status="pending",
                locations=list_locations(root, arguments, effect.paths) or None,
                content=[
                    *format_text("\n".join(filter(None, (question.reason, details)))),
                    *propose_changes(root, arguments),
                ],
            ),
        )
        decision = self._apply_answer(await request_permission(self._client, request), key)
        if not question.asks_anew:
            self._last = (asked, decision)
        return decision

    def _apply_answer(self, option: str, key: tuple[str, str]) -> Decision:
        match option:
            case "allow-once":
                return Decision(verdict="allow", reason="the user allowed it")
            case "allow-session":
                self._allowed.add(key)
                return Decision(verdict="allow", reason="the user allows it in this session")
            case "reject-once":
                return Decision(verdict="deny", reason="the user refused it")
        return Decision(verdict="deny", reason="the user gave no answer")


async def request_permission(client: EditorClient, request: RequestPermissionRequest) -> str:
    """Return the id of the option that the user chose, "" for none."""
    try:
        answer = await client.request("session_request_permission", request)
        outcome = RequestPermissionResponse.model_validate(answer).outcome
    except (*GONE, RequestError, ValidationError):
        return ""
    return outcome.option_id if isinstance(outcome, AllowedOutcome) else ""
