"""Questions of models to the client's user, as forms."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from acp import RequestError
from acp.schema import (
    CreateFormSessionElicitationRequest,
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    TitledMultiSelectItems,
)

from agent.team.person import UserQuestion, split_option
from cli.protocols.acp.editor_client import GONE, EditorClient
from sandbox.sanitize import sanitize_text

_CHOICE, _TEXT = "choice", "answer"
"""Fields of a form: one of the options, and the user's own words."""


class ClientPerson:
    """Asks one question after the other. Implements `FormPerson`."""

    def __init__(self, client: EditorClient, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self._one = asyncio.Lock()

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`."""
        response = await self._request(question.question, build_form(question))
        return read_form(response)

    async def fill_form(self, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """See `FormPerson.fill_form`."""
        response = await self._request(message, ElicitationSchema.model_validate(schema))
        content = response.get("content")
        if response.get("action") != "accept":
            return None
        return content if isinstance(content, dict) else {}

    async def _request(self, message: str, schema: ElicitationSchema) -> dict[str, Any]:
        """Return the client's response to a form, {} if it is gone or shows none."""
        request = CreateFormSessionElicitationRequest(
            session_id=self._session_id,
            mode="form",
            message=sanitize_text(message.strip()),
            requested_schema=schema,
        )
        async with self._one:
            try:
                return await self._client.request("elicitation_create", request)
            except (*GONE, RequestError):
                return {}


def build_form(question: UserQuestion) -> ElicitationSchema:
    """Return the form of a question: its options, and a line for another answer."""
    properties: dict[str, Any] = {}
    options = [
        EnumOption(const=label, title=f"{label}: {meaning}" if meaning else label)
        for label, meaning in (map(sanitize_text, split_option(each)) for each in question.options)
    ]
    if options and question.several:
        items = TitledMultiSelectItems(any_of=options)
        properties[_CHOICE] = ElicitationMultiSelectPropertySchema(type="array", title="Choose", items=items)
    elif options:
        properties[_CHOICE] = ElicitationStringPropertySchema(type="string", title="Choose", one_of=options)
    title = "Another answer" if options else "Answer"
    properties[_TEXT] = ElicitationStringPropertySchema(type="string", title=title)
    return ElicitationSchema(type="object", properties=properties, required=None if options else [_TEXT])


def read_form(response: dict[str, Any]) -> str:
    """Return the answer of a filled form, "" if the user gave none. Own words count more than a choice."""
    content = response.get("content")
    if response.get("action") != "accept" or not isinstance(content, dict):
        return ""
    text, choice = content.get(_TEXT), content.get(_CHOICE)
    if isinstance(text, str) and text.strip():
        return text.strip()
    if isinstance(choice, list):
        return ", ".join(map(str, choice))
    return choice if isinstance(choice, str) else ""
