"""Mistakes in a command line, each as one line that says what is wrong and one that says what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from typer._click.exceptions import ClickException

EXAMPLE = 'patchwright run "make the failing tests pass"'

WORDS = {"help": "patchwright --help", "version": "patchwright --version"}
"""Words that are options here."""


def build_command_error(word: str, known: Sequence[str]) -> UserError:
    """Return the error for a word in the place of a command: a task, a slip, or neither."""
    message = f"no such command: {word!r}"
    near = difflib.get_close_matches(word, known, n=2)
    if " " in word.strip():
        hint = f"To have it done: patchwright run {quote(word)}"
    elif word in WORDS:
        hint = f"Like this: {WORDS[word]}"
    elif near:
        hint = f"Did you mean {' or '.join(map(repr, near))}? All: patchwright --help"
    else:
        hint = f"To have something done, say it: {EXAMPLE}. Commands: patchwright --help"
    return UserError(Fault.USAGE, message, hint)


def convert_usage_error(error: ClickException) -> UserError:
    """Return an error of the command line's parser in our form."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "patchwright"
    text = " ".join(error.format_message().split()).removesuffix(".")
    message, hint = text[:1].lower() + text[1:], f"See: {command} --help"
    if option := getattr(error, "option_name", ""):
        near = list(getattr(error, "possibilities", None) or ())
        message = f"no such option: {option!r}" if text.startswith("No such option") else message
        hint = f"Did you mean {' or '.join(near)}? All: {command} --help" if near else hint
    elif extra := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", text):
        message = f"unexpected words: {extra[1]}"
        prompt = context.params.get("prompt") if context is not None else None
        if isinstance(prompt, str):
            hint = f"Quote the prompt: {command} {quote(f'{prompt} {extra[1]}')}"
    return UserError(Fault.USAGE, message, hint)
