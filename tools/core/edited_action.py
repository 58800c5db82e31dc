"""The call that writes the text which a person chose in place of a change that they were asked about."""

from __future__ import annotations

from dataclasses import replace

from sandbox.fs.text_file import compute_fingerprint
from tools.changes.file_versions import create_version
from tools.core.action import Action
from tools.core.workspace import Workspace


def replace_by_text(action: Action, path: str, text: str, at: Workspace) -> Action:
    """Return the action that gives a file this text; what it replaces counts as seen: the person has seen it."""
    if path not in at.read_versions and at.files.is_file(path):
        content = at.files.read(path)
        before = at.files.decode(path, content).text
        at.read_versions[path] = create_version(compute_fingerprint(content), before)
    return replace(action, tool="write", arguments={"path": path, "content": text})
