"""Parts for tests of evaluations: small tasks, scripts of models, orders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.variant import RunFolders
from packages.evaluation.tasks.task_file import TaskFile
from packages.evaluation.tasks.task_folder import Task
from packages.evaluation.tasks.task_writer import TaskDraft, write_task
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval

BROKEN = b"def add(a, b):\n    return a - b\n"
CHECKER = b"""\
import subprocess
import sys

PROGRAM = "import sys; sys.path.append('.'); from add import add; print(repr([add(1, 2), add(0, 0)]))"
assert subprocess.check_output([sys.executable, "-I", "-c", PROGRAM]) == b"[3, 0]\\n"
"""

FIX = b"""--- a/add.py
+++ b/add.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
WRONG = FIX.replace(b"a + b", b"a * b")

EDIT = {"tool": "edit", "arguments": {"path": "add.py", "old": "a - b", "new": "a + b"}}
"""Call that solves `add`."""


def make_task(folder: Path, **fields: Any) -> Task:
    """Write the task `add`; fields: of `task.toml`, or of the draft."""
    draft = {
        name: fields.pop(name)
        for name in ("reference", "failures", "checker_files", "base_files", "other_files")
        if name in fields
    }
    file = TaskFile.model_validate({"base": {"folder": "repo"}, "check": '"$PYTHON" -I check.py', **fields})
    parts: dict[str, Any] = {
        "reference": FIX,
        "failures": {"product.patch": WRONG},
        "checker_files": {"check.py": CHECKER},
        "base_files": {"add.py": BROKEN} if file.base.folder else {},
    }
    return write_task(folder, TaskDraft(file=file, prompt="Fix add.", **{**parts, **draft}))


def write_script(path: Path, turns: Sequence[Mapping[str, Any]]) -> str:
    """Write a scripted model; return its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"turns": list(turns)}))
    return f"scripted:{path}"


def make_home(folder: Path) -> Home:
    return Home(data=folder / "data", config=folder / "config", cache=folder / "cache")


def make_order(task: Task, model: str, folder: Path, **fields: Any) -> TrialOrder:
    """Return an order of a task's first trial; everything is below `folder`."""
    home = make_home(folder)
    settings = SessionSettings(model=model, access=AccessSettings(approval=Approval.NEVER), commit="never")
    values: dict[str, Any] = {
        "key": "0123456789abcdef" * 4,
        "label": "scripted",
        "task": task.name,
        "trial": 0,
        "folder": task.folder,
        "digest": task.digest,
        "settings": settings,
        "instructions": "",
        "folders": RunFolders(home=home, scratch=home.cache / "evaluation", sessions=home.data / "sessions"),
        "version": "1",
        "max_cost": None,
        "total_seconds": 100.0,
    }
    return TrialOrder(**{**values, **fields})
