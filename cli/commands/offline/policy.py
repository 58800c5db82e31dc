"""`patchwright policy check`: effects of a command, the verdict on it, and the rule or reason behind it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import ApprovalOption, Folder, Mode, Sandbox, collect_flags
from sandbox.sanitize import sanitize_for_approval, sanitize_text

if TYPE_CHECKING:
    from sandbox.policy.decision import Decision, Policy
    from sandbox.policy.effects import Effect
    from sandbox.policy.shell import Segment


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(policy_app, name="policy")
    policy_app.command()(check)


policy_app = typer.Typer(
    rich_markup_mode=None, help="Check a command against the policy.", no_args_is_help=True
)


def check(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="A shell command, as one argument.")],
    folder: Folder = Path("."),
    mode: Mode = None,
    sandbox: Sandbox = None,
    approval: Annotated[
        ApprovalOption | None,
        typer.Option("--approval", help="Approval policy; as in a session if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Explain a command's effects and whether it is allowed.

    It is not run. Exit 0 if allowed without approval, 5 if not.
    """
    flags = collect_flags(mode=mode, sandbox=sandbox, approval=approval)
    raise typer.Exit(explain_command(folder, command, flags, as_json=as_json))


_VERDICTS = {
    "allow": "allow: it runs without asking",
    "ask": "ask: a person has to allow it",
    "deny": "deny: it does not run",
}


def explain_command(folder: Path, command: str, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Explain the verdict on a command; nothing is run. Returns the exit code."""
    from agent.assemble import default_approval
    from cli.settings.layers import load_settings
    from sandbox.backends.selection import choose_sandbox
    from sandbox.policy.decision import Policy
    from sandbox.policy.shell import judge_command_line
    from sandbox.view.visible_paths import resolve_visible_paths

    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=False)
    access = load_settings(home, root, flags).session.access
    shown = resolve_visible_paths(access.visible_paths)
    sandbox = choose_sandbox(root, access.sandbox, cache=home.cache, visible=shown)
    policy = Policy(access.mode, access.approval or default_approval(sandbox), access.rules)
    confined = sandbox.name != "unconfined"
    judgement = judge_command_line(command, root=root)
    decision = policy.decide_command(judgement, root=root, confined=confined)
    parts = [(each, policy.decide_segment(each, root=root, confined=confined)) for each in judgement.segments]
    if as_json:
        print(_build_json(policy, sandbox.name, decision, parts))
    else:
        if not parts:
            print("(no command)")
        for segment, its in parts:
            print(_format_segment(segment, its))
        print(
            f"{_VERDICTS[decision.verdict]} (mode {policy.mode}, approval {policy.approval}, {sandbox.name})"
        )
        if decision.always:
            print(
                "  always: " + ", ".join(f"shell({sanitize_for_approval(each)})" for each in decision.always)
            )
    return int(Exit.DONE if decision.verdict == "allow" else Exit.DENIED)


def _format_segment(segment: Segment, decision: Decision) -> str:
    effects = ", ".join(dict.fromkeys(_format_effect(effect) for effect in segment.effects))
    verdict = f"{decision.verdict}: {sanitize_text(decision.reason)}"
    return f"{sanitize_for_approval(segment.text)}\n  {sanitize_text(effects)}\n  {verdict}"


def _format_effect(effect: Effect) -> str:
    things = " ".join((*effect.paths, *effect.hosts))
    said = f"{effect.kind} {things}" if things else effect.kind
    return f"{said} ({effect.reason})" if effect.reason else said


def _build_effect(effect: Effect) -> dict[str, Any]:
    """Return an effect as JSON, without the change that only a question has."""
    from dataclasses import asdict

    fields = asdict(effect)
    del fields["change"]
    return fields


def _build_json(
    policy: Policy, sandbox: str, decision: Decision, parts: list[tuple[Segment, Decision]]
) -> str:
    import json

    segments = [
        {
            "text": segment.text,
            "argv": segment.argv,
            "effects": [_build_effect(effect) for effect in segment.effects],
            "verdict": its.verdict,
            "reason": its.reason,
        }
        for segment, its in parts
    ]
    return json.dumps(
        {
            "verdict": decision.verdict,
            "reason": decision.reason,
            "always": decision.always,
            "mode": policy.mode,
            "approval": policy.approval,
            "sandbox": sandbox,
            "segments": segments,
        }
    )
