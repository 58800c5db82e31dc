"""Results of servers as text for the model: untrusted, other kinds of content are only mentioned."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from contextlib import suppress

from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from tools.mcp.descriptions import replace_surrogates

MOST_PICTURES = 4
"""Pictures of one result that are kept: each takes as much of a window as a page of text."""


def format_result(result: CallToolResult) -> str:
    """Return the contents of a result as text; its structure where it has no other content."""
    parts = list(_format_blocks(result.content, keeps_pictures=True))
    if not parts and result.structured_content is not None:
        try:
            parts.append(json.dumps(result.structured_content, ensure_ascii=False))
        except RecursionError:
            parts.append("(nested too deeply: not shown)")
    return replace_surrogates("\n".join(parts))


def collect_pictures(result: CallToolResult) -> tuple[bytes, ...]:
    """Return the pictures of a result, at most so many, in their order; one that is no base64 is left out."""
    found = []
    for block in result.content:
        data = _get_picture_data(block)
        if data is not None:
            with suppress(ValueError):
                found.append(base64.b64decode(data, validate=True))
    return tuple(found[:MOST_PICTURES])


def _get_picture_data(block: ContentBlock) -> str | None:
    match block:
        case ImageContent(data=data):
            return data
        case EmbeddedResource(resource=BlobResourceContents(blob=blob, mime_type=media)) if (
            media or ""
        ).startswith("image/"):
            return blob
    return None


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


def _format_blocks(blocks: Iterable[ContentBlock], *, keeps_pictures: bool = False) -> Iterable[str]:
    for block in blocks:
        match block:
            case TextContent(text=text):
                yield text
            case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
                yield f"{uri}:\n{text}"
            case ImageContent() | EmbeddedResource() if (
                keeps_pictures and _get_picture_data(block) is not None
            ):
                yield "(a picture: it stands behind the results, if it can be shown)"
            case EmbeddedResource(resource=resource):
                yield _mention("binary content", resource.mime_type)
            case ResourceLink(name=name, uri=uri):
                yield f"{name}: {uri}"
            case _:
                yield _mention(block.type, block.mime_type)


def _mention(kind: str, media: str | None) -> str:
    return f"({kind}, {media or 'of no named type'}: not shown)"
