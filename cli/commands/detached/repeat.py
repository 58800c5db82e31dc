"""`patchwright loop` and `patchwright watch`: runs of a task on time, or when files change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.options import Flags, Folder, NoCommit, takes_flags
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.detached.run_series import Trigger
    from tools.git.git_process import Git


class OverlapOption(StrEnum):
    """How a run that is due while another one runs is treated."""

    skip = "skip"
    queue = "queue"
    stop = "stop"


Overlap = Annotated[
    OverlapOption,
    typer.Option("--overlap", help="A run that is due while one runs: none, one after it, or in its place."),
]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", min=1, help="End after so many runs.")]
MaxCostOfAll = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="Dollars of all runs together.")
]


def add(app: typer.Typer) -> None:
    """Add the commands to the program's."""
    app.command()(loop)
    app.command()(watch)


@takes_flags
def loop(
    *,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The task, or `/command`.")],
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="Interval: 90s, 10m, 2h, 1d.")],
    overlap: Overlap = OverlapOption.skip,
    max_runs: MaxRuns = None,
    max_cost: MaxCostOfAll = None,
    folder: Folder = Path("."),
    flags: Annotated[Flags, "model mode sandbox test_command"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "max_steps max_time"],
) -> None:
    """Run a task at intervals, each time as a background run."""
    from cli.detached.run_series import Clock

    options = _collect_options(folder, no_commit, {**flags, **limits})
    clock = Clock(every=read_duration(every))
    raise typer.Exit(_run(options, prompt, clock, overlap, max_runs, max_cost))


@takes_flags
def watch(
    *,
    words: Annotated[
        list[str], typer.Argument(metavar="PATH... -- PROMPT", help="Files and folders, and the task.")
    ],
    overlap: Overlap = OverlapOption.queue,
    max_runs: MaxRuns = None,
    max_cost: MaxCostOfAll = None,
    folder: Folder = Path("."),
    flags: Annotated[Flags, "model mode sandbox test_command"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "max_steps max_time"],
) -> None:
    """Run a task whenever files change.

    `{files}` in the task is replaced by their names. Changes that a run makes itself do not start another one.
    """
    from agent.workspace_root import find_workspace_root
    from cli.detached.file_watch import FileWatch

    if len(words) < 2:
        raise UserError(
            Fault.USAGE,
            "a path and a prompt are needed",
            'Like this: patchwright watch src -- "run the tests"',
        )
    *names, prompt = words
    root, is_git = find_workspace_root(folder, need_git=False)
    paths = [(folder / name).resolve() for name in names]
    for path, name in zip(paths, names, strict=True):
        if not path.exists() or not path.is_relative_to(root):
            raise UserError(Fault.USAGE, f"{name!r} is no path in {str(root)!r}")
    options = _collect_options(folder, no_commit, {**flags, **limits})
    trigger = FileWatch(root=root, paths=paths)
    if is_git:
        from tools.git.git_process import Git

        git = Git.from_folder(root)
        trigger.select_ignored = lambda found: _list_ignored(git, sorted(found))
    begun = f"watching {' '.join(names)}; Ctrl-C ends it"
    raise typer.Exit(_run(options, prompt, trigger, overlap, max_runs, max_cost, begun))


def read_duration(text: str) -> float:
    """Return the seconds of a duration such as `10m`. Raises UserError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise UserError(Fault.USAGE, f"{text!r} is no duration", "Like this: 90s, 10m, 2h, 1d.")
    return seconds


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _collect_options(folder: Path, no_commit: bool, flags: Flags) -> list[str]:
    """Return the options for each run; the folder is named in full."""
    options = ["-C", str(folder.resolve()), *(["--no-commit"] if no_commit else [])]
    for name, value in flags.items():
        options += ["--tests" if name == "test_command" else f"--{name.replace('_', '-')}", str(value)]
    return options


def _list_ignored(git: Git, names: Sequence[str]) -> set[str]:
    asked = "\0".join(names).encode("utf-8", "surrogateescape")
    found = git.run("check-ignore", "-z", "--stdin", stdin=asked, ok=(0, 1, 128)).decode(
        "utf-8", "surrogateescape"
    )
    return set(filter(None, found.split("\0")))


def _run(
    options: Sequence[str],
    prompt: str,
    trigger: Trigger,
    overlap: OverlapOption,
    max_runs: int | None,
    max_cost: float | None,
    begun: str = "",
) -> int:
    from agent.app_dirs import Home
    from cli.detached.run_series import RunSeries
    from cli.detached.run_state import find_session
    from sandbox.sanitize import sanitize_text

    home = Home.from_environment()
    return RunSeries(
        options=options,
        prompt=prompt,
        trigger=trigger,
        find=lambda name: find_session(home, name),
        tell=lambda text: print(sanitize_text(text), flush=True),
        overlap=overlap.value,
        max_runs=max_runs,
        max_cost=max_cost,
        begun=begun,
    ).run()
