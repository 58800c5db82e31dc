"""Versions of a target that a model proposes: whole edits in a strict format, and fillings of its hottest lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import field

from agent.children.child import Child
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.context.system_prompt import read_prompt
from agent.exit_codes import BY_FAULT
from agent.model.infill.fill_forms import Filling, Gap
from agent.session_settings import LimitSettings
from agent.turn.runtime import Runtime
from packages.improve.optimize.measurement import Measurement
from packages.search.microsteps.answers import RedFlag, read_answer
from packages.search.microsteps.voters import enclose_file
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import split_lines
from tools.core.untrusted_output import enclose_in_tag

LONGEST_CONVERSATION = 6
"""Answers after which an island begins a new conversation: each repeats the file."""

LIMITS = LimitSettings(max_steps=2 * LONGEST_CONVERSATION, max_time=600.0)
"""Limits of a conversation: one request for each answer, and one more where that is empty."""

FILLINGS = 2
"""Fillings of a line: the likeliest one, and one that is drawn."""

FATAL = {
    int(BY_FAULT[fault]): fault for fault in (Fault.MODEL_UNREACHABLE, Fault.CREDENTIALS, Fault.CONFIGURATION)
}
"""Faults by the exit code of a child: after them no model can answer."""


@dataclass(slots=True, kw_only=True)
class ModelAuthor:
    """Asks the session's model for versions; each island has a conversation of its own.

    hot: where the time goes, in words; asked: questions so far
    """

    runtime: Runtime
    children: Children
    measurement: Measurement
    functions: Sequence[str]
    hot: str
    tell: Callable[[str], None]
    asked: int = 0
    _conversations: dict[int, tuple[Child, int]] = field(default_factory=dict)

    async def write_version(self, island: int, parent: str, told: str) -> str | None:
        """Return a version of the parent; None for an answer that is none, or where a limit is reached.

        told: what the measurement said of the island's last version. Raises UserError where no model can answer
        """
        if self.runtime.purse.find_stop_reason():
            return None
        path = self.measurement.path
        parts = [f"Make faster: {', '.join(self.functions)}", self.hot]
        parts += [enclose_in_tag("last-version", told)] if told else []
        child = await self._find_conversation(island)
        result = await child.ask("\n\n".join([*filter(None, parts), enclose_file(path, parent.encode())]))
        if (fault := FATAL.get(result.exit_code)) is not None:
            raise UserError(fault, result.report)
        self.asked += 1
        self.measurement.write_candidate(parent)
        try:
            answer = read_answer(self.measurement.trial.files, path, parent.encode(), result.report)
        except RedFlag as flag:
            self.tell(f"answer of the model: {flag}")
            return None
        text = answer.content.decode()
        return text if text != parent else None

    async def _find_conversation(self, island: int) -> Child:
        """Return the child session of an island, a new one where the last has become long."""
        child, answers = self._conversations.get(island, (None, 0))
        if child is None or answers == LONGEST_CONVERSATION:
            if child is not None:
                await child.close()
            spec = ChildSpec(prompt="", system=read_prompt("optimize_step.md"), tools=[], limits=LIMITS)
            child, answers = await self.children.start(spec), 0
        self._conversations[island] = (child, answers + 1)
        return child


Fill = Callable[[Gap], Awaitable[Filling | None]]
"""Fills a gap; None for nothing (`agent/model/infill/filler.py`)."""


async def fill_hot_lines(fill: Fill, text: str, lines: Sequence[int]) -> AsyncIterator[str]:
    """Yield versions in which one of the hottest lines is written anew. lines: numbers, the hottest first"""
    parts = split_lines(text)
    for number in [each for each in lines if 0 < each <= len(parts)]:
        line = parts[number - 1]
        indentation = line[: len(line) - len(line.lstrip())]
        before, after = "".join(parts[: number - 1]) + indentation, "\n" + "".join(parts[number:])
        for seed in range(FILLINGS):
            gap = Gap(prefix=before, suffix=after, temperature=0.7 if seed else 0.0, seed=seed)
            filling = await fill(gap)
            if filling is not None and filling.text.strip() != line.strip():
                yield before + filling.text.strip() + after
