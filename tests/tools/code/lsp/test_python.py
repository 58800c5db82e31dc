"""The same with a server of Python's, where one is installed beside the tests or on the PATH."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.tools.code.lsp.test_session_servers import act, session
from tests.tools.workspaces import workspace
from tools.code.code_tool import code
from tools.code.lsp.rename_tool import rename

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine is no finding

NAMES = ("jedi-language-server", "pylsp", "pyright-langserver")
FOUND = [
    where
    for name in NAMES
    if (where := shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent)))
]
COMMAND = f"{FOUND[0]} --stdio" if FOUND and "pyright" in FOUND[0] else FOUND[0] if FOUND else ""

needs_server = pytest.mark.skipif(not FOUND, reason=f"none of {', '.join(NAMES)} here")

SHOP = {
    "cart.py": """
        class Cart:
            def total(self):
                return 1

        class Order:
            def total(self):
                return 2
        """,
    "report.py": """
        from cart import Cart, Order

        def daily() -> int:
            return Cart().total()

        def yearly() -> int:
            return Order().total()
        """,
}


@needs_server
def test_methods_of_one_name_are_told_apart_and_renamed_apart(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def played() -> str:
        told = (await act(code, at, action="callers", target="Order.total")).text
        await act(rename, at, name="Order.total", to="sum_up")
        return told

    told, _ = session(at, {"python": COMMAND}, played)
    assert "return Order().total()" in told
    assert "return Cart().total()" not in told
    assert "return Order().sum_up()" in (at.root / "report.py").read_text()
    assert "return Cart().total()" in (at.root / "report.py").read_text()
    assert (at.root / "cart.py").read_text().count("sum_up") == 1
