"""Trials on many machines: a pool of Ray actors, one trial each, on every node that can run some."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.events import UsageRecord
from agent.session.received_sessions import take_sessions
from packages.evaluation.executors.executor import GRACE, WorkerLost
from packages.evaluation.executors.received_result import receive_result
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.runs.trial_spending import decode_spending
from packages.scale.cluster.archives import unpack_folder
from packages.scale.cluster.node import HostSpec
from packages.scale.cluster.ray_cluster import RayCluster
from packages.scale.trials.artifact_store import ArtifactStore
from packages.scale.trials.trial_actor import start_trial_host
from packages.scale.trials.trial_parcel import ParcelPacker, is_logs_name
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

_LOOK_SECONDS = 1.0
"""Between two looks at the nodes of the cluster."""

_NODE_PATIENCE = 120.0
"""Seconds for a node to come where none can run trials: a spot machine is replaced meanwhile."""

_START_SECONDS = 600.0
"""For an actor to start and to fetch the files of its trial."""

_SLACK = 180.0
"""Beyond a trial's time until its node is given up: a worker starts there before it, and logs are stored after it."""

_END_SECONDS = 60.0
"""For an actor to end its trial, and for a node to remove its files, before it is left alone: a busy node takes long
to start the process that does it. One that is gone says so at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions:
    """How a run uses a cluster.

    run: id; artifacts: URL of a folder that every node reaches; env: variables of trials, named by the user
    cpus: of one trial; jobs: most trials at once, None: as many as the nodes have CPUs for
    sandbox: as the settings name it; version: of this program
    """

    run: str
    artifacts: str
    env: Mapping[str, str] = field(repr=False)
    cpus: float = 1.0
    jobs: int | None = None
    sandbox: str = "auto"
    version: str


@dataclass(slots=True, eq=False)
class _Node:
    """A node of the cluster. problem: why it gets no trial, None while it is being asked; used: actors on it"""

    id: str
    name: str
    slots: int
    problem: str | None = None
    used: int = 0


@dataclass(slots=True, eq=False)
class _Host:
    """An actor on a node."""

    node: _Node
    actor: Any


class _NodeRefuses(Exception):
    """A node cannot run a trial; another one may. str(): why"""


class RayExecutor:
    """Runs trials on the nodes of a cluster. Implements `TrialExecutor`.

    Nodes may come and go meanwhile. A trial whose node goes is lost, and the caller starts it again; its actor is
    killed first, so that it can answer no more.

    on_notice: receives a line for each node that gets no trial
    """

    def __init__(
        self, cluster: RayCluster, options: RayOptions, on_notice: Callable[[str], None] = lambda text: None
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._on_notice = on_notice
        self._artifacts = ArtifactStore(options.artifacts)
        self._packer = ParcelPacker(self._artifacts)
        self._spec = HostSpec(run=options.run, artifacts=options.artifacts, env=options.env)
        self._nodes: dict[str, _Node] = {}
        self._idle: list[_Host] = []
        self._hosts: set[_Host] = set()
        self._retiring: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._look_for_nodes()

    @property
    def slots(self) -> int:
        """See `TrialExecutor.slots`. At least one, which then waits for a node."""
        free = sum(each.slots for each in self._nodes.values() if not each.problem)
        return max(1, free if self._options.jobs is None else min(free, self._options.jobs))

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        """See `TrialExecutor.run`. Raises UserError where no node can run trials, or no artifact reaches them."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_nodes())
        parcel = await asyncio.to_thread(self._packer.pack, order)
        host = await self._take_host()
        try:
            async with asyncio.timeout(_START_SECONDS) as limit:
                result = await self._follow_trial(host, parcel, order, on_spend, limit)
        except self._cluster.errors as error:
            self._retire(host)
            is_blamed = self._cluster.has_run_out_of_memory(error)
            how = f"went with its node {host.node.name}"
            raise WorkerLost("had no memory left" if is_blamed else how, blames_trial=is_blamed) from None
        except WorkerLost:
            self._give_back(host)
            raise
        except TimeoutError:
            self._retire(host)
            raise WorkerLost(f"did not answer in time on node {host.node.name}") from None
        except _NodeRefuses as refusal:
            self._refuse_node(host, str(refusal))
            raise WorkerLost(f"was refused by its node: {refusal}", blames_trial=False) from None
        except BaseException:  # cancelled, or refused: the trial there must end, too
            self._retire(host)
            raise
        self._give_back(host)
        return result

    async def close(self) -> None:
        """See `TrialExecutor.close`. Afterwards nothing of the run is left on the nodes that are alive."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await asyncio.gather(*self._retiring, return_exceptions=True)
        last = {host.node.id: host for host in self._hosts}
        others = self._hosts - {*last.values()}
        await asyncio.gather(*(self._end_host(host) for host in others))
        await asyncio.gather(*(self._end_host(host, removes_all=True) for host in last.values()))
        unused = [each.id for each in self._nodes.values() if each.problem == "" and each.id not in last]
        removed = [self._cluster.remove_files(node, self._options.run) for node in unused]
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(*removed, return_exceptions=True)
        await asyncio.to_thread(self._cluster.close)

    async def _follow_trial(
        self,
        host: _Host,
        parcel: Mapping[str, Any],
        order: TrialOrder,
        on_spend: Callable[[UsageRecord], None],
        limit: asyncio.Timeout,
    ) -> TrialResult:
        async for reference in host.actor.run.options(num_returns="streaming").remote(parcel):
            kind, value = await reference
            try:
                match kind:
                    case "started":
                        ends = asyncio.get_running_loop().time() + order.total_seconds + GRACE + _SLACK
                        limit.reschedule(ends)
                    case "spend":
                        on_spend(decode_spending(value))
                    case "result":
                        result = receive_result(order, _get_field(value, "result"))
                        await self._keep_logs(value, order, result.session)
                        return result
                    case "refused":
                        raise _NodeRefuses(str(_get_field(value, "text")))
                    case _:
                        raise WorkerLost(str(value))
            except ValueError as error:
                raise WorkerLost(f"sent no result: {str(error)[:200]}") from None
        raise WorkerLost("ended without a result")

    async def _keep_logs(self, value: Mapping[str, Any], order: TrialOrder, session: str) -> None:
        """Fetch the logs of a trial. Without them its result counts all the same: it is paid for."""
        name, problem = value.get("logs", ""), str(value.get("logs_problem", ""))[:300]
        try:
            if name and not is_logs_name(name, order.key):
                raise UserError(Fault.CONFIGURATION, f"no artifact of this trial: {str(name)[:100]!r}")
            await asyncio.to_thread(self._fetch_logs, name, order.folders.sessions, session)
        except (UserError, OSError) as error:
            problem = str(error)
        if problem:
            self._on_notice(f"logs of a trial are lost: {problem}")

    def _fetch_logs(self, name: str, sessions: Path, session: str) -> None:
        """Move the logs of a trial from the artifacts to the store's sessions. session: of the trial, "" if unknown"""
        if not name:
            return
        sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=sessions, prefix=".coming-") as making:
            packed = Path(making, "packed.tgz")
            self._artifacts.get(name, packed)
            unpack_folder(packed, Path(making, "sessions"))
            take_sessions(Path(making, "sessions"), sessions, session, None)
        self._artifacts.remove(name)

    async def _take_host(self) -> _Host:
        """Return an idle actor, or start one on the node with the most free slots; waits until there is one."""
        patience = asyncio.get_running_loop().time() + _NODE_PATIENCE
        while True:
            self._changed.clear()
            if self._idle:
                return self._idle.pop()
            free = [each for each in self._nodes.values() if each.problem == "" and each.used < each.slots]
            if free:
                return self._start_host(max(free, key=lambda each: each.slots - each.used))
            able = any(each.problem == "" for each in self._nodes.values())
            asked = any(each.problem is None for each in self._nodes.values())
            late = asyncio.get_running_loop().time() > patience
            if not able and (late or (self._nodes and not asked)):
                raise self._describe_no_node()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._changed.wait()

    def _describe_no_node(self) -> UserError:
        told = "; ".join(f"{each.name}: {each.problem or 'no CPU'}" for each in self._nodes.values())
        return UserError(
            Fault.CONFIGURATION,
            f"no node of the cluster can run trials: {told or 'there is none'}",
            "Each node needs the same Patchwright, bubblewrap and enough CPUs (--cpus).",
        )

    def _start_host(self, node: _Node) -> _Host:
        host = _Host(node, start_trial_host(self._cluster, node.id, self._spec, self._options.cpus))
        node.used += 1
        self._hosts.add(host)
        return host

    def _refuse_node(self, host: _Host, problem: str) -> None:
        """Give a node no further trial; where every node refuses, the next trial says so for all of them."""
        if not host.node.problem:
            host.node.problem = problem
            self._on_notice(f"node {host.node.name} gets no trial: {problem}")
        for idle in [each for each in self._idle if each.node is host.node]:
            self._retire(idle)
        self._retire(host)

    def _give_back(self, host: _Host) -> None:
        if host.node.problem:
            self._retire(host)
            return
        self._idle.append(host)
        self._changed.set()

    def _retire(self, host: _Host) -> None:
        """End an actor with what it runs, in the background; its slot is free at once."""
        if host not in self._hosts:
            return
        self._hosts.discard(host)
        if host in self._idle:
            self._idle.remove(host)
        host.node.used -= 1
        self._changed.set()
        task = asyncio.create_task(self._end_host(host))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _end_host(self, host: _Host, *, removes_all: bool = False) -> None:
        with suppress(TimeoutError, *self._cluster.errors):
            async with asyncio.timeout(_END_SECONDS):
                await host.actor.close.remote(removes_all=removes_all)
        with suppress(*self._cluster.errors):
            self._cluster.kill(host.actor)

    async def _watch_nodes(self) -> None:
        """Notice nodes that come and go. A new one is asked whether it can run trials."""
        asking: set[asyncio.Task[None]] = set()
        try:
            while True:
                await asyncio.to_thread(self._look_for_nodes)
                for node in self._nodes.values():
                    if node.problem is None and not any(each.get_name() == node.id for each in asking):
                        asking.add(asyncio.create_task(self._ask_node(node), name=node.id))
                asking = {each for each in asking if not each.done()}
                self._changed.set()
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            for each in asking:
                each.cancel()

    def _look_for_nodes(self) -> None:
        alive = self._cluster.list_nodes()
        for gone in self._nodes.keys() - alive.keys():
            del self._nodes[gone]
        for id, values in alive.items():
            if id not in self._nodes:
                slots = int(values.get("Resources", {}).get("CPU", 0) // self._options.cpus)
                name = str(values.get("NodeManagerAddress") or values.get("NodeName") or id[:8])
                self._nodes[id] = _Node(id, name, slots, problem=None if slots else "too few CPUs")

    async def _ask_node(self, node: _Node) -> None:
        try:
            node.problem = await self._cluster.probe(node.id, self._options.sandbox, self._options.version)
        except self._cluster.errors as error:
            node.problem = f"it does not answer ({type(error).__name__})"
        if node.problem:
            self._on_notice(f"node {node.name} gets no trial: {node.problem}")
        self._changed.set()


def _get_field(message: object, name: str) -> object:
    """Return a field of a node's message. Raises ValueError."""
    if not isinstance(message, Mapping) or name not in message:
        raise ValueError(f"a message without {name!r}")
    return message[name]


def open_ray_executor(address: str, on_notice: Callable[[str], None], **options: Any) -> RayExecutor:
    """Return the executor of a run on a cluster. Raises UserError. options: the fields of `RayOptions`"""
    return RayExecutor(RayCluster.connect(address), RayOptions(**options), on_notice)
