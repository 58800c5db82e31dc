"""Results of servers as text for the model: untrusted, other kinds of content are only mentioned."""

from __future__ import annotations

import json
from collections.abc import Iterable

from mcp_types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from tools.mcp.descriptions import replace_surrogates


def format_result(result: CallToolResult) -> str:
    """Return the contents of a result as text; its structure where it has no other content."""
    parts = list(_format_blocks(result.content))
    if not parts and result.structured_content is not None:
        try:
            parts.append(json.dumps(result.structured_content, ensure_ascii=False))
        except RecursionError:
            parts.append("(nested too deeply: not shown)")
    return replace_surrogates("\n".join(parts))


def format_resource(result: ReadResourceResult) -> str:
    """Return the contents of a resource as text."""
    parts = [
        each.text if isinstance(each, TextResourceContents) else _mention("binary content", each.mime_type)
        for each in result.contents
    ]
    return replace_surrogates("\n".join(parts))


def format_prompt(result: GetPromptResult) -> str:
    """Return the messages of a prompt as one text."""
    return replace_surrogates("\n\n".join(_format_blocks(each.content for each in result.messages)))


def _format_blocks(blocks: Iterable[ContentBlock]) -> Iterable[str]:
    for block in blocks:
        match block:
            case TextContent(text=text):
                yield text
            case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
                yield f"{uri}:\n{text}"
            case EmbeddedResource(resource=resource):
                yield _mention("binary content", resource.mime_type)
            case ResourceLink(name=name, uri=uri):
                yield f"{name}: {uri}"
            case _:
                yield _mention(block.type, block.mime_type)


def _mention(kind: str, media: str | None) -> str:
    return f"({kind}, {media or 'of no named type'}: not shown)"
