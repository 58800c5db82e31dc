"""A Ray cluster: the connection, its nodes, and the actors on them."""

from __future__ import annotations

import importlib
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import Any

from packages.scale.cluster.node import EXTRA, HostSpec
from packages.scale.cluster.ray_rates import NAMESPACE
from sandbox.errors import Fault, UserError

AUTO = "auto"
"""Address of the cluster that this machine belongs to."""

_CONNECT_SECONDS = 5.0
"""For the head to answer: Ray itself waits for a minute."""


class RayCluster:
    """Connection of this process to a cluster, which some other process has started. There is one at a time."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._redirection = ExitStack()
        # Ray prints each death of a worker to standard output, which belongs to the report.
        self._redirection.enter_context(redirect_stdout(sys.stderr))

    @classmethod
    def connect(cls, address: str) -> RayCluster:
        """Join a cluster as its driver. Raises UserError: no Ray, or no cluster there."""
        try:
            ray = importlib.import_module("ray")
        except ImportError:
            raise UserError(Fault.CONFIGURATION, "--ray needs Ray, which is not installed", EXTRA) from None
        _check_address(address)
        try:
            with _enter_empty_folder():
                ray.init(
                    address=address,
                    namespace=NAMESPACE,
                    log_to_driver=False,
                    configure_logging=False,
                    logging_level="error",
                )
        except (ConnectionError, RuntimeError, ValueError, AssertionError, OSError) as error:
            raise _describe_missing_cluster(address, str(error)) from None
        return cls(ray)

    def close(self) -> None:
        """Leave the cluster; what runs there for us ends."""
        self._ray.shutdown()
        self._redirection.close()

    def list_nodes(self) -> dict[str, dict[str, Any]]:
        """Return the nodes that are alive, by id. Blocking."""
        return {each["NodeID"]: each for each in self._ray.nodes() if each["Alive"]}

    def probe(self, node: str, sandbox: str, version: str) -> Any:
        """Ask a node whether it can run sessions; returns a reference to the reason why not, "" if it can."""

        def probe() -> str:
            try:
                importlib.import_module("patchwright.launcher").open_floors()
            except ImportError:
                return "Patchwright is not installed there"
            from packages.scale.cluster.node import probe_node

            return probe_node(sandbox, version)

        return self._run_on(node, probe)

    def remove_files(self, node: str, run: str) -> Any:
        """Remove the files of a run from a node; returns a reference to the end of it."""

        def remove() -> None:
            importlib.import_module("patchwright.launcher").open_floors()
            from packages.scale.cluster.node import remove_run_files

            remove_run_files(run)

        return self._run_on(node, remove)

    def start_actor(self, actor: type, node: str, spec: HostSpec, *, cpus: float, concurrency: int) -> Any:
        """Start an actor on a node. It is not started again: the driver decides that.

        actor: a class made in a function, so that it is sent as code: a node imports nothing of ours before its floors
            are open
        """
        options = {"num_cpus": cpus, "max_restarts": 0, "max_task_retries": 0, "max_concurrency": concurrency}
        started = self._ray.remote(actor).options(**options, scheduling_strategy=self._bind_to(node))
        return started.remote({"run": spec.run, "artifacts": spec.artifacts, "env": dict(spec.env)})

    def store_bytes(self, content: bytes) -> Any:
        """Store bytes once for all nodes; returns a reference, as which an actor takes them."""
        return self._ray.put(content)

    def kill(self, actor: Any) -> None:
        """End an actor at once; no result of it comes any more."""
        self._ray.kill(actor)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions for actors and tasks whose process or node is gone."""
        return (self._ray.exceptions.RayError,)

    def has_run_out_of_memory(self, error: Exception) -> bool:
        """Whether Ray ended an actor since its node had no memory left: its trial may be the cause."""
        # Ray names the OOM killer as a common cause of every death; its own kills have these words.
        told = str(error)
        by_ray = "NODE_OUT_OF_MEMORY" in told or "running low on memory" in told
        return by_ray or isinstance(error, self._ray.exceptions.OutOfMemoryError)

    def _run_on(self, node: str, function: Any) -> Any:
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": self._bind_to(node)}
        return self._ray.remote(function).options(**options).remote()

    def _bind_to(self, node: str) -> Any:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        return strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _check_address(address: str) -> None:
    if address.startswith("ray://"):
        raise UserError(
            Fault.USAGE,
            f"--ray {address!r}: a run does not work through Ray's client",
            "Start it on a node of the cluster: --ray auto",
        )
    host, colon, port = address.rpartition(":")
    if address == AUTO:
        return
    if not (colon and port.isdecimal()):
        raise UserError(Fault.USAGE, f"--ray {address!r}: not an address", "Give auto, or HOST:PORT.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _describe_missing_cluster(address, str(error)) from None


def _describe_missing_cluster(address: str, reason: str) -> UserError:
    told = " ".join(reason.split()).split(". ")[0][:150]
    return UserError(
        Fault.CONFIGURATION,
        f"no Ray cluster at {address!r}: {told}",
        "Start one: ray start --head, and on each other machine ray start --address HEAD:6379",
    )


@contextmanager
def _enter_empty_folder() -> Iterator[None]:
    """Be elsewhere meanwhile: Ray puts the driver's folder on the import path of all workers, and the present one may
    be a stranger's repository."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with tempfile.TemporaryDirectory(prefix="patchwright-ray-") as empty:
            os.chdir(empty)
            try:
                yield
            finally:
                os.fchdir(before)
    finally:
        os.close(before)
