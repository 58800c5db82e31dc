"""What users set up for aider: `.aider.conf.yml` of their home folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.model.model_settings import EFFORTS
from packages.setup.importing.import_plan import ImportPlan
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file

FILE = ".aider.conf.yml"

_KEYS = ("openai-api-key", "anthropic-api-key", "api-key")

_EXPLAINED = {
    "read": "files that are always read: name them in AGENTS.md",
    "lint-cmd": "the project's own linters are found; `edit.lint` and `verify.lint` use them",
    "yes-always": "set `approval`, or `mode` to full, yourself",
    "edit-format": "edit formats are chosen by the model's family; `edit.formats` sets them",
    "editor-model": "one model plans and edits; `models.plan` leads a turn",
}
"""Options for which there is something else here."""


def read_aider(root: Path) -> ImportPlan:
    """Return what can be taken over. A project's file is only named: its options are not those of all projects."""
    plan = ImportPlan()
    path = Path("~").expanduser() / FILE
    _add_options(plan, _read_yaml(path, plan), str(path))
    if root != path.parent and (root / FILE).is_file():
        plan.left.append(
            f"{FILE} of this project: write its test command into patchwright.toml: [tests] command"
        )
    return plan


def _add_options(plan: ImportPlan, given: dict[str, Any], source: str) -> None:
    for name, value in given.items():
        if name == "model":
            plan.set_model("model", value, source)
        elif name == "weak-model":
            plan.set_model("models.fast", value, source)
        elif name in _SIMPLE:
            if (setting := _SIMPLE[name](value)) is not None:
                plan.set_value(*setting)
        elif name in _KEYS:
            plan.left.append(f"{source}: {name}: keys are not copied; export it as a variable")
        else:
            plan.left.append(f"{source}: {name}: {_EXPLAINED.get(name, 'there is nothing like it here')}")


def _read_yaml(path: Path, plan: ImportPlan) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(read_regular_file(path, SETTINGS) or b"")
    except UserError as error:
        plan.left.append(error.message)
        return {}
    except (yaml.YAMLError, ValueError, RecursionError):
        plan.left.append(f"{path}: it is no YAML")
        return {}
    return (
        {str(key).replace("_", "-"): value for key, value in found.items()} if isinstance(found, dict) else {}
    )


_SIMPLE: dict[str, Callable[[Any], tuple[str, object] | None]] = {
    "openai-api-base": lambda value: ("api_base", str(value)),
    "test-cmd": lambda value: ("tests.command", str(value)) if value else None,
    "auto-commits": lambda value: ("commit", "never") if value is False else None,
    "vim": lambda value: ("terminal.editing", "vi") if value is True else None,
    "dark-mode": lambda value: ("terminal.theme", "dark") if value is True else None,
    "light-mode": lambda value: ("terminal.theme", "light") if value is True else None,
    "notifications": lambda value: ("terminal.notify", "bell" if value else "off"),
    "reasoning-effort": lambda value: ("models.effort", value) if value in EFFORTS else None,
}
"""Options that are one setting here, with its value; None where the value is the default."""
