"""The text of an answer: Markdown of HTML, text of PDF, or the text itself."""

from __future__ import annotations

import sys
from email.message import Message
from importlib.util import find_spec
from pathlib import Path

from sandbox.fs.regular_file import SOURCE
from sandbox.process.command import Command, Limits, Sandbox
from tools.core.surroundings import Surroundings
from tools.web.page_request import PageAnswer, RequestFailed

CONVERTER = Path(__file__).with_name("page_converter.py")

MOST_HTML = 3_000_000
"""Bytes of HTML that are converted: a second or two."""

SECONDS = 20.0
"""Until a page that keeps the converter busy is given up."""

_LIBRARIES = {"html": ("markdownify", "bs4", "soupsieve", "six", "typing_extensions"), "pdf": ("pypdf",)}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = ("json", "xml", "javascript", "yaml", "toml", "x-sh", "csv")


async def extract_text(at: Surroundings, answer: PageAnswer) -> str:
    """Return the text of an answer. Raises RequestFailed for one that has none."""
    head = Message()
    head["Content-Type"] = answer.content_type or "application/octet-stream"
    kind = head.get_content_type()
    if kind in _HTML:
        return await _convert(at, "html", answer.content[:MOST_HTML], answer.address)
    if kind == "application/pdf" or answer.content[:5] == b"%PDF-":
        if find_spec("pypdf") is None:
            raise RequestFailed("it is a PDF file; its text needs the package pypdf (the extra `pdf`)")
        if answer.is_cut:
            raise RequestFailed("it is a PDF file of more than 10 MB, which is not read")
        return await _convert(at, "pdf", answer.content, answer.address)
    if kind.startswith("text/") or any(each in kind for each in _TEXTS):
        try:
            return answer.content.decode(head.get_content_charset() or "utf-8", "replace")
        except LookupError:  # no such encoding
            return answer.content.decode("utf-8", "replace")
    raise RequestFailed(f"it is no text but {kind}, {len(answer.content)} bytes")


async def _convert(at: Surroundings, kind: str, content: bytes, address: str) -> str:
    folders = list(dict.fromkeys(str(_find_library(each)) for each in _LIBRARIES[kind]))
    done = await _choose_sandbox(at).run(
        Command(
            argv=(sys.executable, "-I", "-B", str(CONVERTER), kind, address, *folders),
            cwd=at.root,
            stdin=content,
            timeout=SECONDS,
            stderr="separate",
            scope="read-only",
            readable=(CONVERTER, *map(Path, folders)),
            limits=Limits(memory=1 << 30, processes=64),
            whole=SOURCE,
        )
    )
    if done.ended == "timeout":
        raise RequestFailed(f"its {kind.upper()} could not be read within {SECONDS:g} s")
    if done.returncode != 0:
        reason = done.stderr.text().strip().rpartition("\n")[2]
        raise RequestFailed(f"its {kind.upper()} could not be read: {reason[:200]}")
    return done.stdout.head.decode("utf-8", "replace")


def _choose_sandbox(at: Surroundings) -> Sandbox:
    """Return the session's sandbox; a container has not our Python: there it is a process with limits."""
    if at.sandbox.name != "container":
        return at.sandbox
    from sandbox.backends.unconfined import Unconfined

    return Unconfined(at.root)


def _find_library(name: str) -> Path:
    """Return the folder from which a library is imported, without importing it."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise RequestFailed(f"the library {name} is not installed")
    origin = Path(found.origin)
    return origin.parents[1] if origin.name == "__init__.py" else origin.parent
