"""The server of TypeScript that is found on the PATH, started by the command line that would be stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.code.lsp.test_session_servers import act, session
from tests.tools.workspaces import workspace
from tools.code.code_tool import code
from tools.code.lsp.known_servers import find_server
from tools.code.lsp.rename_tool import rename

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine is no finding

FOUND = find_server("typescript", (), Path(__file__).parent)

SHOP = {
    "cart.ts": """\
        export class Cart {
            total(): number { return 1; }
        }
        export class Order {
            total(): number { return 2; }
        }
        """,
    "report.ts": """\
        import { Cart, Order } from "./cart";

        export const daily = () => new Cart().total();
        export const yearly = () => new Order().total();
        """,
    "tsconfig.json": '{"include": ["*.ts"]}\n',
}


@pytest.mark.skipif(FOUND is None, reason="no typescript-language-server here")
def test_methods_of_one_name_are_told_apart_and_renamed_apart(tmp_path: Path) -> None:
    assert FOUND is not None
    assert FOUND.languages == ("typescript", "tsx", "javascript")
    at = workspace(tmp_path, SHOP)

    async def played() -> str:
        for _ in range(8):  # on a busy machine its first answers come late, or before it has read the project
            told = (await act(code, at, action="references", target="cart.ts:5 total")).text
            if "as typescript-language-server tells" in told:
                break
        await act(rename, at, name="cart.ts:5 total", to="sumUp")
        return told

    told, _ = session(at, dict.fromkeys(FOUND.languages, FOUND.command), played)
    assert "new Order().total()" in told
    assert "new Cart().total()" not in told
    assert "new Order().sumUp()" in (at.root / "report.ts").read_text()
    assert "new Cart().total()" in (at.root / "report.ts").read_text()
