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
    ended = _run_warm()
    if ended is not None:
        return ended
    open_floors()
    from cli.start import run_command_line

    return run_command_line()


def _run_warm() -> "int | None":
    """Have the user's warm process run a command that scripts and hooks wait for; None where there is none."""
    if sys.argv[1:2] not in (["run"], ["-p"]) and sys.argv[1:3] != ["hook", "run"]:
        return None
    import os

    from patchwright.warm_client import run_warm

    return run_warm(sys.argv, os.environb)


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
