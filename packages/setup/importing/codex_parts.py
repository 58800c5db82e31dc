"""What users set up for Codex beside its settings: rules on commands, hooks and agents."""

from __future__ import annotations

import ast
import itertools
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.model.model_settings import EFFORTS
from packages.setup.importing.foreign_rules import add_rule
from packages.setup.importing.hook_import import add_foreign_hooks
from packages.setup.importing.import_plan import ImportPlan, get_table, read_json
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.parsed_data import parse_toml
from sandbox.policy.rules import Permission

_DECISIONS: Mapping[str, Permission] = {"allow": "allow", "prompt": "ask", "forbidden": "deny"}
_PREFIX_FIELDS = {"pattern", "decision", "justification", "match", "not_match"}
_AGENT_FIELDS = {"name", "description", "developer_instructions", "model_reasoning_effort", "sandbox_mode"}


def read_toml(path: Path, plan: ImportPlan) -> dict[str, Any]:
    """Return a TOML file's table, {} if there is none, or none that can be read, which the plan then tells."""
    try:
        return parse_toml((read_regular_file(path, SETTINGS) or b"").decode("utf-8"))
    except UserError as error:
        plan.left.append(error.message)
    except ValueError as error:
        plan.left.append(f"{path}: it is no TOML: {error}")
    return {}


def add_command_rules(plan: ImportPlan, folder: Path) -> None:
    """Take the rules `prefix_rule(…)` of files in Starlark, which is read and not run."""
    for path in sorted(folder.glob("*.rules")):
        try:
            tree = ast.parse((read_regular_file(path, SETTINGS) or b"").decode("utf-8"))
        except UserError as error:
            plan.left.append(error.message)
            continue
        except (SyntaxError, ValueError, RecursionError) as error:
            plan.left.append(f"{path}: its rules are not taken: they cannot be read: {error}")
            continue
        for node in tree.body:
            try:
                verdict, commands = _read_prefix_rule(node)
            except ValueError as error:
                plan.left.append(f"{path}:{node.lineno}: a rule is not taken: {error}")
                continue
            for command in commands:
                add_rule(plan, f"Bash({command}:*)", verdict, str(path))


def _read_prefix_rule(node: ast.stmt) -> tuple[Permission, Iterator[str]]:
    """Return a rule's verdict, and the beginnings of command lines that it is for. Raises ValueError."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "prefix_rule":
        raise ValueError(f"only `prefix_rule(…)` is: {ast.unparse(node)[:60]}")
    given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    if call.args or not set(given) <= _PREFIX_FIELDS:
        raise ValueError("it has other fields than those of `prefix_rule`")
    verdict = _DECISIONS.get(given.get("decision", "allow"))
    pattern = given.get("pattern")
    if verdict is None or not isinstance(pattern, list) or not pattern:
        raise ValueError("it has no `pattern`, or a `decision` that is none")
    words = [each if isinstance(each, list) else [each] for each in pattern]
    return verdict, (shlex.join(map(str, each)) for each in itertools.product(*words))


def add_hook_files(plan: ImportPlan, folder: Path, settings: Mapping[str, Any]) -> None:
    """Take the hooks of `hooks.json`; name those of the settings, and leave off what is switched off."""
    path, features = folder / "hooks.json", get_table(settings, "features")
    inline = get_table(settings, "hooks")
    if unread := sorted(set(inline) - {"state"}):
        plan.left.append(
            f"{folder / 'config.toml'}: hooks: write them into {path} first: {', '.join(unread)}"
        )
    if not path.is_file():
        return
    if any(features.get(name, True) is not True for name in ("hooks", "codex_hooks")):
        plan.left.append(f"{path}: its hooks are switched off by `features`")
    elif any(each.get("enabled", True) is not True for each in _list_tables(inline.get("state"))):
        plan.left.append(f"{path}: not taken: some of its hooks are switched off by `hooks.state`")
    else:
        add_foreign_hooks(plan, "codex", read_json(path, plan), str(path), folder)


def _list_tables(table: object) -> list[Mapping[str, Any]]:
    return (
        [each for each in table.values() if isinstance(each, Mapping)] if isinstance(table, Mapping) else []
    )


def add_agents(plan: ImportPlan, folder: Path) -> None:
    """Take agents, which are TOML there, as Markdown."""
    for path in sorted(folder.glob("*.toml")):
        given = read_toml(path, plan)
        name, instructions = str(given.get("name") or path.stem), given.get("developer_instructions")
        if not isinstance(instructions, str) or not given.get("description"):
            plan.left.append(f"{path}: it is no agent: it needs `description` and `developer_instructions`")
            continue
        head = {"name": name, "description": str(given["description"])}
        if given.get("sandbox_mode") == "read-only":
            head["permissionMode"] = "plan"
        elif "sandbox_mode" in given:
            plan.left.append(f"{path}: sandbox_mode: an agent has at most the rights of its session")
        if (effort := given.get("model_reasoning_effort")) in EFFORTS:
            head["effort"] = str(effort)
        plan.leave_unknown(given, _AGENT_FIELDS, str(path))
        lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
        text = "\n".join(["---", *lines, "---", "", instructions.strip(), ""])
        plan.files[f"agents/{path.stem}.md"] = text.encode()
