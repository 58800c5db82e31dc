"""Plan of a run: its trials with their addresses, in the order in which they are run."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agent.model_selection import ModelSelection
from packages.evaluation.runs.base_repository import find_repository
from packages.evaluation.runs.result_store import RunRecord, RunTask, RunVariant
from packages.evaluation.runs.trial_order import MOST_QUEUED, TrialOrder
from packages.evaluation.runs.variant import (
    SCRIPTED,
    RunFolders,
    Variant,
    compute_script_digest,
    compute_trial_key,
    expand_model,
)
from packages.evaluation.tasks.task_folder import Task
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTrial:
    """One trial of a plan."""

    key: str
    task: Task
    variant: Variant
    trial: int
    user_model: str = ""

    def build_order(self, folders: RunFolders, version: str, left: float | None) -> TrialOrder:
        """Return its order. left: dollars that the run may still spend, None without a limit"""
        settings = self.variant.build_settings(self.task.name, self.trial)
        limits = self.task.file.limits
        seconds = min(limits.seconds, settings.limits.max_time)
        queued = MOST_QUEUED if settings.models.limits else 0.0
        return TrialOrder(
            key=self.key,
            label=self.variant.label,
            task=self.task.name,
            trial=self.trial,
            folder=self.task.folder,
            digest=self.task.digest,
            settings=settings,
            instructions=self.variant.instructions,
            folders=folders,
            version=version,
            max_cost=left,
            total_seconds=limits.total_seconds - limits.seconds + seconds - _unused(self.task) + queued,
            user_model=self.user_model,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """All trials of a run. trials: in the order in which they begin"""

    record: RunRecord
    trials: tuple[PlannedTrial, ...]


def make_plan(
    suite: str,
    tasks: Sequence[Task],
    variants: Sequence[Variant],
    *,
    trials: int,
    seed: int,
    version: str,
    user_model: str = "",
    env: Mapping[str, str] = os.environ,
) -> RunPlan:
    """Plan every task with every variant `trials` times.

    user_model: plays the users of tasks that have one; env: variables of the trials, with keys and addresses of models
    First trials come first, each task with all variants one after the other, the tasks in an order drawn by the
    seed: a run that is cut off has compared its variants on the same tasks. Raises UserError.
    """
    labels = [each.label for each in variants]
    if len(set(labels)) < len(labels):
        double = next(each for each in labels if labels.count(each) > 1)
        raise UserError(
            Fault.USAGE, f"two variants have the label {double!r}", "Name each model once, or give --label."
        )
    _refuse_missing_user(tasks, user_model)
    _refuse_other_sessions(tasks, (each.settings.strategy.name for each in variants))
    planned = [
        _add_user(
            PlannedTrial(
                key=compute_trial_key(variant, task.name, task.digest, trial, version, seed),
                task=task,
                variant=variant,
                trial=trial,
            ),
            user_model,
            env,
        )
        for variant in variants
        for task in tasks
        for trial in range(trials)
    ]
    _refuse_equal_variants(planned)
    keys = tuple(each.key for each in planned)
    ranks = {task.name: rank for rank, task in enumerate(_shuffle(tasks, seed))}
    planned.sort(key=lambda each: (each.trial, ranks[each.task.name]))
    digest = hashlib.sha256("\n".join((suite, *labels, *(each.name for each in tasks), *keys)).encode())
    record = RunRecord(
        id=digest.hexdigest()[:12],
        suite=suite,
        version=version,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        trials=trials,
        seed=seed,
        variants=tuple(
            RunVariant(
                label=each.label, model=each.settings.model or "default", strategy=each.settings.strategy.name
            )
            for each in variants
        ),
        tasks=tuple(
            RunTask(name=each.name, digest=each.digest, language=each.file.language, tags=each.file.tags)
            for each in tasks
        ),
        keys=keys,
    )
    return RunPlan(record=record, trials=tuple(planned))


def _add_user(planned: PlannedTrial, user_model: str, env: Mapping[str, str]) -> PlannedTrial:
    """Return a trial with the model that plays its task's user; that another model plays is another trial.

    It counts as the main model does: a script by its content, another one by provider, name and address. Raises
    UserError if there is no such script.
    """
    if not planned.task.file.user.persona:
        return planned
    model = expand_model(user_model, planned.task.name, planned.trial)
    if model.startswith(SCRIPTED):
        path = Path(model.removeprefix(SCRIPTED)).absolute()
        model, identity = f"{SCRIPTED}{path}", compute_script_digest(path)
    else:
        settings = planned.variant.build_settings(planned.task.name, planned.trial)
        identity = ModelSelection(settings=settings, env=env, cache=Path()).identify_model(model)
    key = hashlib.sha256(f"{planned.key} user {identity}".encode("utf-8", "surrogateescape")).hexdigest()
    return replace(planned, key=key, user_model=model)


def _refuse_missing_user(tasks: Iterable[Task], user_model: str) -> None:
    """Raise UserError for a task whose user nobody plays."""
    named = next((each.name for each in tasks if each.file.user.persona), "")
    if named and not user_model:
        raise UserError(
            Fault.USAGE, f"task {named!r} has a user whom a model plays", "Name the model: --user-model NAME"
        )


def _refuse_other_sessions(tasks: Iterable[Task], strategies: Iterable[str]) -> None:
    """Raise UserError for a task with other names of tools and a strategy whose further sessions see the real ones."""
    named = next((each.name for each in tasks if each.file.tools), "")
    several = next((each for each in strategies if each != "single"), "")
    if named and several:
        raise UserError(
            Fault.USAGE,
            f"task {named!r} gives tools other names, which sessions of the strategy {several!r} would not see",
            "Run it with --strategy single.",
        )


def check_repositories(tasks: Iterable[Task], allowed: Iterable[Path]) -> None:
    """Raise UserError for a task whose `base.repository` is none of those that the user named, nor in its suite.

    A suite of strangers could name any repository of this machine, and a model would read it.
    """
    folders = [each.resolve() for each in allowed]
    for task in tasks:
        if not task.file.base.repository:
            continue
        named = find_repository(task)
        if not any(named.is_relative_to(each) for each in (task.folder.parent, *folders)):
            raise UserError(
                Fault.DENIED,
                f"task {task.name!r} begins with files of {str(named)!r}, which is not the suite's",
                f"If you want that: -C {named}",
            )


def _refuse_equal_variants(planned: Iterable[PlannedTrial]) -> None:
    """Raise UserError for two labels of the same trials, which would be counted twice, as if drawn anew."""
    labels: dict[tuple[str, str, int], str] = {}
    for each in planned:
        label = each.variant.label
        if (first := labels.setdefault((each.key, each.task.name, each.trial), label)) != label:
            raise UserError(
                Fault.USAGE,
                f"{first!r} and {label!r} are the same trials, whose results would be counted twice",
                "For other draws of the same: a run with another --seed.",
            )


def _shuffle(tasks: Sequence[Task], seed: int) -> list[Task]:
    shuffled = list(tasks)
    random.Random(seed).shuffle(shuffled)
    return shuffled


def _unused(task: Task) -> float:
    """Return the seconds of parts that a task has not."""
    limits = task.file.limits
    setup = 0.0 if task.file.setup else limits.setup_seconds
    return setup if task.file.check.strip() else setup + limits.check_seconds
