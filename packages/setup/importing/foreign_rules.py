"""Permission rules of other agents as rules of ours."""

from __future__ import annotations

from packages.setup.importing.import_plan import ImportPlan
from sandbox.errors import UserError
from sandbox.policy.rules import Permission, parse_rule
from tools.builtin_tools import NAMES
from tools.core.tool_names import ToolGrant, parse_grant


def add_rule(plan: ImportPlan, text: str, verdict: Permission, source: str) -> None:
    """Take a rule such as `Bash(git:*)`, `Read(./.env)`, `WebFetch(domain:pypi.org)` or `mcp__server__tool`."""
    try:
        rule = _translate_rule(text, verdict)
        parse_rule(rule, verdict)
    except ValueError as error:
        plan.left.append(f"{source}: {verdict} {text}: {error}")
    except UserError as error:
        plan.left.append(f"{source}: {verdict} {text}: {error.message}")
    else:
        plan.add_to_list(f"permissions.{verdict}", rule)


def _translate_rule(text: str, verdict: Permission) -> str:
    """Return our rule. Raises ValueError that says why there is none."""
    if text.startswith("WebFetch(domain:"):
        return f"network({text.removeprefix('WebFetch(domain:').removesuffix(')')})"
    grant = parse_grant(text, NAMES)
    if text.startswith("mcp__"):
        server, _, tool = text.removeprefix("mcp__").partition("__")
        return f"mcp({server}.{tool or '*'})"
    if grant.agents:
        raise ValueError("agents are limited in their own files, by `tools` and `disallowedTools`")
    if grant.scope is not None:
        return f"{grant.scope}({_complete_pattern(grant)})"
    if verdict == "allow":
        raise ValueError("a whole tool is not allowed by a rule; the mode decides (see docs/permissions.md)")
    whole = {"shell": "shell(*)", "edit": "edit(**)", "write": "edit(**)", "read": "read(**)"}
    whole["web_fetch"] = "network(*)"
    for tool in grant.tools:
        if tool in whole:
            return whole[tool]
    raise ValueError("there is no such tool here" if not grant.tools else "it has no kind of rule")


def _complete_pattern(grant: ToolGrant) -> str:
    """Return a pattern that means the same here: a command's first words, a file at the top only."""
    if grant.scope != "shell":
        at_top = "(./" in grant.written or ("(/" in grant.written and "(//" not in grant.written)
        return f"./{grant.pattern}" if at_top and "/" not in grant.pattern else grant.pattern
    if grant.pattern.endswith("*"):
        return grant.pattern
    prefix = grant.written.startswith("run_shell_command")  # of Gemini: a prefix
    return f"{grant.pattern} *" if prefix else grant.pattern
