"""What is measured: a model with its strategy, settings and instructions."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from agent.app_dirs import Home
from agent.model_selection import ModelSelection
from agent.session_settings import SessionSettings
from packages.evaluation.runs.user_parts import compute_user_digest
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval

SCRIPTED = "scripted:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One column of a table.

    label: unique in a run; settings: of its sessions, with the model's name, in which `{task}` and `{trial}` are
        replaced (a scripted model has a file for each task)
    instructions: added to the system prompt
    models: what the names of models in the settings mean here, the main one first
    user_parts: digest of the user's own files that its sessions see, "" without any
    """

    label: str
    settings: SessionSettings
    instructions: str = ""
    models: tuple[str, ...]
    user_parts: str = ""

    def build_settings(self, task: str, trial: int) -> SessionSettings:
        """Return the settings of one trial."""
        return replace(self.settings, model=expand_model(self.settings.model, task, trial))


def make_variant(
    label: str,
    settings: SessionSettings,
    instructions: str = "",
    *,
    home: Home | None = None,
    env: Mapping[str, str] = os.environ,
    sees_user_files: bool = True,
) -> Variant:
    """Return a variant whose sessions ask nobody, commit nothing and make their attempts where they run themselves. A
    script is found from here on, wherever a trial runs, and a default model is named.

    home, env: the user's files, None for those of this process, and the variables with keys and addresses of models
    sees_user_files: its trials run where the user's agents and skills are, not on nodes of a cluster; there no MCP
        server is started either, and the command lines of these, which may hold secrets, do not leave this machine
    """
    home = home or Home.from_environment()
    if not sees_user_files:
        settings = replace(settings, tools=replace(settings.tools, mcp={}))
    access = replace(settings.access, approval=Approval.NEVER)
    strategy = replace(settings.strategy, ray="", ray_env=[])
    selection = ModelSelection(settings=settings, env=env, cache=home.lasting_cache)
    model = selection.main_name
    if model.startswith(SCRIPTED):
        model = f"{SCRIPTED}{Path(model.removeprefix(SCRIPTED)).absolute()}"
    return Variant(
        label=label,
        settings=replace(settings, model=model, access=access, strategy=strategy, commit="never"),
        instructions=instructions.strip(),
        models=selection.identify_models(),
        user_parts=compute_user_digest(home) if sees_user_files else "",
    )


def expand_model(model: str, task: str, trial: int) -> str:
    """Return a model's name for one trial."""
    return model.replace("{task}", task).replace("{trial}", str(trial + 1))


def compute_trial_key(variant: Variant, task: str, digest: str, trial: int, version: str, seed: int) -> str:
    """Return the content address of a trial's result: equal for equal work, in hex.

    digest: of the task; seed: of the run, another one draws new results
    A scripted model counts by the content of its file, wherever that is, another one by provider, name and address.
    Raises UserError if there is no such file.
    """
    settings = variant.build_settings(task, trial)
    script, models = "", [expand_model(each, task, trial) for each in variant.models]
    if settings.model.startswith(SCRIPTED):
        script = compute_script_digest(Path(settings.model.removeprefix(SCRIPTED)))
        models[0] = ""
    decisive = asdict(replace(settings, model=""))
    del decisive["models"]["limits"]  # they change when a call is sent, not which
    parts = [
        *(digest, trial, seed, version, script, variant.instructions),
        *(models, variant.user_parts, decisive),
    ]
    content = json.dumps(parts, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


def compute_script_digest(path: Path) -> str:
    """Return the digest of a scripted model's file. Raises UserError if there is none."""
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
