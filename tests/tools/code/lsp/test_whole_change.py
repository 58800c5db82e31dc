"""Renames and new diagnostics with servers that know the project late, and the disk only as they are told."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.cli import CHECKOUT
from tests.tools.code.lsp.test_session_servers import act, session
from tests.tools.workspaces import workspace
from tools.code.code_tool import code
from tools.code.lsp.rename_tool import rename
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.edit.edit_tools import apply_patch, edit
from tools.fs.file_tools import read, write

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine is no finding

Answered = TypeVar("Answered")

REAL = {
    "basedpyright-langserver": "--stdio",
    "pyright-langserver": "--stdio",
    "ty": "server",
    "zuban": "server",
}
"""Servers of Python's that are run where they are installed."""

SHOP = {
    "cart.py": """\
        def price(count: int) -> int:
            return count
        """,
    "report.py": """\
        from cart import price

        print(price(1))
        """,
    "mail.py": """\
        from cart import price

        print(price(2))
        """,
}

HEAD = "new for the language server:"


def twin(tmp_path: Path, habits: str) -> tuple[Workspace, str]:
    at = workspace(tmp_path, SHOP)
    shutil.copy(CHECKOUT / "tests/tools/code/lsp/twin_server.py", at.root / "twin.txt")
    return at, f"TWIN={habits} python3 twin.txt"


def real(tmp_path: Path, name: str) -> tuple[Workspace, str]:
    program = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"no {name} here")
    return workspace(tmp_path, SHOP), f"{program} {REAL[name]}"


def play(at: Workspace, command: str, story: Callable[[], Awaitable[Answered]]) -> Answered:
    return session(at, {"python": command}, story)[0]


@pytest.fixture(params=["twin:s", "twin:sd", "twin:d", *REAL])
def workspace_and_server(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Workspace, str]:
    kind, _, habits = request.param.partition(":")
    return twin(tmp_path, habits) if kind == "twin" else real(tmp_path, kind)


def test_the_first_rename_of_a_session_changes_all_places(
    workspace_and_server: tuple[Workspace, str],
) -> None:
    at, command = workspace_and_server

    async def rename_symbol() -> str:
        return (await act(rename, at, name="cart.py:1 price", to="cost")).text

    told = play(at, command, rename_symbol)
    for name in SHOP:
        text = (at.root / name).read_text()
        assert "cost" in text
        assert "price" not in text
    assert HEAD not in told


def test_references_of_the_first_question_are_not_fewer_than_the_index_has(
    workspace_and_server: tuple[Workspace, str],
) -> None:
    at, command = workspace_and_server

    async def ask_references() -> str:
        return (await act(code, at, action="references", target="cart.py:1 price")).text

    told = play(at, command, ask_references)
    assert "3: print(price(1))" in told
    assert "3: print(price(2))" in told


def test_a_server_that_knows_nothing_of_an_import_renames_nothing(tmp_path: Path) -> None:
    at, command = twin(tmp_path, "n")

    async def rename_symbol() -> str:
        with pytest.raises(ToolFailure) as refusal:
            await act(rename, at, name="cart.py:1 price", to="cost")
        return str(refusal.value)

    told = play(at, command, rename_symbol)
    assert "mail.py:1" in told
    assert "report.py:1" in told
    assert "def price" in (at.root / "cart.py").read_text()


def test_references_that_a_server_knows_nothing_of_are_named(tmp_path: Path) -> None:
    at, command = twin(tmp_path, "n")

    async def ask_references() -> str:
        return (await act(code, at, action="references", target="cart.py:1 price")).text

    told = play(at, command, ask_references)
    assert "mail.py:1" in told
    assert "report.py:1" in told


PATCH = """\
*** Begin Patch
*** Update File: report.py
@@
-from cart import price
+from cart import cost
 
-print(price(1))
+print(cost(1))
*** Update File: mail.py
@@
-from cart import price
+from cart import cost
 
-print(price(2))
+print(cost(2))
*** Update File: cart.py
@@
-def price(count: int) -> int:
+def cost(count: int) -> int:
*** End Patch
"""


def test_a_right_change_of_several_files_has_no_new_errors(
    workspace_and_server: tuple[Workspace, str],
) -> None:
    at, command = workspace_and_server

    async def apply_changes() -> str:
        await act(read, at, path="cart.py")
        return (await act(apply_patch, at, patch=PATCH)).text

    told = play(at, command, apply_changes)
    assert "def cost" in (at.root / "cart.py").read_text()
    assert HEAD not in told


def test_what_a_command_wrote_meanwhile_is_no_new_error(workspace_and_server: tuple[Workspace, str]) -> None:
    at, command = workspace_and_server

    async def edited() -> str:
        await act(edit, at, path="report.py", old="print(price(1))", new="print(price(3))")
        text = (at.root / "cart.py").read_text()
        (at.root / "cart.py").write_text(f"{text}\n\ndef tax() -> int:\n    return 1\n")
        (at.root / "more.py").write_text("def extra() -> int:\n    return 1\n")
        new = (
            "from cart import price\nfrom cart import tax\nfrom more import extra\n\nprint(tax(), extra())\n"
        )
        return (await act(edit, at, path="report.py", old="from cart import price\n", new=new)).text

    assert HEAD not in play(at, command, edited)


def test_an_error_of_a_change_is_told_at_the_first_edit(workspace_and_server: tuple[Workspace, str]) -> None:
    at, command = workspace_and_server

    async def edited() -> str:
        await act(read, at, path="report.py")
        return (await act(edit, at, path="report.py", old="import price", new="import prize")).text

    told = play(at, command, edited)
    assert "report.py:1:" in told.partition(HEAD)[2]


@pytest.mark.parametrize("habits", ["l", "ld"])
def test_an_old_complaint_that_names_its_line_is_no_new_one(tmp_path: Path, habits: str) -> None:
    at, command = twin(tmp_path, habits)
    (at.root / "old.py").write_text("first = 1\nbad = 1\nlast = 1\n")

    async def edited() -> tuple[str, str]:
        moved = (await act(edit, at, path="old.py", old="first = 1", new="first = 1\n\nsecond = 2")).text
        return moved, (await act(edit, at, path="old.py", old="last = 1", new="bad_again = 1")).text

    moved, added = play(at, command, edited)
    assert HEAD not in moved
    assert "old.py:5:" in added.partition(HEAD)[2]
    assert "old.py:4:" not in added


def test_a_server_without_an_answer_is_named(tmp_path: Path) -> None:
    at, command = twin(tmp_path, "q")

    async def edited() -> str:
        return (await act(edit, at, path="report.py", old="price(1)", new="price(2)")).text

    assert "no answer yet from the language server python3" in play(at, command, edited)


def test_a_server_that_cannot_start_is_named_once(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def edited() -> tuple[str, str]:
        first = (await act(edit, at, path="report.py", old="price(1)", new="price(2)")).text
        return first, (await act(edit, at, path="report.py", old="price(2)", new="price(3)")).text

    first, second = play(at, "no-such-server-anywhere --stdio", edited)
    assert "the language server no-such-server-anywhere is of no help: " in first
    assert "language server" not in second


def test_a_new_file_and_a_removed_one_belong_to_the_change(
    workspace_and_server: tuple[Workspace, str],
) -> None:
    at, command = workspace_and_server
    patch = PATCH.replace("from cart import cost", "from till import cost").partition(
        "*** Update File: cart.py"
    )[0]
    patch += "*** Add File: till.py\n+def cost(count: int) -> int:\n+    return count\n"
    patch += "*** Delete File: cart.py\n*** End Patch\n"

    async def apply_changes() -> tuple[str, str]:
        told = (await act(apply_patch, at, patch=patch)).text
        return told, (
            await act(write, at, path="late.py", content="from till import cost\n\nprint(cost(1))\n")
        ).text

    first, second = play(at, command, apply_changes)
    assert HEAD not in first
    assert HEAD not in second


def test_a_server_that_is_asked_to_end_has_no_reason_to_refuse(tmp_path: Path) -> None:
    at, command = twin(tmp_path, "")

    async def ended() -> float:
        await act(code, at, action="references", target="cart.py:1 price")
        start = asyncio.get_running_loop().time()
        assert at.servers is not None
        await at.servers.close()
        return asyncio.get_running_loop().time() - start

    assert play(at, command, ended) < 1.5


def test_an_import_that_fails_in_other_files_too_is_not_the_changes_fault(tmp_path: Path) -> None:
    at, command = twin(tmp_path, "")
    (at.root / "old.py").write_text("from somewhere import thing\n")

    async def edited() -> tuple[str, str]:
        content = "from somewhere import thing\nprint(1)\n"
        known = (await act(write, at, path="new.py", content=content)).text
        content = "from invented import thing\nprint(1)\n"
        return known, (await act(write, at, path="other.py", content=content)).text

    known, invented = play(at, command, edited)
    assert HEAD not in known
    assert "other.py:1:" in invented.partition(HEAD)[2]
