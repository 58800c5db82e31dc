"""Models of attempts for which nobody is asked: they have no price, whatever the model in their place costs."""

from __future__ import annotations

from pathlib import Path

from agent.budget.cost_budget import forecast_cost
from agent.model.protocol import Model, Usage
from agent.model.scripted.scripted_model import ScriptedModel
from packages.search.fixed_reply import FixedReply
from tests.support.cli import script


class PricedModel(ScriptedModel):
    """A scripted model at a dollar a call."""

    def price(self, usage: Usage) -> float:
        return 1.0


def test_a_reply_that_nobody_gives_costs_nothing(tmp_path: Path) -> None:
    inner: Model = PricedModel(Path(script(tmp_path, [{"text": "asked"}]).partition(":")[2]))
    assert forecast_cost(inner, 1_000, None) == 1.0
    assert forecast_cost(FixedReply(inner, "said"), 1_000, None) == 0.0
