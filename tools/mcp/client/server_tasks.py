"""Tasks: calls that a server answers with a handle, whose result is asked for until it is there.

In the revision 2025-11-25 a tool says that it needs one; in the extension of 2026-07-28 the server decides at each
call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from mcp import MCPError
from mcp.client import Client, ClientRequestContext
from mcp.client._input_required import run_input_required_driver
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    ErrorData,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    InputResponses,
    Request,
    RequestParams,
    Result,
    TaskMetadata,
)

from tools.mcp.client.message_bounds import TASK_KEY

LEAST_SECONDS, SECONDS, MOST_SECONDS = 0.1, 1.0, 10.0
"""Seconds between two questions for a task: what a server may wish, and what is taken without its wish."""

CANCEL_SECONDS = 2.0

LIFETIME = 3_600_000
"""Milliseconds for which a server is asked to keep a task."""

_ENDS = ("completed", "failed", "cancelled")

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class TaskHandle(Result):
    """Answer to a call in place of its result, by the extension."""

    result_type: Literal["task"] = "task"
    task_id: str
    poll_interval_ms: float | None = None


class _TaskState(Result):
    """State of a task, in both lifecycles. result, error, input_requests: of the extension alone"""

    status: str
    status_message: str | None = None
    poll_interval: float | None = None
    poll_interval_ms: float | None = None
    result: dict[str, Any] | None = None
    error: ErrorData | None = None
    input_requests: dict[str, Any] | None = None


class _UpdateTaskParams(RequestParams):
    task_id: str
    input_responses: InputResponses


class _UpdateTaskRequest(Request[_UpdateTaskParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _UpdateTaskParams


class TasksExtension(ClientExtension):
    """The extension `io.modelcontextprotocol/tasks`: servers may answer calls with handles."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve),)

    async def _resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        return await finish_task(context.session, handle, _show_nothing)


async def _show_nothing(progress: float, total: float | None, message: str | None) -> None:
    """Show no progress."""


async def call_as_task(
    session: ClientSession, name: str, arguments: Mapping[str, Any], progress: Progress
) -> CallToolResult:
    """Call a tool that needs a task (2025-11-25), and return its result."""
    parameters = CallToolRequestParams(name=name, arguments=dict(arguments), task=TaskMetadata(ttl=LIFETIME))
    first = await session.send_request(CallToolRequest(params=parameters), CallToolResult)
    task = (first.meta or {}).get(TASK_KEY)
    if not isinstance(task, dict) or not isinstance(task.get("taskId"), str):
        return first  # it has done without
    name = task["taskId"]

    async def wait() -> CallToolResult:
        state = await _wait_for_end(session, name, task.get("pollInterval"), progress, answers=False)
        if state.status == "cancelled":
            raise MCPError(INTERNAL_ERROR, state.status_message or "the task was cancelled")
        payload = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=name))
        return await session.send_request(payload, CallToolResult)

    return await _cancel_with_us(session, name, wait())


async def finish_task(session: ClientSession, handle: TaskHandle, progress: Progress) -> CallToolResult:
    """Return the result of a task of the extension."""

    async def wait() -> CallToolResult:
        state = await _wait_for_end(session, handle.task_id, handle.poll_interval_ms, progress, answers=True)
        if state.status == "completed" and state.result is not None:
            return CallToolResult.model_validate(state.result, by_name=False)
        if state.error is not None:
            raise MCPError(state.error.code, state.error.message)
        raise MCPError(INTERNAL_ERROR, state.status_message or f"the task is {state.status}")

    return await _cancel_with_us(session, handle.task_id, wait())


async def resolve_input(
    client: Client,
    first: CallToolResult | InputRequiredResult,
    retry: Callable[[InputResponses | None, str | None], Awaitable[CallToolResult | InputRequiredResult]],
) -> CallToolResult:
    """Answer what the server needs for a result (`input_required`), by the same functions as its own requests."""
    if not isinstance(first, InputRequiredResult):
        return first

    async def answer(key: str, request: InputRequest) -> InputResponse | ErrorData:
        return await _dispatch(client.session, key, request)

    result: CallToolResult = await run_input_required_driver(first, dispatch=answer, retry=retry)
    return result


async def _dispatch(session: ClientSession, key: str, request: InputRequest) -> InputResponse | ErrorData:
    return await session.dispatch_input_request(
        ClientRequestContext(session=session, request_id=key), request
    )


async def _wait_for_end(
    session: ClientSession, name: str, wished: object, progress: Progress, *, answers: bool
) -> _TaskState:
    """Ask for a task until it ends, or needs input that comes another way.

    answers: input that it needs is answered here. Has no time limit.
    """
    answered: set[str] = set()
    interval = _choose_interval(wished)
    while True:
        await asyncio.sleep(interval)
        state = await session.send_request(
            GetTaskRequest(params=GetTaskRequestParams(task_id=name)), _TaskState
        )
        if state.status in _ENDS or (state.status == "input_required" and not answers):
            return state
        if state.input_requests:
            await _answer_requests(session, name, state.input_requests, answered)
        if state.status_message:
            await progress(0, None, state.status_message)
        interval = _choose_interval(state.poll_interval_ms or state.poll_interval)


async def _answer_requests(
    session: ClientSession, name: str, requests: Mapping[str, Any], answered: set[str]
) -> None:
    """Answer what a task asks and was not answered yet; the same request is shown until it is taken."""
    wanted = InputRequiredResult.model_validate(
        {"resultType": "input_required", "inputRequests": requests}, by_name=False
    )
    responses: dict[str, Any] = {}
    for key, request in (wanted.input_requests or {}).items():
        if key not in answered:
            answered.add(key)
            response = await _dispatch(session, key, request)
            if isinstance(response, ErrorData):
                raise MCPError(response.code, response.message)
            responses[key] = response
    if responses:
        update = _UpdateTaskRequest(params=_UpdateTaskParams(task_id=name, input_responses=responses))
        await session.send_request(update, Result)


async def _cancel_with_us(
    session: ClientSession, name: str, waiting: Awaitable[CallToolResult]
) -> CallToolResult:
    """Cancel a task whose result nobody waits for any more."""
    try:
        return await waiting
    except asyncio.CancelledError:
        request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=name))
        with suppress(MCPError, TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                await session.send_request(request, Result)
        raise


def _choose_interval(wished: object) -> float:
    """Return seconds between two questions. wished: milliseconds, if the server told any"""
    seconds = wished / 1_000 if isinstance(wished, int | float) else SECONDS
    return min(max(seconds, LEAST_SECONDS), MOST_SECONDS)
