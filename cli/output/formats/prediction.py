"""The change of a session as a prediction of SWE-bench: one JSON object with a patch for `git apply`."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.events import Event, SessionStart
from agent.session.undo import Timeline
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.path_state import State
from sandbox.snapshots.workspace_snapshots import Snapshots
from tools.core.text import format_unified_diff


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPatch:
    """patch: the session's whole change; left_out: paths whose change is no text; model: that of the session"""

    patch: str
    left_out: Sequence[str]
    model: str


def build_prediction(instance: str, change: SessionPatch) -> dict[str, str]:
    """Return a prediction for an instance, with the fields that `swebench` reads."""
    name = f"patchwright/{change.model}" if change.model else "patchwright"
    return {"instance_id": instance, "model_name_or_path": name, "model_patch": change.patch}


def read_session_patch(events: Iterable[Event], snapshots: Snapshots) -> SessionPatch:
    """Return what the steps of a session changed together, without those that were undone. events: of all branches"""
    timeline, model = Timeline(), ""
    for event in events:
        timeline.handle_event(event)
        if isinstance(event, SessionStart):
            model = model or event.model
    states: dict[str, tuple[State | None, State | None]] = {}
    for step in timeline.active_steps:
        for before, after in step.spans:
            for each in snapshots.list_changes(before, after):
                first = states[each.path][0] if each.path in states else each.before
                states[each.path] = (first, each.after)
    patch, left_out = format_states(snapshots, states)
    return SessionPatch(patch=patch, left_out=left_out, model=model)


def format_states(
    snapshots: Snapshots, states: Mapping[str, tuple[State | None, State | None]]
) -> tuple[str, list[str]]:
    """Return changes as a patch, and the paths whose change is no text. states: of each path, before and after"""
    parts: list[str] = []
    left_out: list[str] = []
    for path, (old, new) in sorted(states.items()):
        if old == new:
            continue
        text = _format_file(snapshots, path, old, new)
        if text is None:
            left_out.append(path)
        else:
            parts.append(text)
    return "".join(parts), left_out


def _format_file(snapshots: Snapshots, path: str, old: State | None, new: State | None) -> str | None:
    """Return the change of a file as git writes it; None if it is no text."""
    try:
        before, after = (_read_text(snapshots, each) for each in (old, new))
    except ValueError:
        return None
    lines = [f"diff --git {quote_path(f'a/{path}')} {quote_path(f'b/{path}')}\n", *_list_modes(old, new)]
    body = format_unified_diff(path, before, after)
    if body:
        _, _, hunks = body.split("\n", 2)
        lines.append(f"--- {_mark_end(quote_path(f'a/{path}')) if old else '/dev/null'}\n")
        lines.append(f"+++ {_mark_end(quote_path(f'b/{path}')) if new else '/dev/null'}\n")
        lines.append(hunks)
    return "".join(lines)


def _read_text(snapshots: Snapshots, state: State | None) -> str:
    """Return the text of a file, "" for none. Raises ValueError if it is no text."""
    if state is None:
        return ""
    content = snapshots.read_content(state)
    if content is None or b"\0" in content:
        raise ValueError("no text")
    return content.decode("utf-8")


def _list_modes(old: State | None, new: State | None) -> Iterator[str]:
    if old is None and new is not None:
        yield f"new file mode {_format_mode(new)}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {_format_mode(old)}\n"
    elif old is not None and new is not None and _format_mode(old) != _format_mode(new):
        yield f"old mode {_format_mode(old)}\n"
        yield f"new mode {_format_mode(new)}\n"


def _format_mode(state: State) -> str:
    """Return the mode of a file as git has it: a link, executable, or not."""
    if stat.S_ISLNK(state.mode):
        return "120000"
    return "100755" if state.mode & stat.S_IXUSR else "100644"


def quote_path(path: str) -> str:
    """Return a path as git writes it in a patch: quoted, in octal, where it has unusual characters."""
    raw = path.encode("utf-8", "surrogateescape")
    if all(0x20 <= each < 0x7F and each not in b'"\\' for each in raw):
        return path
    return '"' + "".join(_quote_byte(each) for each in raw) + '"'


def _quote_byte(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _mark_end(path: str) -> str:
    """Return a path with the mark that git puts behind one with a space, so that its end is known."""
    return f"{path}\t" if " " in path and not path.startswith('"') else path
