"""A run of a suite: every trial once, whatever dies; within its budget and its time."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.events import UsageRecord
from agent.session_settings import SessionSettings
from packages.evaluation.analysis.run_report import build_report
from packages.evaluation.executors import local_executor
from packages.evaluation.executors.executor import WorkerLost
from packages.evaluation.executors.local_executor import LocalExecutor
from packages.evaluation.runs.result_store import ResultStore
from packages.evaluation.runs.run_lock import LOCK, hold_lock
from packages.evaluation.runs.run_plan import RunPlan, check_repositories, make_plan
from packages.evaluation.runs.run_suite import ATTEMPTS, MOST_STARTS, Progress, SuiteRun
from packages.evaluation.runs.trial import run_trial
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.runs.trial_spending import UserUsage
from packages.evaluation.runs.variant import RunFolders, Variant, make_variant
from packages.evaluation.tasks.task_folder import Task
from sandbox.errors import Fault, UserError
from tests.support.evaluation_trials import EDIT, make_home, make_order, make_task, write_script

pytestmark = pytest.mark.slow

READY = """import os; os.write(1, b'{"message":"ready"}\\n');"""
"""Begins the program of a worker that takes orders."""

PRICED = {"usage": {"input": 10, "output": 1, "cost": 0.01}}


def make_variants(folder: Path) -> list[Variant]:
    good = write_script(folder / "good.json", [{"calls": [EDIT], **PRICED}, {"text": "Done."}])
    idle = write_script(folder / "idle.json", [{"text": "Nothing to do.", **PRICED}])
    return [
        make_variant("good", SessionSettings(model=good)),
        make_variant("idle", SessionSettings(model=idle)),
    ]


def plan_run(tasks: list[Task], variants: list[Variant], trials: int = 2, seed: int = 0) -> RunPlan:
    return make_plan("suite", tasks, variants, trials=trials, seed=seed, version="1")


class FakeExecutor:
    """Answers at once. Implements `TrialExecutor`."""

    def __init__(self, slots: int = 2, cost: float = 0.01) -> None:
        self.slots = slots
        self.cost = cost
        self.orders: list[TrialOrder] = []
        self.most = 0
        self._running = 0

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        self.orders.append(order)
        self._running += 1
        self.most = max(self.most, self._running)
        await asyncio.sleep(0)
        self._running -= 1
        on_spend(UsageRecord(input=5, cost=self.cost))
        return TrialResult(
            key=order.key,
            task=order.task,
            digest=order.digest,
            variant=order.label,
            trial=order.trial,
            solved=order.trial == 0,
            score=float(order.trial == 0),
            failure="" if order.trial == 0 else "wrong",
            cost=self.cost,
        )

    async def close(self) -> None: ...


def run_plan(
    plan: RunPlan, store: ResultStore, executor: object, folder: Path, max_cost: float | None = None
) -> Progress:
    home = make_home(folder)
    folders = RunFolders(home=home, scratch=home.cache / "evaluation", sessions=store.sessions)

    async def run_all() -> Progress:
        run = SuiteRun(plan, store, executor, folders, version="1", max_cost=max_cost)  # type: ignore[arg-type]
        try:
            return await run.run()
        finally:
            await run.close()

    return asyncio.run(run_all())


def list_leftovers(folder: Path) -> list[Path]:
    """Return the files below the user's folders, but for what is known of the machine."""
    home = make_home(folder)
    files = [each for base in (home.data, home.cache) for each in base.rglob("*") if not each.is_dir()]
    return [each for each in files if each != home.cache / "bubblewrap.json"]


class KillingExecutor(LocalExecutor):
    """Kills a worker at its first spending, `deaths` times."""

    def __init__(self, slots: int, folder: Path, deaths: int) -> None:
        super().__init__(slots, folder)
        self.deaths = deaths
        self.pids: set[int] = set()

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        def kill(usage: UsageRecord) -> None:
            on_spend(usage)
            if self.deaths:
                self.deaths -= 1
                os.kill(max(each.channel.process.pid for each in self._busy), signal.SIGKILL)

        result = await super().run(order, kill)
        self.pids |= {each.channel.process.pid for each in self._idle}
        return result


def test_a_killed_worker_costs_its_spending_and_no_result(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", check='"$PYTHON" -c "import pytest" && "$PYTHON" check.py')
    plan = plan_run([task], make_variants(tmp_path))
    store = ResultStore(tmp_path / "store")
    executor = KillingExecutor(1, tmp_path, deaths=2)
    progress = run_plan(plan, store, executor, tmp_path)
    results = store.read_results(plan.record)
    assert [(each.variant, each.trial, each.solved) for each in results] == [
        ("good", 0, True),
        ("good", 1, True),
        ("idle", 0, False),
        ("idle", 1, False),
    ]
    assert (progress.done, progress.lost_workers) == (4, 2)
    spending = store.read_spending(plan.record)
    assert spending.cost == pytest.approx(0.06)
    assert (spending.lost_cost, spending.lost_tokens) == (pytest.approx(0.02), 22)
    lost = store.read_lost_costs(plan.record)
    assert sum(lost.values()) == pytest.approx(0.02)
    good, idle = build_report(store, plan.record).summaries
    assert good.total_cost == pytest.approx(0.02 + lost["good"])  # a trial of "good" costs a cent
    assert good.cost_of_pass == pytest.approx((0.02 + lost["good"]) / 2)
    assert (idle.total_cost, idle.cost_of_pass) == (pytest.approx(0.02 + lost["idle"]), None)
    assert len(executor.pids) == 1  # the worker that lived served all the rest
    assert list_leftovers(tmp_path) == []

    again = run_plan(plan, store, FakeExecutor(), tmp_path)
    assert (again.earlier, again.done, again.solved) == (4, 0, 2)


def test_a_cancelled_run_leaves_the_logs_of_its_sessions_alone(tmp_path: Path) -> None:
    slow = write_script(tmp_path / "slow.json", [{"calls": [EDIT], **PRICED}, {"text": "Done.", "delay": 60}])
    variants = [make_variant("slow", SessionSettings(model=slow))]
    plan = plan_run([make_task(tmp_path / "suite/add")], variants, trials=1)
    store = ResultStore(tmp_path / "store")

    home = make_home(tmp_path)
    folders = RunFolders(home=home, scratch=home.cache / "evaluation", sessions=store.sessions)

    running: asyncio.Future[Progress]

    class CancellingExecutor(LocalExecutor):
        async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
            def cancel(usage: UsageRecord) -> None:
                on_spend(usage)
                assert list_leftovers(tmp_path) != []  # of the trial that runs
                running.cancel()

            return await super().run(order, cancel)

    async def run_and_cancel() -> None:
        nonlocal running
        run = SuiteRun(plan, store, CancellingExecutor(1, tmp_path), folders, version="1")
        running = asyncio.ensure_future(run.run())
        with pytest.raises(asyncio.CancelledError):
            await running
        await run.close()

    asyncio.run(run_and_cancel())
    assert list_leftovers(tmp_path) == []
    assert [each.name for each in store.sessions.glob("*/log.jsonl")] == ["log.jsonl"]
    assert store.read_spending(plan.record).lost_cost == pytest.approx(0.01)


def test_a_trial_that_always_kills_its_worker_has_a_result_that_says_so(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    executor = LocalExecutor(1, tmp_path, program=f"{READY} os.read(0, 1); os.abort()")
    progress = run_plan(plan, store, executor, tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.failure, progress.lost_workers) == ("crashed", ATTEMPTS)
    assert "SIGABRT" in result.detail


def is_dead(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_worker_that_does_not_end_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_executor, "GRACE", 0.1)
    task = make_task(
        tmp_path / "suite/add", limits={"seconds": 0.2, "check_seconds": 0.2, "setup_seconds": 0.2}
    )
    plan = plan_run([task], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    pids = tmp_path / "pids"
    program = (
        f"{READY} import subprocess, time; child = subprocess.Popen(['sleep', '600']);"
        f" open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}'); time.sleep(600)"
    )
    run_plan(plan, store, LocalExecutor(1, tmp_path, program=program), tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.failure, result.detail) == ("time-limit", "ended after 0.4 s, the time of the task")
    assert result.seconds < 5
    for pid in pids.read_text().split() if pids.exists() else ():
        assert is_dead(pid)


def test_an_agent_that_does_not_end_at_its_time_is_killed_before_the_checkers_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_executor, "GRACE", 0.1)
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    blocked = (
        f"""{READY} import time; os.write(1, b'{{"message":"part","seconds":0.2}}\\n'); time.sleep(600)"""
    )
    store = ResultStore(tmp_path / "store")
    run_plan(plan, store, LocalExecutor(1, tmp_path, program=blocked), tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.failure, result.detail) == ("time-limit", "ended after 0.2 s, the time of the agent")
    assert result.seconds < 30


def test_a_change_larger_than_a_line_is_kept_once(tmp_path: Path) -> None:
    make = "head -c 13000000 /dev/zero | tr '\\0' '\\001' | fold -w 1000 >big.txt"
    call = {"tool": "shell", "arguments": {"command": make}}
    script = write_script(tmp_path / "big.json", [{"calls": [call, EDIT], **PRICED}, {"text": "Done."}])
    plan = plan_run(
        [make_task(tmp_path / "suite/add")], [make_variant("big", SessionSettings(model=script))], trials=1
    )
    store = ResultStore(tmp_path / "store")
    progress = run_plan(plan, store, LocalExecutor(1, tmp_path), tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.solved, result.detail, progress.lost_workers) == (True, "", 0)
    assert result.patch.count("\x01") == 13_000_000
    assert list_leftovers(tmp_path) == []


def test_a_trial_reports_its_parts_as_they_begin(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", limits={"seconds": 30})
    parts: list[float] = []
    order = make_order(task, write_script(tmp_path / "s.json", [{"text": "Done."}]), tmp_path)
    asyncio.run(run_trial(order, on_part=parts.append))
    assert parts == [30.0, order.total_seconds]


def test_no_more_run_at_once_than_the_executor_takes_and_equal_work_runs_once(tmp_path: Path) -> None:
    tasks = [make_task(tmp_path / f"suite/{name}") for name in ("a", "b", "c")]
    variants = make_variants(tmp_path)
    executor = FakeExecutor(slots=3)
    store = ResultStore(tmp_path / "store")
    plan = plan_run(tasks, variants[:1])
    progress = run_plan(plan, store, executor, tmp_path)
    # The tasks have equal content: two trials are left of six.
    assert (executor.most, len(executor.orders), progress.total) == (2, 2, 2)
    assert len(store.read_results(plan.record)) == 6
    more = plan_run(tasks, variants, seed=1)
    assert not {*more.record.keys} & {*plan.record.keys}


def test_two_labels_of_the_same_trials_are_refused(tmp_path: Path) -> None:
    variant = make_variants(tmp_path)[0]
    twin = make_variant("twin", variant.settings)
    with pytest.raises(UserError, match="'good' and 'twin' are the same trials") as caught:
        plan_run([make_task(tmp_path / "suite/add")], [variant, twin])
    assert "--seed" in caught.value.hint


def test_first_trials_come_first_and_the_seed_orders_the_tasks(tmp_path: Path) -> None:
    tasks = [make_task(tmp_path / f"suite/{name}", description=name) for name in "abcdef"]
    orders = {}
    for seed in (1, 1, 2):
        plan = plan_run(tasks, make_variants(tmp_path), seed=seed)
        names = [(each.trial, each.task.name, each.variant.label) for each in plan.trials]
        assert [trial for trial, _, _ in names] == [0] * 12 + [1] * 12
        assert all(one[1] == two[1] for one, two in zip(names[::2], names[1::2], strict=True))
        orders.setdefault(seed, names)
        assert orders[seed] == names
    assert orders[1] != orders[2]


def test_the_budget_holds_over_interruptions(tmp_path: Path) -> None:
    tasks = [make_task(tmp_path / f"suite/{name}", description=name) for name in "abcdef"]
    plan = plan_run(tasks, make_variants(tmp_path))
    store = ResultStore(tmp_path / "store")
    executor = FakeExecutor(slots=1, cost=0.25)
    progress = run_plan(plan, store, executor, tmp_path, max_cost=1.0)
    assert (progress.done, progress.cost) == (3, 0.75)
    assert progress.stopped == "$0.75 of $1 are spent"
    assert [each.max_cost for each in executor.orders] == [1.0, 0.75, 0.5]
    assert run_plan(plan, store, executor, tmp_path, max_cost=1.5).done == 2
    assert run_plan(plan, store, executor, tmp_path).done == 19


def test_trials_that_run_at_once_share_the_budget(tmp_path: Path) -> None:
    tasks = [make_task(tmp_path / f"suite/{name}", description=name) for name in "abcdef"]
    plan = plan_run(tasks, make_variants(tmp_path))
    executor = FakeExecutor(slots=8, cost=0.25)
    progress = run_plan(plan, ResultStore(tmp_path / "store"), executor, tmp_path, max_cost=1.0)
    assert (progress.done, progress.cost) == (3, 0.75)
    assert [each.max_cost for each in executor.orders] == [1.0, 0.375, 0.375]
    cheap = FakeExecutor(slots=8, cost=0.01)
    progress = run_plan(plan, ResultStore(tmp_path / "other"), cheap, tmp_path, max_cost=1.0)
    assert (progress.done, cheap.most) == (24, 8)
    assert all((each.max_cost or 0.0) >= 0.01 for each in cheap.orders)


def test_a_worker_that_does_not_start_is_lost_and_leaves_no_process(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    progress = run_plan(plan, store, LocalExecutor(1, tmp_path, program="raise SystemExit('no')"), tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.failure, progress.lost_workers) == ("crashed", ATTEMPTS)
    assert "exit code 1 (no)" in result.detail


def test_results_that_say_nothing_are_run_again(tmp_path: Path) -> None:
    plan = plan_run(
        [make_task(tmp_path / "suite/add", setup=["false"])], make_variants(tmp_path)[:1], trials=1
    )
    store = ResultStore(tmp_path / "store")
    executor = LocalExecutor(1, tmp_path)
    progress = run_plan(plan, store, executor, tmp_path)
    assert (progress.done, progress.invalid) == (1, 1)
    assert store.read_results(plan.record) == []


def test_the_first_of_two_results_is_kept_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    result = TrialResult(
        key="ab" * 32, task="t", digest="d", variant="v", trial=0, solved=True, score=1.0, failure=""
    )
    assert store.save_result(result)
    assert not store.save_result(dataclasses.replace(result, solved=False, failure="wrong"))
    assert store.read_result(result.key) == result
    (place,) = (tmp_path / "results").rglob("*.json")
    place.write_text(place.read_text()[:40])
    assert store.read_result(result.key) is None
    assert store.save_result(result)


def test_one_run_is_not_worked_on_twice_at_once(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path), trials=1)
    store = ResultStore(tmp_path / "store")
    with store.hold_run(plan.record), pytest.raises(UserError, match="in another process"):
        run_plan(plan, store, FakeExecutor(), tmp_path)


def test_a_run_removes_what_killed_runs_left_and_nothing_of_those_at_work(tmp_path: Path) -> None:
    parent = make_home(tmp_path).cache
    for name in ("killed", "working", "other"):
        (parent / name / "trials").mkdir(parents=True)
    (parent / "killed" / LOCK).touch()
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    with hold_lock(parent / "working" / LOCK, "working"):
        run_plan(plan, ResultStore(tmp_path / "store"), FakeExecutor(), tmp_path)
    assert {each.name for each in parent.iterdir()} == {"working", "other"}
    with hold_lock(parent / "evaluation" / LOCK, "x"), pytest.raises(UserError, match="in another process"):
        run_plan(plan, ResultStore(tmp_path / "second store"), FakeExecutor(), tmp_path)
    assert (parent / "evaluation" / LOCK).exists()


def test_a_suite_reads_no_repository_that_nobody_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    task = make_task(tmp_path / "suite/add", base={"repository": str(tmp_path / "mine"), "commit": "0" * 40})
    with pytest.raises(UserError, match="which is not the suite's"):
        check_repositories([task], [tmp_path / "other"])
    check_repositories([task], [tmp_path / "mine"])


class LateExecutor(FakeExecutor):
    """Answers after another result of the same trial is kept."""

    def __init__(self, store: ResultStore) -> None:
        super().__init__(slots=1)
        self._store = store

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        result = await super().run(order, on_spend)
        self._store.save_result(dataclasses.replace(result, detail="the first"))
        return result


def test_a_late_second_result_is_dropped_and_its_spending_is_lost(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    progress = run_plan(plan, store, LateExecutor(store), tmp_path)
    assert [each.detail for each in store.read_results(plan.record)] == ["the first"]
    assert (progress.done, store.read_spending(plan.record).lost_cost) == (1, 0.01)


class LeavingExecutor(FakeExecutor):
    """Loses the machine of a trial `times` times."""

    def __init__(self, times: int) -> None:
        super().__init__(slots=1)
        self.times = times

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        if len(self.orders) < self.times:
            self.orders.append(order)
            raise WorkerLost("went with its node", blames_trial=False)
        return await super().run(order, on_spend)


def test_a_trial_is_not_to_blame_for_machines_that_go(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    progress = run_plan(plan, store, LeavingExecutor(ATTEMPTS + 2), tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.solved, progress.lost_workers) == (True, ATTEMPTS + 2)
    other = ResultStore(tmp_path / "other")
    run_plan(plan, other, LeavingExecutor(MOST_STARTS), tmp_path)
    (result,) = other.read_results(plan.record)
    assert (result.failure, result.detail) == ("crashed", "its worker went with its node, 30 times")


class DyingExecutor(FakeExecutor):
    """Loses each worker after it has spent a cent."""

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        await super().run(order, on_spend)
        raise WorkerLost("died")


def test_what_a_crashed_trial_spent_is_counted_once(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    run_plan(plan, store, DyingExecutor(slots=1), tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.failure, result.cost) == ("crashed", pytest.approx(ATTEMPTS * 0.01))
    (summary,) = build_report(store, plan.record).summaries
    assert summary.total_cost == pytest.approx(ATTEMPTS * 0.01)
    assert store.read_spending(plan.record).lost_cost == 0


class FailingExecutor(FakeExecutor):
    """Ends the run once a trial has spent a cent, as a full disk does."""

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        await super().run(order, on_spend)
        raise UserError(Fault.STORAGE_FULL, "no room")


def test_what_an_earlier_process_lost_stays_lost_whatever_its_process_id(tmp_path: Path) -> None:
    plan = plan_run([make_task(tmp_path / "suite/add")], make_variants(tmp_path)[:1], trials=1)
    store = ResultStore(tmp_path / "store")
    with pytest.raises(UserError, match="no room"):
        run_plan(plan, store, FailingExecutor(slots=1), tmp_path)
    run_plan(plan, store, FakeExecutor(slots=1), tmp_path)  # in this same process, so with the same id
    spending = store.read_spending(plan.record)
    assert (spending.cost, spending.lost_cost) == (pytest.approx(0.02), pytest.approx(0.01))


class TalkingExecutor(FakeExecutor):
    """Loses each worker after its session has spent a cent, and its user ten."""

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        await super().run(order, on_spend)
        on_spend(UserUsage(input=5, cost=0.1))
        raise (UserError(Fault.STORAGE_FULL, "no room") if len(self.orders) == 1 else WorkerLost("died"))


def test_lost_spending_of_a_user_is_none_of_the_agents_figures(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": "You sell fruit."})
    variants = make_variants(tmp_path)[:1]
    user = write_script(tmp_path / "user.json", [{"text": "###STOP###"}])
    plan = make_plan("suite", [task], variants, trials=1, seed=0, version="1", user_model=user)
    store = ResultStore(tmp_path / "store")
    executor = TalkingExecutor(slots=1)
    with pytest.raises(UserError):
        run_plan(plan, store, executor, tmp_path)
    assert store.read_spending(plan.record).lost_cost == pytest.approx(0.11)
    assert store.read_lost_costs(plan.record) == {"good": pytest.approx(0.01)}
    run_plan(plan, store, executor, tmp_path)
    (result,) = store.read_results(plan.record)
    assert (result.failure, result.cost) == ("crashed", pytest.approx(0.03))
    assert (result.user_cost, result.user_tokens) == (pytest.approx(0.3), 15)
    (summary,) = build_report(store, plan.record).summaries
    assert summary.total_cost == pytest.approx(0.04)
    assert store.read_spending(plan.record).cost == pytest.approx(0.44)
