"""Reproductions on small real projects: without a model, with a scripted writer, and of hostile reports."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from packages.offline.reproduction.classification import Rejection
from packages.offline.reproduction.machine import NEXT, reproduce
from packages.offline.reproduction.report.report_fields import Report
from packages.offline.reproduction.result import Reproduction, State
from packages.offline.reproduction.suspicion import Suspicion
from sandbox.backends.unconfined import Unconfined
from sandbox.errors import UserError
from tests.tools.workspaces import workspace
from tools.core.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CART = """\
import random


class Cart:
    def __init__(self, prices):
        self.prices = list(prices)

    def average(self):
        return sum(self.prices) / len(self.prices)

    def total(self, discount=0):
        result = 0
        for price in self.prices:
            result = price
        return result - discount

    def lucky(self):
        return random.random()

    def __repr__(self):
        return f"Cart({self.prices!r})"
"""
TRACE = """\
Average of an empty cart crashes

>>> import os
>>> Cart([1, 3]).average()
2.0
>>> spare = Cart([2])
>>> empty = Cart([])
>>> empty.average()
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/home/me/shop/cart.py", line 9, in average
    return sum(self.prices) / len(self.prices)
ZeroDivisionError: division by zero
"""
OUTPUT = """\
Total takes only the last price

```python
cart = Cart([1, 2, 4])
print(cart.total())
```
This prints `4`, but it should be 7.
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    folder = tmp_path / "project"
    folder.mkdir()
    return workspace(folder, {"shop/__init__.py": "", "shop/cart.py": CART})


def run(at: Workspace, text: str, writer: object = None) -> Reproduction:
    return asyncio.run(reproduce(at, text, write_draft=writer, seconds=120))  # type: ignore[arg-type]


def run_script(script: str, at: Workspace, tmp_path: Path, cart: str = CART) -> int:
    """Exit code of a script beside a version of the project."""
    package = tmp_path / "shop"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "cart.py").write_text(cart)
    (tmp_path / "script.py").write_text(script)
    return subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True).returncode


def test_a_told_trace_becomes_a_small_script_that_fails_until_the_fix(
    shop: Workspace, tmp_path: Path
) -> None:
    found = run(shop, TRACE)
    assert found.outcome is State.REPRODUCED
    assert found.failure is not None
    assert found.failure.kind == "exception"
    assert "import os" not in found.script
    assert "spare" not in found.script
    assert "from shop.cart import Cart" in found.script
    assert any("average" in each for each in found.places)
    assert run_script(found.script, shop, tmp_path) == 1
    fixed = CART.replace("/ len(self.prices)", "/ (len(self.prices) or 1)")
    assert run_script(found.script, shop, tmp_path, fixed) == 0
    states = [each.state for each in found.trail]
    assert all(after in NEXT[before] for before, after in pairwise(states))


def test_a_told_wrong_output_becomes_an_assertion(shop: Workspace, tmp_path: Path) -> None:
    found = run(shop, OUTPUT)
    assert found.failure is not None
    assert found.failure.kind == "output"
    assert run_script(found.script, shop, tmp_path) == 1
    assert run_script(found.script, shop, tmp_path, CART.replace("result = price", "result += price")) == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (">>> Cart([1]).average()\n7.0\n", "not seen"),
        (">>> import nothing_like_this\n>>> nothing_like_this.f(Cart([1]))\n3\n", "import"),
        (">>> Cart([1]).lucky()\n0.25\n", "not seen"),
        ("It prints an error:\n\n>>> [][1]\nTraceback (most recent call last):\nIndexError: list index out of range\n",
         "passes elsewhere"),
        (">>> Cart([2]).total() + 1\n3\n\nHere `Cart` raises a `KeyError`.\n", None),
    ],
    ids=["other value", "import", "random", "no code of the project", "kept"],
)  # fmt: skip
def test_what_the_report_does_not_tell_is_no_reproduction(
    shop: Workspace, text: str, reason: str | None
) -> None:
    found = run(shop, text)
    if reason is None:
        assert found.is_reproduced
    else:
        assert not found.is_reproduced
        assert reason in {each.reason for each in found.rejections}, found.rejections


def test_a_failure_that_comes_and_goes_is_no_reproduction(tmp_path: Path) -> None:
    dice = """\
        import os
        def roll():
            if os.environ["PYTHONHASHSEED"] != "0":  # as an order that comes from a set
                return 1
            raise KeyError("six")
        """
    at = workspace(tmp_path, {"dice.py": dice})
    found = run(at, "roll() fails with `KeyError: 'six'`\n\n    from dice import roll\n    roll()\n")
    assert [each.reason for each in found.rejections] == ["not deterministic"]


def test_a_models_script_is_judged_like_the_reports_own(shop: Workspace) -> None:
    asked: list[list[str]] = []

    async def write(report: Report, suspicion: Suspicion, rejections: Sequence[Rejection]) -> str:
        asked.append([each.reason for each in rejections])
        scripts = [
            "from shop.cart import Carts",  # an import that fails is no reproduction
            "from shop.cart import Cart\nassert 1 == 2",  # nor is a check that has nothing to do with the code
            "from shop.cart import Cart\nassert Cart([1, 2]).total() == 3",
        ]
        return scripts[len(asked) - 1] if len(asked) <= len(scripts) else ""

    found = run(shop, "The total of a cart with several prices is too low.", write)
    assert found.is_reproduced
    assert found.origin == "model"
    assert "assert Cart([1, 2]).total() == 3" in found.script
    assert len(asked) == 3
    assert asked[1] == ["import"]


@pytest.mark.parametrize(
    ("report", "is_reproduced"),
    [
        ("The total of a cart with several prices is too low.", False),
        ("The total of a cart is too low: 1 and 2 are 3.", True),
    ],
)
def test_what_a_small_model_expects_has_to_be_told(shop: Workspace, report: str, is_reproduced: bool) -> None:
    scripts = ["from shop.cart import Cart\nassert Cart([1, 2]).total() == 3"]

    async def write(report: Report, suspicion: Suspicion, rejections: Sequence[Rejection]) -> str:
        return scripts.pop() if scripts else ""

    found = asyncio.run(reproduce(shop, report, write_draft=write, wants_told=True))
    assert found.is_reproduced is is_reproduced
    if not is_reproduced:
        [rejection] = found.rejections
        assert rejection == Rejection(reason="not told", detail="the report does not tell 3")


def test_a_models_program_may_want_an_exception(shop: Workspace) -> None:
    program = """\
from shop.cart import Cart


def main():
    try:
        Cart([1]).total(discount=-1)
    except ValueError:
        pass
    else:
        assert False


if __name__ == "__main__":
    main()
"""
    written = [program]

    async def write(report: Report, suspicion: Suspicion, rejections: Sequence[Rejection]) -> str:
        return written.pop() if written else ""

    found = run(shop, "The total of a cart has to raise an error for a discount below zero.", write)
    assert found.is_reproduced, found.rejections
    assert found.failure is not None
    assert found.failure.kind == "assertion"


def test_without_code_and_without_a_model_it_says_so(shop: Workspace) -> None:
    found = run(shop, "The total of a cart with several prices is too low.")
    assert found.outcome is State.NOT_REPRODUCED
    assert found.runs == 0
    assert "no code" in found.reason


def test_hostile_code_changes_nothing_and_reaches_nothing(shop: Workspace, tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("kept")
    text = f"""\
Deleting crashes with `KeyError: 'x'`

    import os, shutil, socket
    from shop.cart import Cart
    try:
        shutil.rmtree({str(shop.root)!r}); os.remove({str(victim)!r})
    except OSError:
        pass
    try:
        open({str(shop.root / "shop" / "cart.py")!r}, "w").write("")
    except OSError:
        pass
    try:
        socket.create_connection(("127.0.0.1", 80), 2)
    except OSError:
        pass
    os.kill(os.getppid(), 9)
    Cart([]).average()
"""
    before = sorted(str(each) for each in shop.root.rglob("*"))
    found = run(shop, text)
    assert not found.is_reproduced
    assert victim.read_text() == "kept"
    assert (shop.root / "shop" / "cart.py").read_text() == CART
    assert sorted(str(each) for each in shop.root.rglob("*")) == before


def test_a_report_is_never_run_without_a_sandbox(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"shop/__init__.py": "", "shop/cart.py": CART})
    at.sandbox = Unconfined(at.root, spill=tmp_path)
    with pytest.raises(UserError, match="not run without a sandbox"):
        run(at, TRACE)
