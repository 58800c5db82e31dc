"""The commands `patchwright` and `pw`: answer --version at once, else hand over to the `cli` floor."""

import sys

from patchwright.version import VERSION

LEAST_PYTHON = (3, 11)


def main() -> int:
    """Run the command line. Every exit but success leaves by `SystemExit` with its own code."""
    version = sys.version_info[:2]
    if version < LEAST_PYTHON:  # of a checkout: an installer would have refused
        print(
            f"patchwright: this needs Python {LEAST_PYTHON[0]}.{LEAST_PYTHON[1]} or later,"
            f" and {sys.executable} is {version[0]}.{version[1]}\n"
            "  Install it with a newer one: uv tool install --python 3.13 patchwright",
            file=sys.stderr,
        )
        return 6
    if sys.argv[1:] == ["--version"]:
        print(f"patchwright {VERSION}")
        return 0
    if sys.argv[1:] in (["--help"], ["-h"]) and _print_prepared_help():
        return 0
    if sys.argv[1:3] == ["hook", "run"]:  # a person waits for each commit: without the command line's parser
        open_floors()
        from cli.hooks.entry import main as hook

        return hook(sys.argv[3:])
    import gc
    import os

    # Starting makes objects by the hundred thousand and drops none: looking for garbage meanwhile is a sixth
    # of a run's start. `cli.invocation` turns the collector on again.
    gc.disable()
    open_floors()
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


def _print_prepared_help() -> bool:
    """Print the text of `--help` as the parser writes it for 80 columns and more; False for a narrower terminal.

    `tests/contract/test_surface.py` compares the two.
    """
    import os

    try:
        columns = int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            columns = 80
    if columns < 80 or sys.stdout is None:
        return False
    with open(os.path.join(_find_floors(), "cli", "help.txt"), encoding="ascii") as file:
        sys.stdout.write(file.read())
        sys.stdout.flush()
    return True


def _is_interactive_start() -> bool:
    """For the prompt: the parser of the command line has nothing to parse, and is left out."""
    import os

    from cli.shell_completion import COMPLETING

    return sys.stdin is not None and sys.stdin.isatty() and COMPLETING not in os.environ


def open_floors() -> None:
    """Make `cli`, `agent`, `tools`, `sandbox` and `packages` importable, in this process only.

    They come first, so that nothing in a user's project shadows them; and no environment variable is
    set, so that no child process sees them.
    """
    sys.path.insert(0, _find_floors())


def _find_floors() -> str:
    """Folder of the four floors: beside this package in a checkout, inside it where it is installed."""
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(here, "_floors")
    return installed if os.path.isdir(installed) else os.path.dirname(here)
