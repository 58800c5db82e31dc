"""The far end of a Ray run: one actor of a node, which runs one trial at a time in a worker process of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from agent.app_dirs import make_private_folder
from agent.events import UsageRecord
from packages.evaluation.executors.executor import WorkerLost
from packages.evaluation.executors.local_executor import LocalExecutor
from packages.evaluation.runs.trial_order import TrialOrder
from packages.scale.cluster.archives import pack_folder
from packages.scale.cluster.node import PASSED_ON, HostSpec, locate_run_folder
from packages.scale.trials.artifact_store import ArtifactStore
from packages.scale.trials.trial_parcel import ParcelUnpacker, name_logs
from sandbox.errors import UserError


class TrialHost:
    """Runs trials for a driver on another machine. Its messages are pairs of a kind and plain data."""

    def __init__(self, spec: HostSpec) -> None:
        self._run_folder = make_private_folder(locate_run_folder(spec.run))
        self._root = make_private_folder(self._run_folder / "hosts" / uuid.uuid4().hex)
        os.environ.update(spec.env)  # the artifact store may need a key of them
        self._artifacts = ArtifactStore(spec.artifacts)
        self._unpacker = ParcelUnpacker(self._artifacts, self._run_folder, self._root)
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._executor = LocalExecutor(1, self._root, env={**kept, **spec.env})
        self._leasing: asyncio.Task[None] | None = None

    async def run(self, values: Mapping[str, Any]) -> AsyncIterator[tuple[str, Any]]:
        """Run one trial. Yields "started", "spend" for each call of a model, last "result", "lost" or "refused"."""
        messages: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        running = asyncio.create_task(self._run_trial(values, messages))
        try:
            while True:
                kind, value = await messages.get()
                yield kind, value
                if kind not in ("started", "spend"):
                    return
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def close(self, *, removes_all: bool) -> None:
        """End the trial that runs, and remove its files. removes_all: those of the whole run on this node, too"""
        await self._executor.close()
        if self._leasing is not None:
            self._leasing.cancel()
            await asyncio.gather(self._leasing, return_exceptions=True)
        folder = self._run_folder if removes_all else self._root
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _run_trial(self, values: Mapping[str, Any], messages: asyncio.Queue[tuple[str, Any]]) -> None:
        def report(usage: UsageRecord) -> None:
            messages.put_nowait(("spend", vars(usage)))

        own = self._root / "sessions" / uuid.uuid4().hex
        try:
            order = await asyncio.to_thread(self._unpacker.unpack, values, own)
            if order.settings.models.limits:
                self._lease_calls(order.folders.home.cache)
            messages.put_nowait(("started", None))
            result = await self._executor.run(order, report)
            logs, problem = "", ""
            try:
                logs = await asyncio.to_thread(self._store_logs, order)
            except (UserError, OSError) as error:  # the result is paid for: it counts without its logs
                problem = str(error)
            messages.put_nowait(
                ("result", {"result": result.encode(), "logs": logs, "logs_problem": problem})
            )
        except WorkerLost as lost:
            messages.put_nowait(("lost", str(lost)))
        except UserError as error:
            messages.put_nowait(
                ("refused", {"fault": error.fault, "text": error.message, "hint": error.hint})
            )
        except Exception as error:  # a defect here must end the trial, not leave the driver waiting
            messages.put_nowait(("lost", f"failed: {type(error).__name__}: {error}"[:300]))
        finally:
            await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)

    def _lease_calls(self, cache_folder: Path) -> None:
        """Let the trials of this run on this node lease their calls of models from the cluster."""
        from packages.scale.cluster.ray_rates import prepare_node, serve_node

        prepare_node(cache_folder)
        if self._leasing is None or self._leasing.done():
            self._leasing = asyncio.create_task(serve_node(cache_folder))

    def _store_logs(self, order: TrialOrder) -> str:
        """Send the logs of a trial's sessions; return the artifact's name, "" if there are none."""
        sessions = order.folders.sessions
        if not sessions.is_dir():
            return ""
        name = name_logs(order.key, sessions.name)
        with tempfile.TemporaryDirectory(dir=self._root, prefix=".pack-") as making:
            packed = Path(making, "packed.tgz")
            pack_folder(sessions, packed)
            self._artifacts.put(name, packed)
        return name
