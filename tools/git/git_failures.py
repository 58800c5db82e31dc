"""Failures of git in words: known causes with a remedy."""

from __future__ import annotations

import re
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.helpers.git_runner import GitOutput
from sandbox.lazy_pattern import compile_lazily


def explain_failure(root: Path, command: str, output: GitOutput) -> str:
    """Explain a failure to the model: known causes with a remedy, others with git's message."""
    for pattern, text in _CAUSES:
        if re.search(pattern, output.stderr):
            return f"git {command}: {text.format(root=root)}"
    words = (output.stderr + output.stdout.decode("utf-8", "replace")).strip()
    return f"git {command} failed with exit code {output.returncode}:\n{words}"


_FULL = compile_lazily(r"No space left on device|Disk quota exceeded|Out of diskspace")


def refuse_full_disk(output: GitOutput) -> None:
    """Raise UserError if git failed because nothing more can be written: the turn ends, with its work kept."""
    if output.returncode and (found := _FULL.search(output.stderr)):
        raise UserError(
            Fault.STORAGE_FULL,
            f"nothing was committed: git could not write: {found[0]}",
            "Free some space, then try again. The changes stay in the files.",
        )


_CAUSES = (
    (
        r"dubious ownership",
        "git refuses to work here because the folder {root} belongs to another user. If the user trusts it, "
        "they run: git config --global --add safe.directory '{root}'",
    ),
    (
        r"index\.lock'?: File exists",
        "another git command is running here, or one crashed and left {root}/.git/index.lock behind. Wait; "
        "if none runs, the user removes that file.",
    ),
    (
        r"(tell me who you are|no email was given|no name was given|empty ident name|auto-detect)",
        "git does not know who the user is. They run, once:\n"
        '  git config --global user.name "Their Name"\n'
        '  git config --global user.email "them@example.org"',
    ),
    (r"No space left on device", "the disk is full. Nothing was lost; free some space and try again."),
    (
        r"(insufficient permission|Permission denied|Read-only file system)",
        "the repository in {root} cannot be written by this user.",
    ),
)
