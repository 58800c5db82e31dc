"""Language servers of the user's: real ones where there are some, and what becomes of broken ones."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.tools.workspaces import workspace
from tools.code.code_tool import code
from tools.code.lsp.rename_tool import apply_server_edits, rename
from tools.code.lsp.session_servers import Servers
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.edit.edit_tools import edit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine is no finding

Answered = TypeVar("Answered")

CLANGD = shutil.which("clangd")
needs_clangd = pytest.mark.skipif(CLANGD is None, reason="no clangd here")

SHOP = {
    "shop.h": "struct Cart { int prices[4]; };\nint total(struct Cart *cart);\nint mailed(int total);\n",
    "shop.c": """\
        #include "shop.h"

        int total(struct Cart *cart) { return cart->prices[0]; }

        int rounded(struct Cart *cart) {
            return total(cart) / 10;
        }

        int mailed(int total) {
            return total + 1;
        }
        """,
}


def session(
    at: Workspace, commands: dict[str, str], story: Callable[[], Awaitable[Answered]]
) -> tuple[Answered, Servers]:
    """What a story tells that is played in a session with these servers, which end with it."""

    async def played() -> tuple[Answered, Servers]:
        at.servers = Servers(commands)
        try:
            return await story(), at.servers
        finally:
            await at.servers.close()

    return asyncio.run(played())


async def act(tool: Tool, at: Workspace, **arguments: object) -> Observation:
    return await tool.run(**tool.validate(arguments), at=at)


@needs_clangd
def test_uses_of_another_thing_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def asked() -> str:
        return (await act(code, at, action="references", target="shop.c:3 total")).text

    told, _ = session(at, {"c": "clangd"}, asked)
    assert "clangd" in told.split("\n")[0], told
    assert "6: return total(cart) / 10;" in told
    assert "10: return total + 1;" not in told


@needs_clangd
def test_a_name_is_followed_to_the_definition_that_it_means(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def asked() -> list[str]:
        targets = ("shop.c:10 total", "shop.c:6 total")
        return [(await act(code, at, action="find", target=each)).text for each in targets]

    (parameter, function), _ = session(at, {"c": "clangd"}, asked)
    assert "shop.c:9: int mailed(int total) {" in parameter
    assert "shop.c:3: int total(" in function


@needs_clangd
def test_a_rename_changes_that_very_thing_and_can_be_undone_like_an_edit(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def renamed() -> Observation:
        return await act(rename, at, name="shop.c:10 total", to="amount")

    told, _ = session(at, {"c": "clangd"}, renamed)
    text = (at.root / "shop.c").read_text()
    assert "int mailed(int amount) {\n    return amount + 1;" in text
    assert "return total(cart) / 10;" in text
    assert "the name still stands at shop.c:3" in told.text
    assert b"return total + 1;" in (at.changes.originals["shop.c"] or b"")


@needs_clangd
def test_a_rename_changes_nothing_where_a_rule_speaks_against_one_of_its_files(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def renamed() -> str:
        at.servers = Servers({"c": "clangd"}, spared=lambda path: path == "shop.c")
        try:
            with pytest.raises(ToolFailure) as refusal:
                await act(rename, at, name="shop.c:3 total", to="sum")
        finally:
            await at.servers.close()
        return str(refusal.value)

    assert "shop.c would have to change" in asyncio.run(renamed())
    assert "int total(" in (at.root / "shop.c").read_text()


@needs_clangd
def test_what_an_edit_breaks_is_told_and_what_was_broken_before_is_not(tmp_path: Path) -> None:
    at = workspace(
        tmp_path, {**SHOP, "late.c": "int broken(void) { return nowhere; }\nint fine(void) { return 1; }\n"}
    )

    async def edited() -> str:
        await act(
            code, at, action="find", target="shop.c:6 total"
        )  # it is up: the edit does not wait for a start
        return (await act(edit, at, path="late.c", old="return 1;", new="return elsewhere;")).text

    told, _ = session(at, {"c": "clangd"}, edited)
    assert "late.c:2:" in told
    assert "elsewhere" in told.partition("new for the language server:")[2]
    assert "nowhere" not in told.partition("new for the language server:")[2]


@needs_clangd
def test_an_answer_is_of_the_files_as_they_are_now(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def asked() -> str:
        await act(code, at, action="references", target="shop.c:3 total")
        path = at.root / "shop.c"
        path.write_text(path.read_text().replace("int rounded", "\n\nint rounded"))
        return (await act(code, at, action="references", target="shop.c:3 total")).text

    told, _ = session(at, {"c": "clangd"}, asked)
    assert "8: return total(cart) / 10;" in told


@needs_clangd
def test_a_server_ends_with_its_session(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def asked() -> list[str]:
        await act(code, at, action="references", target="shop.c:3 total")
        return _running_in(at.root)

    during, _ = session(at, {"c": "clangd"}, asked)
    assert during
    assert not _running_in(at.root)


def _running_in(folder: Path) -> list[str]:
    """Processes whose working folder this is."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                where = str((entry / "cwd").readlink())
                program = (entry / "cmdline").read_bytes().split(b"\0")[0]
            except OSError:  # it has ended, or is not ours
                continue
            if where == str(folder) and program.endswith(b"clangd"):
                found.append(entry.name)
    return found


BROKEN = {
    "missing": "no-such-server-anywhere --stdio",
    "ends": f"{sys.executable} -c pass",
    "babbles": f"{sys.executable} -c \"print('hello\\n' * 40, flush=True); input(); input()\"",
    "lies": f"{sys.executable} -c \"print('Content-Length: 4\\r\\n\\r\\nnone', flush=True); input(); input()\"",
}


@pytest.mark.parametrize("command", BROKEN.values(), ids=BROKEN.keys())
def test_without_a_server_that_works_the_index_answers_and_says_why(tmp_path: Path, command: str) -> None:
    at = workspace(tmp_path, SHOP)

    async def asked() -> tuple[str, str]:
        first = (await act(code, at, action="references", target="shop.c:3 total")).text
        return first, (await act(code, at, action="references", target="shop.c:3 total")).text

    (first, second), _ = session(at, {"c": command}, asked)
    assert "return total(cart) / 10;" in first
    assert "has no answer" in first
    assert "return total(cart) / 10;" in second
    assert "has no answer" not in second  # it is not tried again


def test_a_rename_without_a_server_changes_nothing_and_says_so(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    async def renamed() -> str:
        with pytest.raises(ToolFailure) as refusal:
            await act(rename, at, name="shop.c:3 total", to="sum")
        return str(refusal.value)

    told, _ = session(at, {}, renamed)
    assert "no language server" in told
    assert "int total(" in (at.root / "shop.c").read_text()


def test_edits_of_a_server_are_of_the_text_as_it_was() -> None:
    def at(line: int, start: int, end: int, new: str) -> dict[str, object]:
        places = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
        return {"range": places, "newText": new}

    text = "a = b\n𝒳 = a + a\n"
    assert apply_server_edits(text, [at(1, 5, 6, "long"), at(0, 0, 1, "long"), at(1, 9, 10, "long")]) == (
        "long = b\n𝒳 = long + long\n"
    )
    with pytest.raises(ToolFailure, match="over each other"):
        apply_server_edits(text, [at(0, 0, 3, "x"), at(0, 2, 4, "y")])
    with pytest.raises(ToolFailure, match="no sense"):
        apply_server_edits(text, [{"newText": "x"}])
