"""Export of a session as Markdown, a web page, JSON, or an importable log."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChoiceEvent,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    Steer,
    Title,
    collect_fields,
    encode_line,
)
from agent.session.log import read_events
from cli.output.lines.action_descriptions import ActionTracker, describe_result
from cli.output.lines.attempt_lines import AttemptTable
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

LONGEST = 20_000
"""Maximum characters of one output in a document; the full text is in the session's artifacts."""


def export_session(folder: Path, path: Path, *, replace: bool = False) -> None:
    """Write the session in `folder` to `path`, in the format of its suffix.

    replace: overwrite an existing file. Raises UserError
    """
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise UserError(
            Fault.USAGE,
            f"no format for {path.name!r}",
            f"Let the name end with one of: {', '.join(FORMATS)}.",
        )
    if not replace and os.path.lexists(path):
        raise UserError(Fault.USAGE, f"{path.name!r} exists", "Name a new file.")
    try:
        write(folder, path)
    except FileNotFoundError as error:
        raise UserError(Fault.USAGE, f"no such file or folder: {error.filename!r}") from None
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot write {str(path)!r}: {error.strerror}") from None


def render_markdown(events: Iterator[Event]) -> str:
    """Return the session as a Markdown document."""
    parts: list[str] = []
    actions = ActionTracker()
    attempts = AttemptTable()
    for event in events:
        match event:
            case SessionStart():
                parts.append(f"# Session {event.session}\n\n{event.project} · {event.model} · {event.mode}")
            case Title():
                parts.append(f"*Title: {sanitize_text(event.text)}*")
            case Steer(by="harness"):
                parts.append(_format_fold("told by Patchwright", sanitize_text(event.text), ""))
            case Prompt() | Steer():
                parts.append("\n".join(f"> {line}" for line in sanitize_text(event.text).split("\n")))
            case MessageEvent():
                if event.reasoning.strip():
                    parts.append(_format_fold("reasoning", sanitize_text(event.reasoning), ""))
                if event.text.strip():
                    parts.append(sanitize_text(event.text.strip()))
            case ObservationEvent():
                came = describe_result(event.data)
                words = sanitize_text(f"{event.tool} {actions.get_target(event.call)}".strip()).replace(
                    "\n", " "
                )
                language = "diff" if event.data.get("diff") else ""
                text = str(event.data.get("diff") or event.text)
                parts.append(
                    _format_fold(
                        f"{words}{f': {came}' if came else ''}", sanitize_text(text[:LONGEST]), language
                    )
                )
            case AttemptEvent() | CandidateEvent():
                attempts.handle_event(event)
            case ChoiceEvent():
                attempts.handle_event(event)
                parts.append(sanitize_text(attempts.render_markdown()))
            case End():
                if attempts and attempts.choice is None:
                    parts.append(sanitize_text(attempts.render_markdown()))
                attempts = AttemptTable()
                parts.append(
                    f"**{event.outcome}**"
                    + (f" · {sanitize_text(event.verification)}" if event.verification else "")
                )
        actions.handle_event(event)
    return "\n\n".join(parts) + "\n"


def render_html(events: Iterator[Event]) -> str:
    """Return the session as one self-contained web page: no script, nothing fetched."""
    from markdown_it import MarkdownIt

    # Raw HTML of a model's answer is shown as text; the program's own folds are inserted afterwards.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image"])
    body: list[str] = []
    for part in render_markdown(events).split("\n\n<details>"):
        fold, found, rest = part.partition("</details>")
        if found:
            summary, _, code = fold.partition("</summary>")
            lines = code.strip().split("\n")
            # The program's own folds have an escaped title already; one written by a model is untrusted.
            title = html.escape(html.unescape(summary.replace("<summary>", "").strip()))
            body.append(
                f"<details><summary>{title}</summary><pre>{html.escape(chr(10).join(lines[1:-1]))}</pre></details>"
            )
        body.append(parser.render(rest if found else part))
    return _PAGE.replace("BODY", "\n".join(body))


def _format_fold(title: str, text: str, language: str) -> str:
    """Return a collapsible part, in GitHub's Markdown."""
    fence = "`" * max(3, _measure_backtick_run(text) + 1)
    text = text.replace("\n\n<details>", "\n\n&lt;details>").replace("</details>", "&lt;/details>")
    return f"<details><summary>{html.escape(title)}</summary>\n\n{fence}{language}\n{text}\n{fence}\n\n</details>"


def _measure_backtick_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _write_markdown(folder: Path, path: Path) -> None:
    path.write_text(render_markdown(read_events(folder)), "utf-8")


def _write_html(folder: Path, path: Path) -> None:
    path.write_text(render_html(read_events(folder)), "utf-8")


def _write_json(folder: Path, path: Path) -> None:
    events = [json.loads(encode_line(collect_fields(event))) for event in read_events(folder)]
    path.write_text(json.dumps(events, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _write_log_lines(folder: Path, path: Path) -> None:
    from agent.session.export_import import export_to_stream

    with path.open("wb") as file:
        export_to_stream(folder, file)


FORMATS: Mapping[str, Callable[[Path, Path], None]] = {
    ".md": _write_markdown,
    ".html": _write_html,
    ".json": _write_json,
    ".jsonl": _write_log_lines,
}

_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Patchwright session</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
pre, code { font: 14px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
pre { border-left: 3px solid #8886; padding-left: .8rem }
blockquote { margin: 1.5rem 0; padding: .2rem 1rem; border-left: 3px solid #27c; font-weight: 600 }
summary { cursor: pointer; font-family: ui-monospace, monospace }
</style></head><body>
BODY
</body></html>
"""
