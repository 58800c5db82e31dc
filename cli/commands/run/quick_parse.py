"""`patchwright run` with its common options, read without typer, which takes a tenth of the way to the first request.

What the table does not describe exactly (an error, another option, `--help`) is left to typer, which has the words.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from cli.shell_completion import COMPLETING
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickOption:
    """An option of `run`: the parameter's name, and how its value is read.

    kind: `str`, `int`, `float` or `bool` (a switch, which takes no value)
    choices: values that are accepted; all if empty
    least: smallest number that is accepted
    """

    name: str
    kind: type = str
    choices: tuple[str, ...] = ()
    least: int | None = None

    def read(self, text: str) -> Any:
        """Return the value. Raises ValueError for one that typer refuses or may read otherwise."""
        value = self.kind(text)
        is_plain = self.kind is str or (text.isascii() and text[:1].isdigit() and "_" not in text)
        if not is_plain or (self.choices and value not in self.choices):
            raise ValueError(text)
        if self.least is not None and not value >= self.least:
            raise ValueError(text)
        return value


_MODEL = QuickOption(name="model")
_OUTPUT = QuickOption(name="output", choices=("text", "json", "stream-json"))

QUICK_OPTIONS: Mapping[str, QuickOption] = {
    "-C": QuickOption(name="folder"),
    "--model": _MODEL,
    "-m": _MODEL,
    "--api-base": QuickOption(name="api_base"),
    "--output": _OUTPUT,
    "-o": _OUTPUT,
    "--mode": QuickOption(name="mode", choices=("read-only", "workspace", "full")),
    "--sandbox": QuickOption(
        name="sandbox", choices=("auto", "bubblewrap", "landlock", "seatbelt", "container", "unconfined")
    ),
    "--no-commit": QuickOption(name="no_commit", kind=bool),
    "--session": QuickOption(name="session"),
    "--actions": QuickOption(name="actions", choices=("tools", "code", "hybrid")),
    "--lead": QuickOption(name="lead", choices=("auto", "always", "never")),
    "--max-steps": QuickOption(name="max_steps", kind=int, least=1),
    "--max-cost": QuickOption(name="max_cost", kind=float, least=0),
    "--max-time": QuickOption(name="max_time", kind=float, least=0),
    "--max-tokens": QuickOption(name="max_tokens", kind=int, least=1),
}
"""By the words on the command line. `tests/cli/commands/run/test_quick_parse.py` compares them with typer's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickRun:
    """A command line of `run`: the prompt, and the values of the options that were given, by parameter."""

    prompt: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


def parse_quick_run(arguments: Sequence[str]) -> QuickRun | None:
    """Return what the words after `run` say; None if they are not wholly described by `QUICK_OPTIONS`."""
    prompt: str | None = None
    values: dict[str, Any] = {}
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word == "-":
            if prompt is not None:
                return None
            prompt = word
            continue
        name, has_value, text = word.partition("=") if word.startswith("--") else (word, "", "")
        option = QUICK_OPTIONS.get(name)
        if option is None or option.name in values:
            return None
        if option.kind is bool:
            if has_value:
                return None
            values[option.name] = True
            continue
        text = text if has_value else next(words, "-")
        if text.startswith("-"):
            return None
        try:
            values[option.name] = option.read(text)
        except ValueError:
            return None
    return QuickRun(prompt=prompt, values=values)


def main() -> None:
    """Run the command line of the process, which begins with `run`; typer's way where it is not a common one."""
    quick = None if COMPLETING in os.environ else parse_quick_run(sys.argv[2:])
    if quick is None:
        from cli.app import main as run_parsed

        run_parsed()
        return
    from cli.main_guard import run_guarded

    run_guarded(lambda: sys.exit(_run_quick(quick)))


def _run_quick(quick: QuickRun) -> int:
    from pathlib import Path

    from cli.commands.run.one_shot import run_one_shot

    values = dict(quick.values)
    return run_one_shot(
        Path(values.pop("folder", ".")),
        quick.prompt,
        output=values.pop("output", "text"),
        commit=not values.pop("no_commit", False),
        session=values.pop("session", ""),
        flags=values,
    )
