"""Mailbox of a detached session: messages to its process, and the question that it waits with.

Files in the session's folder, which nobody else can read: each message is written under another name and renamed, so
that a half-written one is never read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal

from agent.app_dirs import make_private_folder
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

FOLDER = "mailbox"
QUESTION = "question.json"

LARGEST = 1 << 20
"""Bytes of one message: more than a person types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question that a detached run waits with.

    kind: "approval" of an action, with `options` as (name, key, label, about, line, text); or a "question" of the
    model, with `options` as it wrote them
    """

    id: str
    kind: Literal["approval", "question"]
    title: str
    what: str = ""
    change: str = ""
    why: str = ""
    otherwise: str = ""
    several: bool = False
    options: Sequence[Any] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The question in one line."""
        return " ".join(f"{self.title} {self.what}".split())


def post_message(session: Path, message: Mapping[str, Any]) -> None:
    """Leave a message for the process of a session."""
    folder = make_private_folder(session / FOLDER)
    name = f"{time.time_ns():020d}-{os.urandom(4).hex()}"
    draft = folder / f".{name}"
    write_private_file(draft, json.dumps(dict(message), ensure_ascii=False).encode("utf-8", "replace"))
    draft.rename(folder / f"{name}.json")


def take_messages(session: Path) -> list[dict[str, Any]]:
    """Return the messages for a session, oldest first, and remove them; other files there are removed, too."""
    folder, found = session / FOLDER, []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []
    for name in names:
        path = folder / name
        with suppress(OSError, ValueError):
            with path.open("rb") as file:
                message = json.loads(file.read(LARGEST))
            if isinstance(message, dict):
                found.append(message)
        with suppress(OSError):
            path.unlink()
    return found


def write_question(session: Path, question: OpenQuestion) -> None:
    """Show a question to those who look at the session."""
    draft = session / f".{QUESTION}"
    write_private_file(draft, json.dumps(asdict(question), ensure_ascii=False).encode("utf-8", "replace"))
    draft.rename(session / QUESTION)


def clear_question(session: Path) -> None:
    """Take the question away: it is answered, or the process has ended."""
    with suppress(OSError):
        (session / QUESTION).unlink()


def read_question(session: Path) -> OpenQuestion | None:
    """Return the question that a session waits with, None if there is none."""
    try:
        found = parse_json((session / QUESTION).read_bytes())
        return OpenQuestion(**found)
    except (OSError, ValueError, TypeError):
        return None
