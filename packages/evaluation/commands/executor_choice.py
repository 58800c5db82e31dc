"""Where the trials of a run take place: on this machine, or on the nodes of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from packages.evaluation.commands.evaluation_options import count_jobs
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from packages.evaluation.commands.evaluation_setup import EvaluationSetup
    from packages.evaluation.executors.executor import TrialExecutor
    from packages.evaluation.runs.run_plan import RunPlan
    from packages.evaluation.runs.run_suite import Progress, SuiteRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRequest:
    """Place of trials as requested on the command line. ray: address of a cluster, None for this machine"""

    jobs: int | None
    ray: str | None
    artifacts: str | None
    env: Sequence[str]
    cpus: float


def collect_variables(request: PlaceRequest) -> Mapping[str, str]:
    """Return the variables of trials: on nodes of a cluster only those that the user names. Raises UserError."""
    import os

    from sandbox.errors import Fault, UserError

    if request.ray is None:
        return os.environ
    for name in request.env:
        if name not in os.environ:
            raise UserError(Fault.USAGE, f"--env {name}: there is no such variable here")
    return {name: os.environ[name] for name in request.env}


def create_suite_run(
    setup: EvaluationSetup,
    plan: RunPlan,
    place: PlaceRequest,
    on_notice: Callable[[str], None],
    *,
    max_cost: float | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> SuiteRun:
    """Return the run of a plan, not begun yet. Raises UserError. on_notice: see `create_executor`"""
    from packages.evaluation.runs.run_suite import SuiteRun
    from packages.evaluation.runs.variant import RunFolders
    from patchwright.version import VERSION

    scratch = setup.home.cache / "evaluation" / plan.record.id
    return SuiteRun(
        plan,
        setup.store,
        create_executor(setup, place, plan.record.id, on_notice),
        RunFolders(home=setup.home, scratch=scratch, sessions=setup.store.sessions),
        version=VERSION,
        max_cost=max_cost,
        on_progress=on_progress,
    )


def create_executor(
    setup: EvaluationSetup, request: PlaceRequest, run: str, on_notice: Callable[[str], None]
) -> TrialExecutor:
    """Return the executor of a run. Raises UserError. on_notice: receives a line for each node that gets no trial"""
    if request.ray is None:
        from agent.app_dirs import make_private_folder
        from packages.evaluation.executors.local_executor import LocalExecutor

        return LocalExecutor(count_jobs(request.jobs), make_private_folder(setup.home.cache))
    from patchwright.version import VERSION
    from sandbox.extensions import load_extension

    open_executor: Callable[..., TrialExecutor] = load_extension("trial_executors", "ray")
    return open_executor(
        request.ray,
        on_notice,
        run=run,
        artifacts=request.artifacts or str(setup.store.folder / "artifacts"),
        env=collect_variables(request),
        cpus=request.cpus,
        jobs=request.jobs,
        sandbox=setup.settings.access.sandbox,
        version=VERSION,
    )
