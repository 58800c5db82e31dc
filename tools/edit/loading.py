"""A text file as it is now, and whether that is as the model last saw it: all of the edit engine that reading needs."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.textfile import TextFile, compute_fingerprint, decode_text
from tools.locate import refusals
from tools.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A text file as it is now.

    stale: it is not as the model last saw it
    """

    file: TextFile
    text: str
    fingerprint: str
    stale: bool


def load(at: Workspace, tool: str, path: str) -> Loaded:
    """The file's text. Raises ToolFailure for one that is binary."""
    with refusals(tool, path):
        content = at.files.read(path)
        file = decode_text(content)
    now = compute_fingerprint(content)
    seen = at.read.get(path)
    stale = seen is not None and seen.fingerprint != now
    return Loaded(file=file, text=file.text, fingerprint=now, stale=stale)
