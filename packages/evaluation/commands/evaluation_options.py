"""Options that several commands of `patchwright eval` have, and what they mean."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agent.app_dirs import Home
    from packages.evaluation.runs.result_store import ResultStore


class ReportFormat(StrEnum):
    """Formats of a report."""

    text = "text"
    json = "json"
    junit = "junit"
    html = "html"
    markdown = "markdown"


SuiteFolder = Annotated[
    Path, typer.Argument(metavar="SUITE", help="Folder of task folders, or one task folder.")
]
Store = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="Folder of results, in place of the one in the user's data."),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", metavar="WORD", help="Tag, language or name like `cart-*`; `!` before it excludes."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many tasks.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Trials at the same time; one for each processor.")
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run the trials on a Ray cluster: auto, this machine's, or HOST:PORT.",
    ),
]
Artifacts = Annotated[
    str | None,
    typer.Option("--artifacts", metavar="URL", help="With --ray: folder or object store of all nodes."),
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="With --ray: variable that trials have; repeatable."),
]
Cpus = Annotated[float, typer.Option("--cpus", min=0.1, help="With --ray: CPUs of one trial.")]
ReportOutput = Annotated[ReportFormat, typer.Option("--output", "-o", help="Format of the report.")]
ReportFile = Annotated[
    Path | None,
    typer.Option("--to", metavar="FILE", help="Write the report there; the suffix decides the format."),
]
Level = Annotated[
    float, typer.Option("--level", min=0.0001, max=0.5, help="Significance level of the comparison.")
]


def open_store(home: Home, folder: Path | None) -> ResultStore:
    """Return the store of results."""
    from packages.evaluation.runs.result_store import ResultStore

    return ResultStore((folder or home.data / "evaluation").absolute())


def count_jobs(jobs: int | None) -> int:
    """Return how many trials run at the same time."""
    import os

    return jobs or os.cpu_count() or 1
