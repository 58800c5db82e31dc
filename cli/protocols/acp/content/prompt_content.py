"""The content of a prompt as the text that a session gets: texts, images, and resources as data.

What a client attaches is quoted: it may come from anywhere, and it neither grants nor calls anything.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from agent.session.images import LARGEST, derive_image_name
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import quote_name
from tools.core.untrusted_output import enclose_in_tag, quote_words

ContentBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

_JOINT = "\n\n"
_PLAIN = compile_lazily(r"[\w./:()\[\]]+")
"""Names of files and links to them that hold no words: others are marked as data, since somebody else chose them."""

_DATA_TAG = "stdin"
"""Tag of text that comes with a prompt and is not its user's: it attaches no images, calls no command, asks nothing."""


def read_prompt(blocks: Sequence[ContentBlock]) -> str:
    """Return the text of a prompt; images are data URLs in it, resources follow as quoted data.

    Raises UserError for content that cannot be used.
    """
    words: list[str] = []
    quoted: list[str] = []
    for each in blocks:
        match each:
            case TextContentBlock():
                words.append(each.text)
            case ImageContentBlock():
                words.append(_format_image(each))
            case ResourceContentBlock():
                words.append(_format_link(each.name, each.uri))
            case EmbeddedResourceContentBlock():
                words.append(f"[{_format_name(format_place(each.resource.uri))}]")
                quoted.append(_quote_resource(each))
            case AudioContentBlock():
                raise UserError(Fault.USAGE, "sound cannot be sent to a model here", "Send text or images.")
    text = "".join(words)
    if not text.strip():
        raise UserError(Fault.USAGE, "the prompt is empty", "Say what to do.")
    if quoted:
        text = f"{text}\n\n{enclose_in_tag(_DATA_TAG, _JOINT.join(quoted))}"
    return text.encode("utf-8", "replace").decode("utf-8")


def _format_link(name: str, uri: str) -> str:
    shown = f"[{quote_name(name)}]({format_place(uri)})"
    return shown if _PLAIN.fullmatch(shown) else quote_words([shown])


def _format_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote_words([name])


def format_place(uri: str) -> str:
    """Return a file's path for its URI; another URI as it is."""
    parts = urlsplit(uri)
    return quote_name(unquote(parts.path) if parts.scheme == "file" else uri)


def _format_image(image: ImageContentBlock) -> str:
    try:
        content = base64.b64decode("".join(image.data.split()), validate=True)
    except ValueError:
        raise UserError(Fault.USAGE, "an image is not base64", "Attach it again.") from None
    if not derive_image_name(content):
        limit = f"at most {LARGEST / 1e6:.1f} MB"
        raise UserError(
            Fault.USAGE,
            f"an image of type {image.mime_type[:60]!r} and {len(content) / 1e6:.1f} MB cannot be sent to a model",
            f"Attach PNG, JPEG, GIF or WebP of {limit}.",
        )
    return f" data:image/png;base64,{base64.b64encode(content).decode()} "


def _quote_resource(block: EmbeddedResourceContentBlock) -> str:
    place = format_place(block.resource.uri)
    if isinstance(block.resource, BlobResourceContents):
        text = f"(data of type {block.resource.mime_type or 'unknown'}, which is not shown)"
    else:
        text = block.resource.text
    return enclose_in_tag("resource", text, f" uri={place!r}")
