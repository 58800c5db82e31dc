"""Questions to a read-only child session, which looks at the repository and answers with JSON: an opinion.

It gets what its question holds, and never the conversation of the session that asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.context.system_prompt import read_prompt
from agent.model.protocol import UNPAID
from agent.session_settings import LimitSettings
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.untrusted_output import enclose_in_tag, quote_lines

TOOLS = ("read", "list", "search", "code")
"""What a reader may use, where its parent has it: it runs nothing."""

MOST_STEPS = 25
"""Steps of one question: it looks at a few files, and answers."""

LONGEST_PART = 60_000
"""Characters of one part of a question."""


@dataclass(slots=True, kw_only=True)
class Reader:
    """Asks child sessions of one session, by the model of the role `judge`."""

    runtime: Runtime

    @property
    def has_model(self) -> bool:
        """Whether a model can be asked. A scripted main model is not: its script tells the work alone."""
        return bool(self._judge) or not self.runtime.model.name.startswith(UNPAID)

    @property
    def _judge(self) -> str:
        return self.runtime.settings.models.judge

    async def ask(self, prompt: str, task: str, parts: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the objects of the answer, [] if there is none that can be read.

        prompt: name of the instructions in `agent/prompts`; parts: data by its name
        """
        if not self.has_model:
            return []
        quoted = quote_lines(task[:LONGEST_PART].splitlines())
        data = [
            enclose_in_tag(name, quote_lines(text[:LONGEST_PART].splitlines()))
            for name, text in parts.items()
        ]
        text = "\n\n".join(
            [read_prompt(f"{prompt}.md"), f"The task, in the words of its user:\n{quoted}", *data]
        )
        spec = ChildSpec(
            prompt=text,
            model=self._judge,
            effort=self.runtime.settings.models.judge_effort,
            tools=[name for name in TOOLS if self.runtime.toolbox.get(name) is not None],
            limits=LimitSettings(max_steps=MOST_STEPS),
        )
        try:
            async with Children.open(self.runtime) as children:
                result = await children.run(spec)
        except UserError:  # no budget, no model: there is no opinion then
            return []
        return parse_objects(result.report) if result.succeeded else []


def parse_objects(answer: str) -> list[dict[str, Any]]:
    """Return the objects of the first JSON array in an answer, [] if there is none."""
    decoder = json.JSONDecoder()
    place = answer.find("[")
    while place >= 0:
        try:
            found, _ = decoder.raw_decode(answer, place)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list) and (not found or any(isinstance(each, dict) for each in found)):
            return [each for each in found if isinstance(each, dict)]
        place = answer.find("[", place + 1)
    return []


def get_text_field(item: Mapping[str, Any], key: str, limit: int = 500) -> str:
    """Return a field of an answer as one line of text, "" if it is none."""
    value = item.get(key)
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""


def format_list(rows: Sequence[str]) -> str:
    """Return rows as a list for a question."""
    return "\n".join(f"- {row}" for row in rows) or "(none)"
