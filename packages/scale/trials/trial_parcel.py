"""An order with its files, packed for a node that sees none of the driver's folders, and unpacked there."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from packages.evaluation.runs.base_repository import prepare_base
from packages.evaluation.runs.trial_order import TrialOrder, decode_order
from packages.evaluation.runs.variant import SCRIPTED
from packages.evaluation.tasks.folder_files import list_folder_files
from packages.evaluation.tasks.task_folder import Task, load_task
from packages.scale.cluster.archives import pack_folder, unpack_folder
from packages.scale.trials.artifact_store import ArtifactStore
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.regular_file import SOURCE, read_regular_file


class ParcelPacker:
    """Packs the orders of a run. What several trials share travels once."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts
        self._tasks: dict[str, dict[str, str]] = {}

    def pack(self, order: TrialOrder) -> dict[str, Any]:
        """Return an order as data, after its files are in the artifact store. Blocking. Raises UserError."""
        files = self._tasks.get(order.digest)
        if files is None:
            files = self._tasks[order.digest] = self._pack_task(load_task(order.folder), order)
        return {**order.encode(), "files": {**files, **self._pack_script(order.settings.model)}}

    def _pack_task(self, task: Task, order: TrialOrder) -> dict[str, str]:
        name = f"tasks/{task.digest}.tgz"
        if not self._artifacts.has(name):
            files = [each.path for each in list_folder_files(task.folder)]
            self._put_tar(name, task.folder, order.folders.scratch, files)
        if not task.file.base.repository:
            return {"task": name}
        base = f"bases/{task.digest}.tgz"
        if not self._artifacts.has(base):
            self._put_tar(base, prepare_base(task, order.folders.scratch), order.folders.scratch)
        return {"task": name, "base": base}

    def _pack_script(self, model: str) -> dict[str, str]:
        """Return the script of a scripted model, which is a file, too."""
        if not model.startswith(SCRIPTED):
            return {}
        path = Path(model.removeprefix(SCRIPTED))
        content = read_regular_file(path, SOURCE)
        if content is None:
            raise UserError(Fault.CONFIGURATION, f"no script for this model: {str(path)!r}")
        name = f"scripts/{hashlib.sha256(content).hexdigest()}{path.suffix}"
        if name not in self._tasks:
            if not self._artifacts.has(name):
                self._artifacts.put(name, path)
            self._tasks[name] = {}
        return {"script": name}

    def _put_tar(self, name: str, folder: Path, scratch: Path, files: list[str] | None = None) -> None:
        create_private_folder(scratch)
        with tempfile.TemporaryDirectory(dir=scratch, prefix=".pack-") as making:
            packed = Path(making, "packed.tgz")
            pack_folder(folder, packed, files)
            self._artifacts.put(name, packed)


class ParcelUnpacker:
    """Unpacks orders on a node.

    root: folder that the trials of a run share there: tasks and bases are fetched once
    own: folder of the worker's trials: one that was killed may still end while its successor begins elsewhere
    """

    def __init__(self, artifacts: ArtifactStore, root: Path, own: Path) -> None:
        self._artifacts = artifacts
        self._root = root
        self._own = own
        create_private_folder(root / "bases")
        create_private_folder(own / "scratch")
        (own / "scratch" / "bases").symlink_to(root / "bases")

    def unpack(self, values: Mapping[str, Any], sessions: Path) -> TrialOrder:
        """Return the order with folders of this node. Blocking. Raises UserError.

        sessions: folder of the logs
        """
        files = values["files"]
        order = decode_order(values)
        folder = self._fetch_folder(files["task"], self._root / "tasks" / order.digest / order.task)
        if "base" in files:
            self._fetch_folder(files["base"], self._root / "bases" / order.digest)
        home = Home(data=self._own / "data", config=self._own / "config", cache=self._root / "cache")
        folders = replace(order.folders, home=home, scratch=self._own / "scratch", sessions=sessions)
        settings = order.settings
        if "script" in files:
            settings = replace(settings, model=f"{SCRIPTED}{self._fetch_file(files['script'])}")
        return replace(order, folder=folder, folders=folders, settings=settings)

    def _fetch_folder(self, name: str, ready: Path) -> Path:
        """Return a folder with the content of an archive; another trial of this node may have made it."""
        if ready.is_dir():
            return ready
        create_private_folder(ready.parent)
        making = Path(tempfile.mkdtemp(prefix=".coming-", dir=ready.parent))
        try:
            packed = making / "packed.tgz"
            self._artifacts.get(name, packed)
            unpack_folder(packed, making / "content")
            with suppress(OSError):  # another one was faster
                (making / "content").rename(ready)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return ready

    def _fetch_file(self, name: str) -> Path:
        ready = self._root / name
        if not ready.exists():
            create_private_folder(ready.parent)
            with tempfile.TemporaryDirectory(dir=ready.parent, prefix=".coming-") as making:
                coming = Path(making, ready.name)
                self._artifacts.get(name, coming)
                coming.replace(ready)
        return ready


def name_logs(key: str, id: str) -> str:
    """Return the name of the artifact with the logs of a trial. id: hexadecimal, of this start of it"""
    return f"sessions/{key[:16]}-{id}.tgz"


def is_logs_name(name: object, key: str) -> bool:
    """Whether a node's answer names logs of this trial: a name is a path, and what is fetched is removed afterwards."""
    id = re.search(r"-([0-9a-f]{32})\.tgz\Z", name) if isinstance(name, str) else None
    return id is not None and name == name_logs(key, id[1])
