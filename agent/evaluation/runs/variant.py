"""What is measured: a model with its strategy, settings and instructions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.policy.decision import Approval

SCRIPTED = "scripted:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One column of a table.

    label: unique in a run; settings: of its sessions, with the model's name, in which `{task}` and `{trial}` are
        replaced (a scripted model has a file for each task)
    instructions: added to the system prompt
    """

    label: str
    settings: SessionSettings
    instructions: str = ""

    def build_settings(self, task: str, trial: int) -> SessionSettings:
        """Return the settings of one trial."""
        return replace(self.settings, model=expand_model(self.settings.model, task, trial))


def make_variant(label: str, settings: SessionSettings, instructions: str = "") -> Variant:
    """Return a variant whose sessions ask nobody and commit nothing. A script is found from here on, wherever a trial
    runs."""
    access = replace(settings.access, approval=Approval.NEVER)
    model = settings.model
    if model.startswith(SCRIPTED):
        model = f"{SCRIPTED}{Path(model.removeprefix(SCRIPTED)).absolute()}"
    return Variant(
        label=label,
        settings=replace(settings, model=model, access=access, commit="never"),
        instructions=instructions.strip(),
    )


def expand_model(model: str, task: str, trial: int) -> str:
    """Return a model's name for one trial."""
    return model.replace("{task}", task).replace("{trial}", str(trial + 1))


def compute_trial_key(variant: Variant, task: str, digest: str, trial: int, version: str, seed: int) -> str:
    """Return the content address of a trial's result: equal for equal work, in hex.

    digest: of the task; seed: of the run, another one draws new results
    A scripted model counts by the content of its file, wherever that is. Raises UserError if there is no such file.
    """
    settings = variant.build_settings(task, trial)
    script = ""
    if settings.model.startswith(SCRIPTED):
        script = _compute_script_digest(Path(settings.model.removeprefix(SCRIPTED)))
        settings = replace(settings, model=SCRIPTED)
    decisive = asdict(settings)
    del decisive["models"]["limits"]  # they change when a call is sent, not which
    parts = [digest, trial, seed, version, script, variant.instructions, decisive]
    content = json.dumps(parts, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


def _compute_script_digest(path: Path) -> str:
    content = read_regular_file(path, SOURCE)
    if content is None:
        raise UserError(
            Fault.CONFIGURATION,
            f"no script for this model: {str(path)!r}",
            "In the model's name, {task} becomes the task's name and {trial} the trial's number.",
        )
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolders:
    """Folders of a run.

    home: the user's; scratch: for bases and worktrees, removed at the end; sessions: logs of the trials
    """

    home: Home
    scratch: Path
    sessions: Path
