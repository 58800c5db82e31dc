"""Actions that keys can be bound to, and their default keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ACTIONS: Mapping[str, Sequence[str]] = {
    "send": ("enter",),
    "newline": ("escape enter", "c-j"),
    "editor": ("c-x c-e", "c-g"),
    "image": ("c-v",),
    "expand": ("c-x c-v",),
    "stop": ("c-c",),
    "interrupt": ("escape",),
    "rewind": ("escape escape",),
    "leave": ("c-d",),
    "suspend": ("c-z",),
    "unfold": ("c-o",),
    "shortcuts": ("?",),
    "plan": ("s-tab",),
}
"""Names as in prompt_toolkit: `c-x` is Ctrl-X, `s-tab` Shift-Tab, `escape enter` Alt-Enter."""

MEANING: Mapping[str, str] = {
    "send": "send; while it works: say more",
    "newline": "a new line (also \\ at the end of one)",
    "editor": "write the prompt in $EDITOR",
    "image": "paste the clipboard's image",
    "expand": "show pasted text in full, to edit it",
    "stop": "stop the step, again: the turn; clear the line",
    "interrupt": "stop the step that is running",
    "rewind": "go back to an earlier prompt",
    "leave": "leave, on an empty line",
    "suspend": "put Patchwright into the background",
    "unfold": "the whole session, nothing folded",
    "shortcuts": "this list of keys, on an empty line",
    "plan": "plan, ask, auto: the next of them",
}


def format_key(key: str) -> str:
    """Return a key as labelled on a keyboard: `c-x c-e` is "Ctrl-X Ctrl-E"."""
    if key == "escape enter":
        return "Alt-Enter"
    return " ".join(_format_one_key(each) for each in key.split())


def _format_one_key(key: str) -> str:
    if key.startswith("c-"):
        return f"Ctrl-{key[2:].upper()}"
    if key.startswith("s-"):
        return f"Shift-{key[2:].capitalize()}"
    return {"escape": "Esc"}.get(key, key.capitalize())
