"""A text file's current content and whether the model last saw that version: the part of the engine reading
needs.
"""

from __future__ import annotations

from sandbox.fs.text_file import TextFile, compute_fingerprint
from sandbox.lazy_dataclass import dataclass
from tools.core.path_resolution import translate_path_errors
from tools.core.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedFile:
    """A text file's current content.

    stale: the model last saw another version
    """

    file: TextFile
    text: str
    fingerprint: str
    stale: bool


def load_text_file(at: Workspace, tool: str, path: str) -> LoadedFile:
    """Load a text file. Raises ToolFailure for a binary one."""
    with translate_path_errors(tool, path):
        content = at.files.read(path)
        file = at.files.decode(path, content)
    now = compute_fingerprint(content)
    seen = at.read_versions.get(path)
    stale = seen is not None and seen.fingerprint != now
    return LoadedFile(file=file, text=file.text, fingerprint=now, stale=stale)
