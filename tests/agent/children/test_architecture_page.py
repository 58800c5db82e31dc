"""The examples of child sessions and of the purse on the page of the architecture, executed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.limit_settings import LimitSettings
from agent.budget.limits import MaxCost
from agent.budget.purse import Amount, Purse
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.events import UsageRecord
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.cli import CHECKOUT, call, git, script


def example(heading: str) -> str:
    page = (CHECKOUT / "docs/architecture.md").read_text("utf-8")
    found = re.search(rf"^### {heading}\n.*?^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_example_of_child_sessions_runs(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    (shop / "cart.py").write_text("total = 0.0\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Start")
    edit = {"calls": [call("edit", path="cart.py", old="0.0", new="0")], "expect": ["total an int"]}
    model = script(tmp_path, [edit, {"text": "done"}])
    settings = SessionSettings(
        model=model, access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined")
    )
    names: dict[str, Any] = {
        "asyncio": asyncio,
        "Runtime": Runtime,
        "Children": Children,
        "ChildSpec": ChildSpec,
        "LimitSettings": LimitSettings,
    }
    exec(compile(example("Child sessions"), "architecture.md", "exec"), names)

    async def run() -> str:
        runtime = assemble_runtime(settings, SessionRequest(working=shop), Home.from_environment())
        try:
            told: str = await names["compare"](runtime)
            return told
        finally:
            await runtime.close()

    assert re.search(r": [1-9]\d+ bytes$", asyncio.run(run()))
    assert (shop / "cart.py").read_text() == "total = 0.0\n"


def test_the_example_of_the_purse_holds() -> None:
    names = {"Purse": Purse, "MaxCost": MaxCost, "Amount": Amount, "UsageRecord": UsageRecord}
    exec(compile(example("The purse"), "architecture.md", "exec"), names)
