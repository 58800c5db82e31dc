"""Trials on a cluster: each result once, whatever dies; nothing left behind; errors of one line."""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.events import UsageRecord
from agent.model.model_settings import ModelSettings, RateLimitSettings
from agent.session_settings import SessionSettings
from benchmarks.ray_kills import run_with_kills
from packages.evaluation.runs.result_store import ResultStore
from packages.evaluation.runs.run_plan import RunPlan
from packages.evaluation.runs.run_suite import Progress, SuiteRun
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.runs.variant import RunFolders, make_variant
from packages.scale.cluster.node import PASSED_ON
from packages.scale.cluster.ray_cluster import RayCluster
from packages.scale.cluster.ray_rates import NAMESPACE, find_keeper
from packages.scale.trials.artifact_store import ArtifactStore
from packages.scale.trials.ray_executor import RayExecutor, RayOptions
from patchwright.version import VERSION
from sandbox.errors import UserError
from tests.packages.evaluation.runs.test_run_suite import PRICED, make_variants, plan_run
from tests.support.evaluation_trials import make_home, make_task, write_script
from tests.support.loopback import Loopback
from tests.support.ray_cluster import (
    NODE,
    kill_node,
    kill_trial_actors,
    list_descendants,
    list_trial_actors,
    read_command,
    start_cluster,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

pytest.importorskip("ray", reason="Ray has no package for this Python")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two nodes with two CPUs each; their home is a folder of the tests."""
    home = tmp_path_factory.mktemp("home")
    with start_cluster({"PATCHWRIGHT_HOME": str(home)}) as started:
        started.home = home
        yield started


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path / "home"))


class Killing(RayExecutor):
    """Calls `kill` at the first spending of each of the first `deaths` trials."""

    deaths = 0
    kill: Callable[[Any], None]

    async def _follow_trial(
        self,
        host: Any,
        parcel: Any,
        order: TrialOrder,
        on_spend: Callable[[UsageRecord], None],
        limit: asyncio.Timeout,
    ) -> TrialResult:
        def follow(usage: UsageRecord) -> None:
            on_spend(usage)
            if self.deaths:
                self.deaths -= 1
                self.kill(host)

        return await super()._follow_trial(host, parcel, order, follow, limit)


def open_executor(cluster: Any, plan: RunPlan, store: ResultStore, **options: Any) -> Killing:
    values = {
        "run": plan.record.id,
        "artifacts": str(store.folder / "artifacts"),
        "env": {},
        "version": VERSION,
    }
    return Killing(RayCluster.connect(cluster.address), RayOptions(**{**values, **options}))


def run_on(
    executor: RayExecutor, plan: RunPlan, store: ResultStore, folder: Path, *, cancels: bool = False
) -> Progress | None:
    home = make_home(folder)
    folders = RunFolders(home=home, scratch=home.cache / "evaluation", sessions=store.sessions)

    async def run_all() -> Progress | None:
        run = SuiteRun(plan, store, executor, folders, version="1")
        running = asyncio.ensure_future(run.run())
        try:
            if cancels:
                while not run.progress.tokens:
                    await asyncio.sleep(0.05)
                running.cancel()
            return await running
        except asyncio.CancelledError:
            return None
        finally:
            await run.close()

    return asyncio.run(run_all())


def list_results(store: ResultStore, plan: RunPlan) -> list[tuple[str, int, bool]]:
    return [(each.variant, each.trial, each.solved) for each in store.read_results(plan.record)]


def list_files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


def test_a_killed_worker_and_a_killed_node_cost_no_result(cluster: Any, tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path), trials=2)
    store = ResultStore(tmp_path / "store")
    executor = open_executor(cluster, plan, store)
    executor.deaths = 2

    def kill(host: Any) -> None:
        if executor.deaths:
            kill_trial_actors()  # the one that spends is among them; another one may have ended its trial
        else:
            kill_node(cluster, host.node.id)

    executor.kill = kill
    progress = run_on(executor, plan, store, tmp_path)
    cluster.add_node(**NODE)
    assert progress is not None
    assert list_results(store, plan) == [
        (name, n, name == "good") for name in ("good", "idle") for n in range(2)
    ]
    assert progress.done == 4
    assert progress.lost_workers >= 2
    spending = store.read_spending(plan.record)
    assert spending.cost == pytest.approx(0.04 + spending.lost_cost)
    assert spending.lost_cost >= 0.01
    sessions = {each.session for each in store.read_results(plan.record)}
    assert sessions <= {each.name for each in store.sessions.iterdir()}
    assert list_files(store.folder / "artifacts" / "sessions") == []
    assert list_files(cluster.home / "cache/evaluation/ray") == []


def test_workers_that_are_killed_again_and_again_cost_no_result(cluster: Any, tmp_path: Path) -> None:
    outcome = run_with_kills(cluster, tmp_path, 12, kills=3, every=0.8)
    assert outcome.kills == 3
    assert outcome.results == [(number, True) for number in range(12)]
    assert outcome.lost_workers >= 1
    assert outcome.cost == pytest.approx(0.12 + outcome.lost_cost)
    assert list_files(cluster.home / "cache/evaluation/ray") == []


def test_a_cancelled_run_ends_its_trials(cluster: Any, tmp_path: Path) -> None:
    call = {"tool": "shell", "arguments": {"command": "sleep 77.125"}}
    model = write_script(tmp_path / "slow.json", [{"calls": [call], **PRICED}, {"text": "Done."}])
    variant = make_variant("slow", SessionSettings(model=model))
    plan = plan_run([make_task(tmp_path / "suite/add")], [variant])
    store = ResultStore(tmp_path / "store")
    assert run_on(open_executor(cluster, plan, store), plan, store, tmp_path, cancels=True) is None
    assert list_results(store, plan) == []
    assert store.read_spending(plan.record).lost_cost >= 0.01
    assert list_files(cluster.home / "cache/evaluation/ray") == []
    commands = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if each.exists()]
    assert not any(b"sleep\x0077.125" in each for each in commands)


def test_trials_have_the_variables_that_the_user_names_only(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOT_NAMED", "1")
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    seen: list[bytes] = []

    def read_environment(host: Any) -> None:
        actors = {*list_trial_actors()}
        workers = [each for each in list_descendants() if b"worker_process" in read_command(each)]
        assert actors
        seen.extend(Path(f"/proc/{each}/environ").read_bytes() for each in workers)

    executor = open_executor(cluster, plan, store, env={"NAMED": "yes"})
    executor.deaths, executor.kill = 1, read_environment
    assert run_on(executor, plan, store, tmp_path) is not None
    assert seen
    for each in seen:
        names = {line.partition(b"=")[0].decode() for line in each.split(b"\0") if line}
        assert "NAMED" in names
        assert names <= {"NAMED", *PASSED_ON}


def test_all_nodes_share_a_rate_limit(cluster: Any, tmp_path: Path) -> None:
    limits = {"openai": RateLimitSettings(calls=60)}  # a burst of 3, then 58 a minute
    with Loopback() as server:
        settings = SessionSettings(
            model="openai/local", api_base=server.url, models=ModelSettings(limits=limits)
        )
        plan = plan_run([make_task(tmp_path / "suite/add")], [make_variant("calls", settings)], trials=6)
        store = ResultStore(tmp_path / "store")
        assert run_on(open_executor(cluster, plan, store), plan, store, tmp_path) is not None
        times = [each.arrived for each in server.requests]
    assert len(times) == 6
    for first, start in enumerate(times):
        for calls, end in enumerate(times[first:], 1):
            assert calls <= 3 + (end - start) * 58 / 60 + 0.5
    assert list_files(cluster.home / "cache/evaluation/ray") == []


def test_the_actor_of_the_limits_ends_when_nobody_asks(cluster: Any) -> None:
    connection = RayCluster.connect(cluster.address)
    try:
        ray, name = importlib.import_module("ray"), "limits-of-a-test"
        find_keeper(ray, name, unused_seconds=0.5)

        def is_there() -> bool:
            try:
                ray.get_actor(name, namespace=NAMESPACE)
            except ValueError:
                return False
            return True

        assert is_there()
        deadline = time.monotonic() + 60
        while is_there():
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        connection.close()


def test_a_result_counts_without_its_logs(cluster: Any, tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    executor = open_executor(cluster, plan, store)
    (store.folder / "artifacts").mkdir(parents=True, exist_ok=True)
    (store.folder / "artifacts" / "sessions").write_text("in the way of the logs")
    told: list[str] = []
    executor._on_notice = told.append
    assert run_on(executor, plan, store, tmp_path) is not None
    assert list_results(store, plan) == [("good", 0, True)]
    assert [each.split(":")[0] for each in told] == ["logs of a trial are lost"]


def test_a_run_ends_only_when_every_node_refuses(cluster: Any, tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    executor = open_executor(cluster, plan, store)
    pack = executor._packer.pack
    executor._packer.pack = lambda order: {**pack(order), "files": {"task": "tasks/none.tgz"}}  # type: ignore[method-assign]
    told: list[str] = []
    executor._on_notice = told.append
    with pytest.raises(UserError, match="no node of the cluster can run trials"):
        run_on(executor, plan, store, tmp_path)
    assert len(told) == 2


def test_a_node_that_does_not_answer_in_time_is_given_up(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packages.scale.trials.ray_executor._START_SECONDS", 0.01)
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    progress = run_on(open_executor(cluster, plan, store), plan, store, tmp_path)
    (result,) = store.read_results(plan.record)
    assert progress is not None
    assert (result.failure, progress.lost_workers) == ("crashed", 3)
    assert "did not answer in time" in result.detail


def test_a_node_without_the_sandbox_gets_no_trial(cluster: Any, tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    executor = open_executor(cluster, plan, store, sandbox="seatbelt")
    with pytest.raises(UserError, match=r"no node of the cluster can run trials.*seatbelt"):
        run_on(executor, plan, store, tmp_path)


def test_a_place_without_a_cluster_is_an_error_of_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UserError, match=f"no Ray cluster at '{address}': .*refused"):
        RayCluster.connect(address)
    with pytest.raises(UserError, match="does not work through Ray's client"):
        RayCluster.connect("ray://127.0.0.1:10001")
    with pytest.raises(UserError, match="not an address"):
        RayCluster.connect("somewhere")


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="needs Ray, which is not installed") as caught:
        RayCluster.connect("auto")
    assert "patchwright[ray]" in caught.value.hint
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UserError, match="fsspec, which is not installed"):
        ArtifactStore("/nowhere")
