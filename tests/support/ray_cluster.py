"""A Ray cluster of two nodes on this machine, with files in a private folder, that ends with all its processes."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NODE = {"num_cpus": 2, "object_store_memory": 80 << 20}

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "500",
    # What else is on a machine ends no test: workers that start slowly, memory and disks that others fill.
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_local_fs_capacity_threshold": "0.999",
}

_END_SECONDS = 60.0
"""For the processes of a cluster to end: they are killed, and a busy machine takes long to notice."""


@contextmanager
def start_cluster(env: Mapping[str, str], nodes: int = 2) -> Iterator[Any]:
    """Start a head without CPUs, for the driver alone, and nodes. env: of their processes, added to ours"""
    from ray.cluster_utils import Cluster

    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))  # a socket's path has at most 107 bytes
    (folder / "ray").mkdir()
    before = dict(os.environ)
    others = set(list_descendants())
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        del os.environ[name]  # of a cluster of the caller's
    os.environ.update({**_ENVIRONMENT, **env, "RAY_TMPDIR": str(folder)})
    cluster = Cluster(
        initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False}
    )
    try:
        for _ in range(nodes):
            cluster.add_node(**NODE)
        yield cluster
    finally:
        ours = set(list_descendants()) - others
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)
    deadline = time.monotonic() + _END_SECONDS
    while left := [each for each in ours if read_command(each).startswith((b"ray::", b"raylet"))]:
        assert time.monotonic() < deadline, f"processes of Ray are left: {left}"
        time.sleep(0.05)


def kill_node(cluster: Any, node: str) -> None:
    """End a node as a machine ends that loses its power: all its processes at once, those of its workers included.

    Ray itself asks a node to end and waits for a second, in which a trial on a quiet machine ends well.
    """
    found = next(each for each in cluster.worker_nodes if each.node_id == node)
    own = [each.process.pid for kind in found.all_processes.values() for each in kind]
    for pid in [*own, *(each for one in own for each in list_descendants(one))]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    cluster.remove_node(found, allow_graceful=False)


def kill_trial_actors() -> None:
    """Kill all processes of Ray that run trials."""
    for pid in list_trial_actors():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def list_trial_actors() -> list[int]:
    """Return the processes of Ray that run trials."""
    return [each for each in list_descendants() if read_command(each).startswith(b"ray::TrialActor")]


def list_descendants(root: int | None = None) -> list[int]:
    """Return all processes below one, by default this one."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            try:
                fields = (each / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(each.name)] = int(fields[1])
    found = [root or os.getpid()]
    for pid in found:
        found += [each for each, parent in parents.items() if parent == pid]
    return found[1:]


def read_command(pid: int) -> bytes:
    """Return the command line of a process, empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
