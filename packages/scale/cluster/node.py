"""A node of a cluster: its variables, its folder of a run, and whether it can run sessions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from agent.app_dirs import Home
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

EXTRA = "Install it on this machine and on every node: pip install 'patchwright[ray]'"

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""Variables of the node that trials have; all others are those that the user names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """What a host is told. run: id; artifacts: URL; env: variables that the user named, with their values"""

    run: str
    artifacts: str
    env: Mapping[str, str] = field(repr=False)


def locate_run_folder(run: str) -> Path:
    """Return the folder of a run on this node, removed at its end."""
    return Home.from_environment().cache / "evaluation" / "ray" / run


def probe_node(sandbox: str, version: str) -> str:
    """Return why this node can run no trial, "" if it can.

    sandbox: as the settings name it; "auto" means bubblewrap here: a cluster runs what strangers wrote
    version: of the driver
    """
    from patchwright.version import VERSION
    from sandbox.backends.selection import AUTO, choose_sandbox

    if version != VERSION:
        return f"it has Patchwright {VERSION}, not {version}"
    with tempfile.TemporaryDirectory(prefix="patchwright-probe-") as folder:
        try:
            choose_sandbox(Path(folder), "bubblewrap" if sandbox == AUTO else sandbox)
        except UserError as error:
            return error.message
    return ""


def remove_run_files(run: str) -> None:
    """Remove all files of a run on this node."""
    shutil.rmtree(locate_run_folder(run), ignore_errors=True)
