"""The examples of child sessions and of the purse on the page of the architecture, executed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from agent.budget.limits import MaxCost
from agent.budget.purse import Amount, Purse
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.events import UsageRecord
from agent.session_settings import LimitSettings
from agent.turn.runtime import Runtime
from tests.support.child_sessions import settings_for
from tests.support.cli import CHECKOUT, call, script
from tests.support.sessions import play_session


def example(heading: str) -> str:
    page = (CHECKOUT / "docs/architecture.md").read_text("utf-8")
    found = re.search(rf"^### {heading}\n.*?^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.slow
def test_the_example_of_child_sessions_runs(shop: Path, tmp_path: Path) -> None:
    edit = {"calls": [call("edit", path="cart.py", old="0", new="0.0")], "expect": ["total an int"]}
    model = script(tmp_path, [edit, {"text": "done"}])
    names: dict[str, Any] = {
        "asyncio": asyncio,
        "Runtime": Runtime,
        "Children": Children,
        "ChildSpec": ChildSpec,
        "LimitSettings": LimitSettings,
    }
    exec(compile(example("Child sessions"), "architecture.md", "exec"), names)

    assert re.search(r": [1-9]\d+ bytes$", play_session(shop, settings_for(model), names["compare"]))
    assert (shop / "cart.py").read_text() == "total = 0\n"


def test_the_example_of_the_purse_holds() -> None:
    names = {"Purse": Purse, "MaxCost": MaxCost, "Amount": Amount, "UsageRecord": UsageRecord}
    exec(compile(example("The purse"), "architecture.md", "exec"), names)
