"""`patchwright doctor --model NAME`: what a model and its server can do, and where each fact comes from."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.exit_codes import Exit
from sandbox.sanitize import sanitize_json, sanitize_text

if TYPE_CHECKING:
    from agent.model.servers.model_report import ModelReport


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
    report = asyncio.run(build_report(name, selection.build_config(name)))
    if as_json:
        print(sanitize_json(json.dumps(asdict(report), ensure_ascii=False)))
    else:
        print(sanitize_text("\n".join(_format_lines(report))))
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
    if report.input is not None and report.output is not None:
        lines.append(f"price   ${report.input:g} input, ${report.output:g} output for a million tokens")
    else:
        lines.append("price   not known: --max-cost needs it in [models.catalog]")
    return lines
