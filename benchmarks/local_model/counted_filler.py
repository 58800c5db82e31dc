"""A filler that counts what its server does: figures that do not depend on the machine's load."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.model.infill.fill_forms import FORMS, Filling
from agent.model.infill.filler import Filler


class CountedFiller(Filler):
    """A filler that counts what its server does. asked, unanswered: requests; read, written: tokens; seconds: waited"""

    def __init__(self, base: str, model: str) -> None:
        super().__init__(base, model, form=replace(FORMS["infill"], parse=self._count))
        self.asked = self.unanswered = self.read = self.written = 0
        self.seconds = 0.0

    def _count(self, answer: Mapping[str, Any]) -> Filling | None:
        timings = answer.get("timings", {})
        self.read += timings.get("prompt_n", 0)
        self.written += timings.get("predicted_n", 0)
        self.unanswered -= 1
        return FORMS["infill"].parse(answer)

    async def _ask(self, *given: Any, **named: Any) -> tuple[int, Filling | None]:
        started = time.monotonic()
        self.asked += 1
        self.unanswered += 1
        try:
            return await super()._ask(*given, **named)
        finally:
            self.seconds += time.monotonic() - started

    def list_counts(self) -> dict[str, float]:
        """Return the counts by name."""
        names = ("asked", "unanswered", "read", "written")
        return {**{name: getattr(self, name) for name in names}, "model_seconds": round(self.seconds, 1)}
