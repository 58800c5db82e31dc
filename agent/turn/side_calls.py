"""Model calls outside the conversation: titles, summaries, messages, opinions. Each is logged and counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from agent.events import SideCall, UsageRecord
from agent.model.protocol import Model, Reply, Request, Usage, UserMessage
from agent.model.routing.roles import Role, Roles
from sandbox.errors import Fault, UserError
from sandbox.secrets.child_environment import redact

if TYPE_CHECKING:
    from agent.context.compression.compressor import Summarise
    from agent.context.projection.projection import Projection

PATIENCE = 60.0
"""Seconds that a short text may take: users wait no longer for a title."""

SHORT = 1_000
"""Maximum tokens of a short text, reasoning included."""

_SUMMARY, _SUMMARY_TOKENS = "summary of the past", 3_000

_SYSTEM = "You write one short text for a coding agent. Answer with that text alone: no preface, no quotation marks."


class HasSideCalls(Protocol):
    """A `Runtime`, or another object that can ask models."""

    side_calls: SideCalls


class SideCalls:
    """Calls the models of the roles.

    record: receives every call (a session appends it to its log)
    refusal: returns why no call may be made now ("" if allowed): a limit on cost or tokens
    """

    def __init__(
        self,
        roles: Roles,
        record: Callable[[SideCall], object] = lambda event: None,
        refusal: Callable[[], str] = lambda: "",
    ) -> None:
        self.roles = roles
        self._record = record
        self._refusal = refusal

    async def request_text(
        self,
        prompt: str,
        *,
        purpose: str,
        role: Role = Role.FAST,
        system: str = _SYSTEM,
        max_output: int = SHORT,
        patience: float = PATIENCE,
    ) -> str:
        """Return the answer to one prompt, stripped; "" if no model can be asked, or a limit forbids it.

        purpose: a word or two for the log, such as "commit message"; max_output: tokens; patience: seconds

        Raises UserError when the model fails or does not answer in time.
        """
        model = self.roles.get_writer(role)
        if model is None or self._refusal():
            return ""
        request = Request(system=system, messages=[UserMessage(text=redact(prompt))], max_output=max_output)
        reply = await self.request_reply(model, request, purpose=purpose, role=role, patience=patience)
        return reply.text.strip()

    async def request_in_context(
        self, request: Request, prompt: str, *, purpose: str, max_output: int, patience: float = PATIENCE
    ) -> str:
        """Return the answer of the conversation's own model to a prompt appended to it, using its cache.

        Otherwise like `request_text`. Actions in the reply are ignored.
        """
        model = self.roles.get_writer(Role.MAIN)
        if model is None or self._refusal():
            return ""
        messages = [*request.messages, UserMessage(text=redact(prompt))]
        whole = replace(request, messages=messages, max_output=max_output)
        reply = await self.request_reply(model, whole, purpose=purpose, role=Role.MAIN, patience=patience)
        return reply.text.strip()

    async def request_reply(
        self, model: Model, request: Request, *, purpose: str, role: Role, patience: float = PATIENCE
    ) -> Reply:
        """Send one request to one model, logged and counted. Raises UserError when it fails or takes too long."""
        started = time.monotonic()
        problem, reply = "", Reply(text="")
        try:
            async with asyncio.timeout(patience):
                reply = await collect_reply(model, request)
        except TimeoutError:
            problem = f"{model.name} did not answer within {patience:g} s ({purpose})"
            raise UserError(Fault.MODEL_UNREACHABLE, problem) from None
        except UserError as error:
            problem = error.message
            raise
        finally:
            usage = convert_usage(reply.usage, time.monotonic() - started)
            name = reply.model or model.name
            self._record(
                SideCall(
                    purpose=purpose, role=role, model=name, text=reply.text, usage=usage, problem=problem
                )
            )
        return reply


class PastSummaries:
    """Summaries of a session's past, for its compaction. A failed call is in the log, and code writes the summary."""

    def __init__(self, side_calls: SideCalls, projection: Projection) -> None:
        self._side_calls = side_calls
        self._projection = projection

    async def summarise(self, prompt: str) -> str:
        """Return a summary by the fast model; "" leaves it to code."""
        try:
            return await self._side_calls.request_text(prompt, purpose=_SUMMARY, max_output=_SUMMARY_TOKENS)
        except UserError:
            return ""

    def choose_context_summariser(self) -> Summarise | None:
        """Use the conversation's model where no other has the fast role: the past is in its cache."""
        return None if self._side_calls.roles.has_own_model(Role.FAST) else self._summarise_in_context

    async def _summarise_in_context(self, prompt: str) -> str:
        request = self._projection.build_request()
        try:
            return await self._side_calls.request_in_context(
                request, prompt, purpose=_SUMMARY, max_output=_SUMMARY_TOKENS
            )
        except UserError:
            return ""


async def request_short_text(
    runtime: HasSideCalls, prompt: str, *, purpose: str = "short text", role: Role = Role.FAST
) -> str:
    """Return a title, a summary or a message; "" if no model is available. Never raises: callers have a fallback."""
    try:
        return await runtime.side_calls.request_text(prompt, purpose=purpose, role=role)
    except UserError:  # the failure is in the log; a title is not worth a turn
        return ""


async def collect_reply(model: Model, request: Request) -> Reply:
    """Return the reply to one request, ignoring its deltas. Raises UserError."""
    reply: Reply | None = None
    async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
        async for delta in stream:
            if isinstance(delta, Reply):
                reply = delta
    assert reply is not None, "a model's stream ends with a Reply"
    return reply


def convert_usage(usage: Usage, seconds: float, wait: float | None = None) -> UsageRecord:
    """Convert a call's usage to its form in the log. wait: seconds until the first part of the reply, if known"""
    return UsageRecord(
        input=usage.input,
        cached=usage.cached,
        output=usage.output,
        reasoning=usage.reasoning,
        cost=usage.cost,
        seconds=round(seconds, 3),
        written=usage.written or None,
        wait=None if wait is None else round(wait, 3),
    )
