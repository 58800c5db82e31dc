"""Folding: completed steps become a short record, one or a few lines each, headed by its reference.

HiAgent (arXiv 2408.09559) folds the steps of a finished subgoal. A model rarely names its subgoals, so
segments are also cut where work visibly ends: at a verification, a commit, a prompt, a change of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.context.projection.digest import KnownWords, build_digest
from agent.context.projection.masking import render_message
from agent.context.projection.message_slots import FoldMessage, Slot, find_steps
from agent.events import Fold
from agent.model.protocol import AssistantMessage, ToolMessage
from tools.core.action import Action

THOUGHT = 100
"""Characters of a step's reasoning that are kept: mostly its first sentence."""

ARGUMENT = 60

MARKS = frozenset({"run_tests", "git_commit", "finish", "plan"})
"""Tools that end a segment of the work."""


def fold_steps(slots: Sequence[Slot], start: int, end: int, known: KnownWords) -> list[Fold]:
    """Return the folds of the steps in `slots[start:end]`, one for each segment; existing folds are left alone."""
    found: list[Fold] = []
    segment: list[range] = []
    for step in find_steps(slots[:end]):
        if step.start < start:
            continue
        if isinstance(slots[step.start].message, FoldMessage):
            segment = _close_segment(slots, segment, known, found)
            continue
        if segment and step.start != segment[-1].stop:  # a message of the user lies between them
            segment = _close_segment(slots, segment, known, found)
        segment.append(step)
        if _ends_segment(slots, step):
            segment = _close_segment(slots, segment, known, found)
    _close_segment(slots, segment, known, found)
    return found


def build_record(slots: Sequence[Slot], segment: Sequence[range], known: KnownWords) -> str:
    """Return the record of a run of steps: actions, findings and decisions, each step under its event's reference."""
    lines: list[str] = []
    for step in segment:
        said, *outputs = (slots[i] for i in step)
        if not isinstance(said.message, AssistantMessage):  # a note of the program
            lines.append(f"e{said.first} told: {_first_sentence(said.message.text)}")
            continue
        thought = _first_sentence(said.message.text)
        asked = "; ".join(_format_call(action) for action in said.message.actions)
        failed = (
            " (failed)"
            if any(isinstance(o.message, ToolMessage) and o.message.failed for o in outputs)
            else ""
        )
        head = f"e{said.first} {asked}{failed}"
        lines.append(f"{head}: {thought}" if thought else head)
        known.add_text(lines[-1])
        whole = "\n".join([render_message(said.message), *(o.text for o in outputs)])
        if more := build_digest(whole, known):
            lines.append(more)
    return "\n".join(lines)


def _close_segment(
    slots: Sequence[Slot], segment: list[range], known: KnownWords, found: list[Fold]
) -> list[range]:
    """Fold a finished segment; return an empty one to continue with."""
    if segment:
        inside = [slots[i] for step in segment for i in step]
        first, last = inside[0].first, max(slot.last for slot in inside)
        head = f'[{len(segment)} steps in short form; recall(ref="e{first}") shows a step whole]'
        text = f"{head}\n{build_record(slots, segment, known)}"
        found.append(Fold(first=f"e{first}", last=f"e{last}", text=text))
    return []


def _ends_segment(slots: Sequence[Slot], step: range) -> bool:
    message = slots[step.start].message
    if not isinstance(message, AssistantMessage):
        return False
    return not message.actions or any(action.tool in MARKS for action in message.actions)


def _format_call(action: Action) -> str:
    """Format one action on a line."""
    values = " ".join(
        " ".join(str(value).split())[:ARGUMENT]
        for value in action.arguments.values()
        if value not in (None, "")
    )
    return f"{action.tool} {values}".strip()[: 2 * ARGUMENT]


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = line.find(". ")
    return (line[: end + 1] if 0 < end < THOUGHT else line[:THOUGHT]).strip()
