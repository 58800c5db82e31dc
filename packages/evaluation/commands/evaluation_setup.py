"""What the commands that run tasks begin with: settings, tasks and the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from agent.workspace_root import find_workspace_root
from cli.settings.layers import load_settings
from packages.evaluation.commands.evaluation_options import open_store
from packages.evaluation.runs.result_store import ResultStore
from packages.evaluation.runs.run_plan import check_repositories
from packages.evaluation.tasks.suite_folder import Suite, load_suite, select_tasks
from packages.evaluation.tasks.task_folder import Task
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSetup:
    """Suite, selected tasks, settings and folders of one command."""

    suite: Suite
    tasks: tuple[Task, ...]
    settings: SessionSettings
    home: Home
    store: ResultStore


def load_setup(
    suite: Path,
    folder: Path,
    filters: Sequence[str],
    limit: int | None,
    store: Path | None,
    flags: Mapping[str, Any],
) -> EvaluationSetup:
    """Read suite and settings. Raises UserError.

    The settings are the user's: those of the project in `folder` hold for its own sessions, not for tasks.
    """
    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=False)
    found = load_suite(suite if suite.is_absolute() else folder / suite)
    tasks = select_tasks(found.tasks, filters, limit)
    check_repositories(tasks, (root,))
    return EvaluationSetup(
        suite=found,
        tasks=tuple(tasks),
        settings=load_settings(home, None, flags).session,
        home=home,
        store=open_store(home, store),
    )
