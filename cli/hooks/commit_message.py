"""prepare-commit-msg: a drafted message. commit-msg: a check of the written one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cli.hooks.contract import FOUND, OK, USAGE, get_hook_folder
from tools.git.git_process import Git
from tools.git.messages.message_style import check_message, find_ticket, learn_style

_SCISSORS = "------------------------ >8 ------------------------"


def prepare_message(arguments: Sequence[str]) -> int:
    """Prepend a message to git's comments, unless there is one: of the user, a template, a merge, a squash."""
    if not 1 <= len(arguments) <= 3:
        return _report_usage("prepare-commit-msg", "FILE [SOURCE [COMMIT]]", arguments)
    git = Git.from_folder(get_hook_folder())
    path = git.root / arguments[0]
    if len(arguments) > 1 or _strip_comments(
        path.read_text("utf-8", "surrogateescape"), _find_comment_prefix(git)
    ):
        return OK
    message = draft_message(git)
    if message:
        text = path.read_text("utf-8", "surrogateescape")
        path.write_text(message + ("" if text.startswith("\n") else "\n") + text, "utf-8", "surrogateescape")
    return OK


def draft_message(git: Git) -> str:
    """Return a message for the staged change, "" if nothing is staged."""
    from sandbox.fs.repository import read_branch
    from sandbox.secrets.child_environment import redact
    from tools.git.git_change import read_staged_change
    from tools.git.messages.message_summary import compose_message

    return redact(
        compose_message(read_staged_change(git), learn_style(git), find_ticket(read_branch(git.root)))
    )


def check_written_message(arguments: Sequence[str]) -> int:
    """Return 1 if the message breaks a convention of nearly all commits here, or contains a secret."""
    if len(arguments) != 1:
        return _report_usage("commit-msg", "FILE", arguments)
    git = Git.from_folder(get_hook_folder())
    text = (git.root / arguments[0]).read_text("utf-8", "surrogateescape")
    message = _strip_comments(text, _find_comment_prefix(git))
    if not message:
        return OK  # git itself refuses it, with its own message
    errors, warnings = check_message(message, learn_style(git))
    from sandbox.secrets.redaction import find_secrets

    errors += [f"the message holds what looks like a secret: {each.kind}" for each in find_secrets(message)]
    if errors or warnings:
        head = "patchwright: not committed:" if errors else "patchwright: about the message:"
        lines = [head, *(f"  {each}" for each in (*errors, *warnings))]
        if errors:
            kept = os.path.relpath(git.root / arguments[0])
            lines.append(f"  Your message is in {kept}: git commit -eF {kept}; without checks: --no-verify")
        from sandbox.sanitize import sanitize_text

        print(sanitize_text("\n".join(lines)), file=sys.stderr)
    return FOUND if errors else OK


def _strip_comments(text: str, comment: str) -> str:
    """Return the user's text: without comments, and without the diff of `git commit --verbose`."""
    lines = []
    for line in text.split("\n"):
        if line.startswith(comment):
            if _SCISSORS in line:
                break
            continue
        lines.append(line)
    return "\n".join(lines).strip()


def _find_comment_prefix(git: Git) -> str:
    """Return the prefix of comment lines in this repository."""
    given = git.read_setting("core.commentString") or git.read_setting("core.commentChar")
    return "#" if given in ("", "auto") else given


def _report_usage(name: str, wanted: str, arguments: Sequence[str]) -> int:
    print(f"patchwright: {name} takes {wanted} (got {list(arguments)!r})", file=sys.stderr)
    return USAGE
