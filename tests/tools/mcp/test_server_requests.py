"""Requests of a server: a question is open as long as a call that may have caused it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from mcp_types import ElicitRequestFormParams

from tests.tools.workspaces import workspace
from tools.mcp.client.server_requests import ServerRequests
from tools.mcp.questions import Asker
from tools.mcp.time_limit import TimeLimit

FORM = ElicitRequestFormParams(
    message="Who?", requested_schema={"type": "object", "properties": {"name": {"type": "string"}}}
)


def test_a_question_ends_with_the_call_that_it_is_of(tmp_path: Path) -> None:
    async def story() -> None:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        open_questions: list[str] = []

        async def ask(question: str, options: Sequence[str]) -> str:
            open_questions.append(question)
            try:
                return await asyncio.shield(answer)
            finally:
                open_questions.pop()

        requests = ServerRequests(workspace(tmp_path, {}), "shop", lambda: Asker(ask=ask))
        assert (await requests.ask_person(FORM)).action == "decline"  # nothing is at work
        async with TimeLimit(60) as first, TimeLimit(60) as second:
            requests.begin_request(first)
            requests.begin_request(second)
            asking = asyncio.create_task(requests.ask_person(FORM))
            while not open_questions:
                await asyncio.sleep(0)
            requests.end_request(first)
            await asyncio.sleep(0)
            assert open_questions
            requests.end_request(second)
            assert (await asking).action == "cancel"
            assert open_questions == []

            requests.begin_request(first)
            cancelled = asyncio.create_task(requests.ask_person(FORM))
            while not open_questions:
                await asyncio.sleep(0)
            cancelled.cancel()
            await asyncio.wait([cancelled])
            await asyncio.sleep(0)
            assert open_questions == []
            answer.set_result("Ada")
            assert (await requests.ask_person(FORM)).content == {"name": "Ada"}

    asyncio.run(story())
