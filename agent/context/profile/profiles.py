"""The profiles, and the choice of one by the model's window and name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from agent.context.compression.window_overflow import compute_output_limit
from agent.model.protocol import UNPAID, ToolSpec
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

ProfileName = Literal["generic", "small", "tiny"]

SMALL_WINDOW = 16_384
"""Tokens up to which a window is small: the generic instructions and tools would take a tenth of it or more."""

TINY_WINDOW = 4_096
"""Tokens up to which a window is tiny: only what mends a failing test."""

LEAST_ROOM = 600
"""Tokens that must be left for the prompt and the work: a short prompt, one call and its result."""

OUTPUT_SHARE = 10
"""One output may take this part of a small window, so that several fit besides the instructions and the answer."""

CHARACTERS_PER_TOKEN = 3.2
"""Of code and JSON."""

_WEAK = compile_lazily(r"(?<![0-9a-z.])(?:[0-3](?:\.[0-9]+)?b|[1-9][0-9]{1,2}m)\b")
"""Names of models with less than four billion parameters."""

_WEAKEST = compile_lazily(r"(?<![0-9a-z.])(?:0?\.[0-9]+b|[1-9][0-9]{1,2}m)\b")
"""Names of models with less than one billion parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a model is given.

    tools: the offered ones with the arguments they are described with; None: all, in full
    """

    name: ProfileName
    tools: Mapping[str, tuple[str, ...]] | None = None


_FOUR: Mapping[str, tuple[str, ...]] = {
    "search": ("pattern", "path"),
    "read": ("path", "start", "end"),
    "edit": ("path", "old", "new"),
    "run_tests": ("targets",),
}

PROFILES: Mapping[ProfileName, Profile] = {
    "generic": Profile(name="generic"),
    "small": Profile(name="small", tools={**_FOUR, "write": ("path", "content"), "shell": ("command",)}),
    "tiny": Profile(name="tiny", tools=_FOUR),
}


_ENDS = ("report",)
"""Tools by which agents end their task; without one their parent learns nothing."""


def choose_profile(setting: str, window: int, model: str) -> Profile:
    """Return the profile of a model. setting: "auto", or the name of one"""
    return explain_profile(setting, window, model)[0]


def explain_profile(setting: str, window: int, model: str) -> tuple[Profile, str]:
    """Return the profile of a model, and the reason for it."""
    for name, profile in PROFILES.items():
        if setting == name:
            return profile, "models.profile in your settings"
    if model.startswith(UNPAID):
        return PROFILES["generic"], "it reads no instructions"
    if window <= TINY_WINDOW:
        return PROFILES["tiny"], f"a window of up to {TINY_WINDOW:,} tokens"
    if window <= SMALL_WINDOW:
        return PROFILES["small"], f"a window of up to {SMALL_WINDOW:,} tokens"
    if _has_digit(model) and (size := _WEAK.search(model.lower())) is not None:
        return PROFILES["small"], f"a small model, by its name ({size[0]})"
    return PROFILES["generic"], f"a window above {SMALL_WINDOW:,} tokens, and no small size in the name"


def is_below_a_billion(model: str) -> bool:
    """Return whether a model has less than a billion parameters, by its name: too few to drive a session."""
    return _has_digit(model) and _WEAKEST.search(model.lower()) is not None


def _has_digit(model: str) -> bool:
    """Return whether a name can tell a size."""
    return any(each.isdigit() for each in model)


def select_tools(profile: Profile, offered: Sequence[ToolSpec], *, commits: bool = False) -> list[ToolSpec]:
    """Return the tools that the profile offers, of those that the session has, in short words.

    commits: the user asked for a commit
    """
    if profile.tools is None:
        return list(offered)
    told = {**profile.tools, **({"git_commit": ("message",)} if commits else {})}
    kept = [each for each in offered if each.name in told]
    if not kept:  # a child with another task
        return list(offered)
    last = [each for each in offered if each.name in _ENDS]
    return [*(_shorten(each, told[each.name]) for each in kept), *last]


def compute_output_cut(profile: Profile, window: int) -> int:
    """Return the characters of one output that enter a request, 0 for no limit."""
    if profile.tools is None:
        return 0
    return max(int(window / OUTPUT_SHARE * CHARACTERS_PER_TOKEN), 500)


def check_window(window: int, fixed: int, model: str) -> None:
    """Raise UserError if no work fits a window beside the instructions. fixed: their tokens, tools included"""
    needed = fixed + (compute_output_limit(window) or 0) + LEAST_ROOM
    if model.startswith(UNPAID) or window >= needed:
        return
    raise UserError(
        Fault.CONFIGURATION,
        f"no work fits the window of {model!r} (at least {needed:,} tokens are needed; the window has {window:,})",
        "Give the server a larger window (llama.cpp: -c 4096; Ollama: num_ctx), or use another model, or"
        " --model offline",
    )


def _shorten(tool: ToolSpec, arguments: Sequence[str]) -> ToolSpec:
    first = re.split(r"(?<=[.:])\s", tool.description.strip(), maxsplit=1)[0].rstrip(":")
    told = tool.parameters.get("properties", {})
    properties = {name: {k: v for k, v in told[name].items() if k != "description"} for name in arguments}
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    return ToolSpec(name=tool.name, description=first, parameters=schema)
