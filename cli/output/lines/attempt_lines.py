"""Attempts of a turn as a table: one row each, updated while they run, and why one was chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildProgress,
    ChoiceEvent,
    Event,
    GuidanceEvent,
    Prompt,
    StopAttemptEvent,
)
from agent.strategy.candidate import describe_candidate
from cli.output.amounts import format_money
from cli.output.style.paint import Paint, Style, get_mark
from cli.output.style.terminal import truncate_text
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

DEEPEST = 6
"""Levels by which a row is indented; deeper ones are not, so that a narrow terminal shows them."""


@dataclass(slots=True)
class _Row:
    """One attempt. steps: replies so far; doing: its last action; ended: what it came to"""

    attempt: AttemptEvent
    steps: int = 0
    doing: str = ""
    ended: CandidateEvent | None = None


@dataclass(slots=True)
class AttemptTable:
    """The attempts of one turn, updated by `handle_event`."""

    choice: ChoiceEvent | None = None
    _rows: dict[int, _Row] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def handle_event(self, event: Event) -> bool:
        """Process an event of the session, or one of a child's; return whether a row has changed."""
        match event:
            case Prompt():
                self._rows, self.choice = {}, None
            case AttemptEvent():
                self._rows[event.number] = _Row(event)
            case CandidateEvent():
                begun = AttemptEvent(number=event.attempt, child=event.child)
                self._rows.setdefault(event.attempt, _Row(begun)).ended = event
            case ChoiceEvent():
                self.choice = event
            case ChildProgress():
                return self._track_progress(event)
            case _:
                return False
        return bool(self._rows)

    def format_rows(self, width: int, paint: Paint, *, unicode: bool) -> list[str]:
        """Return one line for each attempt: below the one that it goes on from; where none does, the best first."""
        order = self.choice.order if self.choice else sorted(self._rows)
        shown = [(0, self._rows[number]) for number in order if number in self._rows]
        if any(row.attempt.after for row in self._rows.values()):
            shown = list(self._walk())
        return [self._format_row(row, depth, width, paint, unicode=unicode) for depth, row in shown]

    def _walk(self) -> Iterator[tuple[int, _Row]]:
        paths: dict[int, tuple[int, ...]] = {}
        for number in sorted(self._rows):  # one goes on from an earlier one
            after = self._rows[number].attempt.after
            paths[number] = (*paths.get(after, ()), number)
        for number in sorted(self._rows, key=lambda each: paths[each]):
            yield len(paths[number]) - 1, self._rows[number]

    def render_markdown(self) -> str:
        """Return the attempts as a tree: each with its session, the chosen one in bold with the reason."""
        lines = []
        for number in self.choice.order if self.choice else sorted(self._rows):
            row = self._rows.get(number)
            if row is None:
                continue
            told = describe_candidate(row.ended) if row.ended else f"attempt {number}: not ended"
            parts = [told.replace("\n", " "), *describe_variation(row.attempt)]
            if row.attempt.child:
                parts.append(f"session `{row.attempt.child}`")
            chosen = self.choice is not None and self.choice.attempt == number
            lines.append(f"- **{' · '.join(parts)}**" if chosen else f"- {' · '.join(parts)}")
        if self.choice is not None:
            lines.append(f"\n{describe_choice(self.choice)}")
        return "\n".join(lines)

    def _track_progress(self, event: ChildProgress) -> bool:
        row = next((each for each in self._rows.values() if each.attempt.child == event.child), None)
        if row is None or row.ended is not None:
            return False
        match event.event.get("kind"):
            case "message":
                row.steps += 1
            case "action":
                paths = event.event.get("paths") or ()
                row.doing = " ".join([str(event.event.get("tool", "")), *map(str, paths)])
            case "verification":
                row.doing = "checking"
            case _:
                return False
        return True

    def _format_row(self, row: _Row, depth: int, width: int, paint: Paint, *, unicode: bool) -> str:
        between, dots = get_mark("between", unicode=unicode), get_mark("ellipsis", unicode=unicode)
        mark, style = _get_mark(row, self.choice)
        sign = get_mark(mark, unicode=unicode)
        role = row.attempt.hint if row.attempt.strategy == "team" else ""
        if row.ended is not None:
            told = _describe_role(row.ended, role) if role else describe_candidate(row.ended)
            parts = [told, *_format_cost(row.ended)]
        else:
            steps = f"step {row.steps + 1}"
            parts = [f"{role or f'attempt {row.attempt.number}'}: {steps}", row.doing]
        parts += [each for each in describe_variation(row.attempt) if each != role]
        text = sanitize_text(between.join(filter(None, parts))).replace("\n", " ")
        return paint(
            truncate_text(f"{sign} {'  ' * min(depth, DEEPEST)}{text}", width, ellipsis=dots),
            style,
        )


def _get_mark(row: _Row, choice: ChoiceEvent | None) -> tuple[str, Style]:
    if row.ended is None:
        return "doing", "cyan"
    if choice is not None and choice.attempt == row.attempt.number:
        return "good", "green"
    return "quiet", "dim"


def _describe_role(candidate: CandidateEvent, role: str) -> str:
    """Return one line about a role of a team: most of them change nothing that could be checked."""
    checked = "" if candidate.verification.startswith("not-needed") else candidate.verification
    changed = format_count(len(candidate.files), "file") if candidate.patch else ""
    return "; ".join(
        filter(None, [f"{role}: {checked or candidate.outcome}", changed, f"{candidate.seconds:.0f} s"])
    )


def _format_cost(candidate: CandidateEvent) -> list[str]:
    return [format_money(candidate.usage.cost)] if candidate.usage.cost else []


def describe_variation(attempt: AttemptEvent) -> list[str]:
    """Return what an attempt was given that differs from the session: its start, model, temperature and hint."""
    start = f"after attempt {attempt.after}" if attempt.after else ""
    temperature = "" if attempt.temperature is None else f"temperature {attempt.temperature:g}"
    return [each for each in (start, attempt.model, temperature, attempt.hint) if each]


def describe_direction(event: GuidanceEvent | StopAttemptEvent) -> str:
    """Return one line about a direction of the person."""
    if isinstance(event, GuidanceEvent):
        return f"you to attempt {event.attempt}: {' '.join(event.text.split())}"
    return f"you stop attempt {event.attempt}"


def describe_choice(choice: ChoiceEvent) -> str:
    """Return one line that names the chosen attempt, why it was chosen, and how sure that is."""
    why = f": {choice.reason}" if choice.reason else ""
    sure = "" if choice.confidence is None else f"; {choice.confidence:.0%} sure"
    if choice.abstained:
        sure += ", too little for a choice: look at the others"
    return f"attempt {choice.attempt} is applied{why}{sure}"
