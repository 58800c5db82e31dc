"""`patchwright eval list`: the tasks of a suite, or the runs so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.output.standard_streams import print_json
from packages.evaluation.commands.evaluation_options import Filters, Store


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command("list")(list_)


def list_(
    suite: Annotated[
        Path | None, typer.Argument(metavar="[SUITE]", help="Folder of tasks to list; the runs if missing.")
    ] = None,
    filters: Filters = None,
    store: Store = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the tasks of a suite, or the runs so far, the newest first."""
    if suite is None:
        _list_runs(store, as_json=as_json)
    else:
        _list_tasks(suite, filters or [], as_json=as_json)


def _list_tasks(suite: Path, filters: list[str], *, as_json: bool) -> None:
    from packages.evaluation.tasks.suite_folder import load_suite, select_tasks
    from sandbox.sanitize import sanitize_text

    for task in select_tasks(load_suite(suite).tasks, filters):
        prompt = task.prompt.splitlines()[0]
        if as_json:
            fields = {
                "name": task.name,
                "language": task.file.language,
                "tags": list(task.file.tags),
                "digest": task.digest,
                "prompt": task.prompt,
            }
            print_json(fields)
            continue
        kinds = " ".join(filter(None, (task.file.language, *task.file.tags)))
        print(sanitize_text(f"{task.name}{f' [{kinds}]' if kinds else ''}: {prompt[:90]}"))


def _list_runs(store: Path | None, *, as_json: bool) -> None:
    import sys

    from agent.app_dirs import Home
    from packages.evaluation.commands.evaluation_options import open_store
    from sandbox.sanitize import sanitize_text

    found = open_store(Home.from_environment(), store)
    runs = found.list_runs()
    if not runs:
        print("no runs yet: patchwright eval run SUITE", file=sys.stderr)
    for run in runs:
        done = sum(map(found.has_result, dict.fromkeys(run.keys)))
        total = len(set(run.keys))
        labels = [each.label for each in run.variants]
        if as_json:
            fields = {"id": run.id, "suite": run.suite, "created": run.created, "variants": labels}
            print_json({**fields, "done": done, "trials": total})
            continue
        print(sanitize_text(f"{run.id}  {run.created}  {run.suite}  {done}/{total}  {', '.join(labels)}"))
