"""Output of a one-shot run: its events as lines or JSON, and its result."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.exit_codes import Exit
from cli.output.standard_streams import write_error, write_line
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.events import End
    from agent.session_settings import SessionSettings
    from agent.turn.runtime import Runtime
    from cli.output.lines.event_lines import LineView
    from cli.settings.settings_types import Settings

ANSWERS = {Exit.DONE, Exit.TESTS_FAIL, Exit.NOTHING_TO_DO, Exit.NO_TEST_RUNNER, Exit.NOT_ACHIEVED}
"""Outcomes whose summary is the model's answer (the others are reported on standard error)."""


def subscribe_output(runtime: Runtime, settings: Settings, output: str) -> None:
    """Let the events be printed, first the notices of the settings."""
    _subscribe_format(runtime, settings.session, output)
    if settings.notices:
        from agent.events import Signal
        from cli.output.notices import SETTINGS_NOTICE

        for notice in settings.notices:
            runtime.session.append(Signal(name=SETTINGS_NOTICE, detail=notice))


def _subscribe_format(runtime: Runtime, settings: SessionSettings, output: str) -> None:
    from agent.events import render_event
    from cli.invocation import NO_MODEL
    from sandbox.fs.installation import build_exposure_warning

    if output == "stream-json":
        for event in runtime.session.replayed:
            write_line(render_event(event))
        runtime.session.subscribe(lambda event: write_line(render_event(event)))
        return
    if output == "json":
        return
    from agent.events import Prompt
    from agent.turn.late_parts import LateFollower
    from cli.output.notices import read_resume_notice

    view = LateFollower(
        _create_view,
        lambda view, event: view.show_event(event),
        early=(Prompt,),  # shows nothing
    )
    warnings = (runtime.workspace.sandbox.warning, build_exposure_warning(runtime.workspace.root))
    for warning in filter(None, (*warnings, sanitize_text(read_resume_notice(runtime)))):
        write_error(f"patchwright: {warning}\n")
    if not settings.model and runtime.model.name == "offline":
        write_error(f"patchwright: {NO_MODEL}\n")
    runtime.session.subscribe(view.handle_event)


def _create_view() -> LineView:
    from cli.output.lines.event_lines import LineView
    from cli.output.style.terminal import Terminal

    terminal = Terminal.from_stream(sys.stderr)
    if terminal.tty and terminal.dumb:
        from cli.output.style.paint import use_words

        use_words()
    return LineView(write_error, colour=terminal.colour, width=terminal.columns, unicode=terminal.unicode)


def build_json_result(end: End, runtime: Runtime, more: Mapping[str, Any]) -> bytes:
    from agent.events import collect_fields, encode_line

    head = {"session": runtime.session.id, "model": runtime.model.name}
    return encode_line({**head, **collect_fields(end), **more})
