"""Choice of what a command line needs: hooks, `run` and a bare start go without the command line's parser."""

from __future__ import annotations

import gc
import os
import sys


def run_command_line() -> int:
    """Run the command line of the process. Every exit but success leaves by `SystemExit` with its own code."""
    if sys.argv[1:3] == ["hook", "run"]:  # a person waits for each commit
        from cli.hooks.entry import main as hook

        return hook(sys.argv[3:])
    # Starting makes objects by the hundred thousand and drops none: looking for garbage meanwhile is a sixth
    # of a run's start. `cli.invocation` turns the collector on again.
    gc.disable()
    # Looking for pydantic's plugins reads the metadata of every installed package (27 ms); we use none.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    if len(sys.argv) == 1 and _is_interactive_start():
        from cli.commands.run.interactive import run_bare_command as run
    elif sys.argv[1:2] == ["run"]:
        from cli.commands.run.quick_parse import main as run
    else:
        from cli.app import main as run

    run()
    return 0


def _is_interactive_start() -> bool:
    """For the prompt: the parser of the command line has nothing to parse, and is left out."""
    from cli.shell_completion import COMPLETING

    return sys.stdin is not None and sys.stdin.isatty() and COMPLETING not in os.environ
