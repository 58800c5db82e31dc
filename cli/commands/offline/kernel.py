"""`patchwright kernel`: run a script of blocks in a kernel, bounded and logged like a session; needs no model."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.options import Folder, Mode, Sandbox, collect_flags
from cli.output.standard_streams import write_line
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import sanitize_json, sanitize_text

if TYPE_CHECKING:
    from cli.invocation import Invocation
    from tools.core.action import Observation


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(kernel)


def kernel(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Python with `# %%` between the blocks, or Markdown; `-` reads standard input.",
        ),
    ],
    folder: Folder = Path("."),
    mode: Mode = None,
    sandbox: Sandbox = None,
    timeout: Annotated[float | None, typer.Option("--timeout", min=1, help="Seconds for each block.")] = None,
    memory: Annotated[int | None, typer.Option("--memory", min=64, help="MiB for the kernel.")] = None,
    go_on: Annotated[bool, typer.Option("--keep-going", help="Continue after a block that fails.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Run blocks of Python in the agent's kernel.

    Sandboxed, bounded, with the tools as functions. Needs no model.
    """
    flags = collect_flags(mode=mode, sandbox=sandbox, shell_timeout=timeout, kernel_memory=memory)
    raise typer.Exit(run_blocks(folder, file, flags, go_on=go_on, as_json=as_json))


_CELL = compile_lazily(r"^# ?%%.*$", re.MULTILINE)
"""Separator of the blocks of a Python script, as in Spyder, VS Code and Jupytext."""

_FENCED = compile_lazily(r"^(`{3,})python[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def split_blocks(text: str, *, markdown: bool) -> Iterator[str]:
    """Yield the blocks of a script: cells between `# %%` lines, or the fenced Python of a Markdown text."""
    parts = (found[2] for found in _FENCED.finditer(text)) if markdown else _CELL.split(text)
    return (part for part in parts if part.strip())


def run_blocks(folder: Path, file: str, flags: Mapping[str, Any], *, go_on: bool, as_json: bool) -> int:
    """Run every block and print its result. Returns DONE, or NOT_ACHIEVED if one failed. Raises UserError.

    go_on: continue after a block that fails
    """
    from cli.commands.run.final_event import run_with_final_event
    from cli.invocation import Invocation
    from sandbox.process.bounded_end import run_loop

    invocation = Invocation(
        folder=folder,
        flags={**flags, "model": "offline", "actions": "hybrid"},
        commit=False,
        offer_commit=False,
    )
    blocks = list(split_blocks(_read_script(file), markdown=file.endswith((".md", ".markdown"))))
    if not blocks:
        raise UserError(
            Fault.USAGE, f"no blocks in {file!r}", "Write Python, with `# %%` lines between the blocks."
        )
    return run_with_final_event(
        "text", lambda: run_loop(_run_in_kernel(invocation, blocks, go_on=go_on, as_json=as_json))
    )


def _read_script(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text("utf-8")
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot read {file!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(Fault.USAGE, f"not a text in UTF-8: {file!r}") from None


async def _run_in_kernel(invocation: Invocation, blocks: list[str], *, go_on: bool, as_json: bool) -> int:
    import asyncio

    from cli.invocation import load_invocation_settings, make_runtime

    home = Home.from_environment()
    runtime = make_runtime(invocation, home, load_invocation_settings(invocation, home).session)
    if runtime.toolbox.get("python") is None:
        await runtime.close()
        raise UserError(Fault.CONFIGURATION, "there is no kernel in a container", "Set `sandbox` to auto.")
    task = asyncio.current_task()
    if task is not None:
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, task.cancel)
    failed = False
    try:
        for number, code in enumerate(blocks, 1):
            observation = await runtime.run_harness_action("python", {"code": code})
            _print_block(number, observation, as_json=as_json)
            failed = failed or observation.failed
            if observation.data.get("ends") is True or (failed and not go_on):
                break
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await runtime.close()
    return Exit.NOT_ACHIEVED if failed else Exit.DONE


def _print_block(number: int, observation: Observation, *, as_json: bool) -> None:
    import json

    if as_json:
        fields = {"block": number, **observation.data, "text": observation.text}
        write_line(
            sanitize_json(json.dumps(fields, ensure_ascii=False, default=str)).encode("utf-8", "replace")
            + b"\n"
        )
    else:
        write_line(
            sanitize_text(f"[{number}] {observation.text}").rstrip().encode("utf-8", "replace") + b"\n"
        )
