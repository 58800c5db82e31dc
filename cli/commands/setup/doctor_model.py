"""`patchwright doctor --model NAME`: what a model and its server can do, and where each fact comes from."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.output.standard_streams import print_json
from sandbox.lazy_dataclass import dataclass
from sandbox.process.bounded_end import run_loop
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.model.servers.model_report import ModelReport
    from agent.session_settings import SessionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """What sessions give a model.

    profile: of instructions, tools and outputs, "" for a model that writes code in place of calls; reason: for it
    family, edits: of models by name, and the edit formats that it is offered
    """

    profile: str
    reason: str
    family: str
    edits: tuple[str, ...]


def run_model_report(folder: Path, name: str, api_base: str | None, *, as_json: bool) -> int:
    """Print what is known of a model. Raises UserError: unknown name, missing key, no folder."""
    from agent.model.servers.model_report import build_report
    from agent.model_selection import ModelSelection
    from agent.workspace_root import find_workspace_root
    from cli.settings.layers import load_settings

    root, _ = find_workspace_root(folder, need_git=False)
    home = Home.from_environment()
    given = {"model": name, **({"api_base": api_base} if api_base else {})}
    settings = load_settings(home, root, given, os.environ).session
    selection = ModelSelection(settings=settings, env=os.environ, cache=home.cache)
    report = run_loop(build_report(name, selection.build_config(name)))
    treatment = _find_treatment(settings, name, report.window)
    if as_json:
        print_json({**asdict(report), **asdict(treatment)})
    else:
        lines = [*_format_lines(report), *_format_treatment(treatment), *_format_calls(report)]
        print(sanitize_text("\n".join(lines)))
    return int(Exit.MODEL_UNREACHABLE if report.reachable is False else Exit.DONE)


def _format_lines(report: ModelReport) -> list[str]:
    lines = [f"model   {report.name}"]
    if report.url:
        state = "reachable" if report.reachable else "not reachable: is the server running?"
        program = f" ({report.program})" if report.program else ""
        lines.append(f"server  {report.url}{program}: {state}")
    lines.append(f"window  {report.window:,} tokens ({report.window_source})")
    if not report.url:
        return lines
    tools = {
        True: "yes",
        False: "no: they are described in words",
        None: "not known: tried with the first request",
    }
    source = f" ({report.tools_source})" if report.tools_source else ""
    lines.append(f"tools   {tools[report.tools]}{source}")
    if report.writes:
        minute = f"a reply of 300 tokens takes some {max(1, round(300 / report.writes))} s"
        lines.append(
            f"speed   {report.reads:,.0f} tokens a second in, {report.writes:,.0f} out (measured): {minute}"
        )
    if report.fills:
        lines.append(f"fills   {_FILLS.get(report.fills, report.fills)}")
    asked = {"effort": report.effort, "cache": report.cache, "service": report.service}
    if words := [f"{name} {value}" for name, value in asked.items() if value]:
        lines.append(f"asked   {', '.join(words)} ([models] in your settings)")
    if report.input is not None and report.output is not None:
        lines.append(f"price   ${report.input:g} input, ${report.output:g} output for a million tokens")
    else:
        lines.append("price   not known: --max-cost needs it in [models.catalog]")
    return lines


def _find_treatment(settings: SessionSettings, name: str, window: int) -> Treatment:
    """Return what a session with these settings gives the model."""
    from agent.context.profile.profiles import explain_profile
    from agent.model.providers.model_family import find_family
    from agent.turn.action_format import resolve_action_mode

    family = find_family(name)
    edits = tuple(settings.tools.edit.formats or family.formats)
    source = "edit.formats in your settings" if settings.tools.edit.formats else f"family: {family.name}"
    if resolve_action_mode(name, settings.actions) == "code":
        return Treatment(profile="", reason="its tools are functions in a kernel", family=source, edits=edits)
    profile, reason = explain_profile(settings.models.profile, window, name)
    return Treatment(profile=profile.name, reason=reason, family=source, edits=edits)


def _format_treatment(found: Treatment) -> list[str]:
    return [
        f"profile {found.profile or 'none'} ({found.reason})",
        f"edits   {', '.join(found.edits)} ({found.family})",
    ]


_FILLS: Mapping[str, str] = {
    "infill": "gaps in code (/infill)",
    "ollama": "gaps in code (suffix of /api/generate)",
    "suffix": "gaps in code (suffix of /completions)",
    "words": "gaps in code (/completions, with the words of its family)",
    "deepseek": "gaps in code (suffix of /beta/completions)",
    "mistral": "gaps in code (/v1/fim/completions)",
    "none": "no gaps in code",
}
"""Forms of fillings (`agent.model.infill.fill_forms`) in words."""

_CALLS: Mapping[str, str] = {
    "tools": "the endpoint's own form",
    "json": "one JSON object, which the server enforces",
    "text": "described in words",
}
"""Forms of calls (`agent.model.call_format`) in words."""


def _format_calls(report: ModelReport) -> list[str]:
    if not report.url:
        return []
    if not report.format:
        return ["calls   no form is remembered yet"]
    day = time.strftime("%Y-%m-%d", time.localtime(report.learned))
    return [f"calls   {_CALLS.get(report.format, report.format)} (the model got it right; remembered {day})"]
