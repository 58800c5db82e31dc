"""A bug report with code and a green suite: without a model, its reproduction drives the repair."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import End
from agent.session_request import SessionRequest
from agent.session_settings import VerifySettings
from tests.support.child_sessions import settings_for
from tests.support.cli import run
from tests.support.repo import Repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CART = """\
def total(prices, discount=0):
    amount = sum(prices)
    return amount + discount
"""
TEST = "from cart import total\n\n\ndef test_plain():\n    assert total([2, 3, 7]) == 12\n"
REPORT = """\
Fix this bug: a discount is added to the total.

```python
from cart import total

assert total([10, 5], discount=3) == 12
assert total([7], discount=2) == 5
```
"""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("tests/test_cart.py", TEST)
    repo.write(".gitignore", "__pycache__\n.pytest_cache\n")
    repo.commit_all("Start")
    return repo


def test_the_bug_is_mended_and_the_script_is_not_committed(shop: Repo) -> None:
    result = run("run", REPORT, "--model", "offline", cwd=shop.root, timeout=240)
    assert result.code == 0, result.err + result.out
    assert "return amount - discount" in shop.read("cart.py")
    assert shop.committed() == ["cart.py"]
    assert shop.git("status", "--porcelain") == ""
    assert "it failed before (AssertionError" in result.err
    place = result.err.partition("the script: ")[2].split()[0]
    assert "def test_reproduction" in Path(place).read_text("utf-8")


def test_the_script_becomes_a_test_where_the_settings_want_it(shop: Repo) -> None:
    settings = replace(
        settings_for("offline", sandbox="auto"), commit="turn", verify=VerifySettings(keep_reproduction=True)
    )

    async def story() -> End:
        runtime = assemble_runtime(settings, SessionRequest(working=shop.root), Home.from_environment())
        try:
            return await runtime.run_turn(REPORT)
        finally:
            await runtime.close()

    end = asyncio.run(story())
    assert (end.outcome, end.verification) == ("done", "passed: 2 passed")
    assert shop.committed() == ["cart.py", "tests/test_reproduction.py"]
