"""The tools in a server of this process: results and their schemas, rights, limits, order of writers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.server.session import ServerSession

from agent.app_dirs import Home
from cli.protocols.mcp_server import call_table
from cli.protocols.mcp_server import server as server_module
from cli.protocols.mcp_server.bounded_json import bound_json
from cli.protocols.mcp_server.offered.apply_tool import APPLY
from cli.protocols.mcp_server.offered.review_tool import REVIEW, ReviewArguments
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult
from tests.cli.protocols.mcp_server.serving import (
    call_tool,
    check_tools,
    connect,
    open_server,
    read_text,
    run_client,
)
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

MODERN = "2026-07-28"

SLIP = """\
cart.py
<<<<<<< SEARCH
for price in prices[1:]:
=======
for price in prices:
>>>>>>> REPLACE
"""

TRIGGER = """\
.github/workflows/a.yml
<<<<<<< SEARCH
on: push
=======
on: pull_request
>>>>>>> REPLACE
"""


def test_the_code_is_asked_about_as_it_is_now(shop: Repo) -> None:
    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            found = await call_tool(client, "symbols", query="find", target="total")
            assert found.structured_content["answer"][0]["path"] == "cart.py"
            assert read_text(found).startswith("total: 1 definition")
            shop.write("till.py", "def close_till():\n    return 1\n")
            shown = await call_tool(client, "map", tokens=500)
            assert "till.py" in read_text(shown)
            nothing = await call_tool(client, "symbols", query="callers", target="nobody")
            assert nothing.structured_content == {"found": False, "answer": [], "truncated": False}
            place = await call_tool(client, "localize", text="the till cannot be closed")
            assert place.structured_content["files"][0]["path"] == "till.py"
            resource = await client.read_resource("patchwright://map")
            assert "till.py" in str(resource.contents[0])
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("patchwright://other")

    run_client(work())


@pytest.mark.slow
def test_the_tests_are_run_and_repaired(shop: Repo) -> None:
    needs_confinement(shop.root)

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            run = await call_tool(client, "run_tests", tests=["test_cart.py"])
            assert (run.is_error, run.structured_content["outcome"]) == (False, "failed")
            assert [each["id"] for each in run.structured_content["failures"]] == [
                "test_cart.py::test_total",
                "test_cart.py::test_average",
            ]
            suspects = (await call_tool(client, "localize", tests=["all"])).structured_content["suspects"]
            assert suspects[0]["path"] == "cart.py"
            found = await call_tool(client, "repair")
            data = found.structured_content
            assert (data["outcome"], data["applied"], data["left"]) == ("fixed", False, [])
            assert data["patch"].startswith("--- a/cart.py\n+++ b/cart.py\n")
            assert shop.git("status", "--porcelain") == ""  # nothing is written
            done = await call_tool(client, "apply", patch=data["patch"])
            assert done.structured_content["files"] == ["cart.py"]
            again = await call_tool(client, "run_tests")
            assert again.structured_content["outcome"] == "passed"
            shop.git("checkout", "-q", "cart.py")
            written = await call_tool(client, "repair", tests=["test_cart.py::test_total"], apply=True)
            assert written.structured_content["applied"] is True
            assert shop.read("cart.py") != shop.show("cart.py")
            nothing = await call_tool(client, "repair")
            assert nothing.structured_content["outcome"] == "all-pass"

    run_client(work())


def test_a_patch_is_applied_wholly_or_not_at_all(shop: Repo) -> None:
    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            dry = await call_tool(client, "apply", patch=SLIP, dry_run=True)
            assert dry.structured_content["applied"] is False
            assert "+    for price in prices:" in dry.structured_content["diff"]
            assert "prices[1:]" in shop.read("cart.py")
            half = await call_tool(client, "apply", patch=SLIP + SLIP.replace("for price", "for nothing"))
            assert half.is_error
            assert "prices[1:]" in shop.read("cart.py")
            done = await call_tool(client, "apply", patch=SLIP)
            assert done.structured_content["diff"] == dry.structured_content["diff"]
            assert "    for price in prices:\n" in shop.read("cart.py")
            for patch in ("no patch", "../out.py\n" + SLIP.partition("\n")[2]):
                refused = await call_tool(client, "apply", patch=patch)
                assert refused.is_error
                assert refused.structured_content["applied"] is False

    run_client(work())
    assert not (shop.root.parent / "out.py").exists()


def test_no_result_has_a_secret(shop: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a variable's value nor a token, as text, as structure, in a resource."""
    value, token = "Zq81-private-value-55", "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    monkeypatch.setenv("MY_API_KEY", value)
    line = f"    note = '{value}', '{token}'\n"
    shop.write("cart.py", shop.read("cart.py").replace("    result = 0\n", f"{line}    result = 0\n"))
    shop.write("ways.py", f"def pay(key='{value}', token='{token}'):\n    return key\n")

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            dry = await call_tool(client, "apply", patch=SLIP, dry_run=True)
            assert "[redacted]" in dry.structured_content["diff"]
            outline = await call_tool(client, "symbols", query="outline", target="ways.py")
            review = await call_tool(client, "review")
            resource = await client.read_resource("patchwright://map")
            for each in (dry, outline, review, resource):
                assert value not in each.model_dump_json()
                assert token not in each.model_dump_json()

    run_client(work())


def test_a_change_is_reviewed(shop: Repo) -> None:
    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            nothing = await call_tool(client, "review")
            assert nothing.structured_content["changed"] is False
            shop.write("cart.py", shop.read("cart.py") + "\n\nbreakpoint()\n")
            found = (await call_tool(client, "review")).structured_content
            assert [(each["path"], each["check"]) for each in found["findings"]] == [("cart.py", "leftovers")]
            wrong = await call_tool(client, "review", commit="no-such")
            assert wrong.is_error
            assert read_text(wrong).startswith("no commit 'no-such' here")

    run_client(work())


def test_linters_run_only_where_commands_may_and_as_the_options_say(shop: Repo) -> None:
    """A server that only reads runs none; without a sandbox they are left out, and that is said."""
    shop.write("ruff.toml", 'lint.select = ["F"]\n')
    shop.write("cart.py", f"import os\n{shop.read('cart.py')}")

    async def list_checks(*, reads_only: bool) -> list[str]:
        async with (
            open_server(shop.root, reads_only=reads_only, sandbox="unconfined") as server,
            connect(server.sdk, MODERN) as client,
        ):
            review = await call_tool(client, "review")
            return [each["check"] for each in review.structured_content["findings"]]

    assert asyncio.run(list_checks(reads_only=True)) == []
    assert asyncio.run(list_checks(reads_only=False)) == ["linters"]


def test_a_cancelled_review_asks_no_model_any_more(shop: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    shop.write("cart.py", shop.read("cart.py") + "\nx = 1\n")
    asked, left = asyncio.Event(), asyncio.Event()

    async def keep_waiting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readline()
            asked.set()
            while await reader.read(65536):
                pass
            left.set()
        finally:
            writer.close()

    async def work() -> None:
        async with await asyncio.start_server(keep_waiting, "127.0.0.1", 0) as model:
            port = model.sockets[0].getsockname()[1]
            flags = {"model": "openai/test", "api_base": f"http://127.0.0.1:{port}"}
            home = Home.from_environment()
            repository = ServedRepository(shop.root, home, flags, reads_only=False, may_commit=False)
            call = OpenCall(can_ask=False)
            call.start(REVIEW.run(ReviewArguments(opinion=True), repository, call))
            async with asyncio.timeout(30):
                await asked.wait()
                await call.end()
                await left.wait()

    run_client(work())


def test_each_tool_tells_how_it_may_be_treated(shop: Repo) -> None:
    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            tools = await check_tools(client)
            assert list(tools) == [
                "localize",
                "symbols",
                "map",
                "run_tests",
                "repair",
                "apply",
                "review",
                "run",
            ]
            hints = {name: each.annotations for name, each in tools.items()}
            assert {name for name, each in hints.items() if each and each.read_only_hint} == {
                "symbols",
                "map",
                "review",
            }
            assert {name for name, each in hints.items() if each and each.destructive_hint} == {
                "repair",
                "apply",
                "run",
            }

    run_client(work())


@pytest.mark.parametrize("by", ["option", "settings"])
def test_a_server_that_only_reads_offers_nothing_else(shop: Repo, by: str) -> None:
    if by == "settings":
        settings = Home.from_environment().config / "settings.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text('mode = "read-only"\n', "utf-8")

    async def work() -> None:
        async with (
            open_server(shop.root, reads_only=by == "option") as server,
            connect(server.sdk, MODERN) as client,
        ):
            tools = await check_tools(client)
            assert list(tools) == ["localize", "symbols", "map", "review"]
            assert all(each.annotations and each.annotations.read_only_hint for each in tools.values())
            assert list(tools["localize"].input_schema["properties"]) == ["text"]
            assert not (await call_tool(client, "map")).is_error
            for name in ("apply", "run", "run_tests", "repair"):
                with pytest.raises(MCPError, match="there is no tool"):
                    await client.call_tool(name, {"patch": SLIP})

    run_client(work())


def test_rules_of_the_user_bind_a_client(shop: Repo) -> None:
    """A file that may not be read is not in the map, nor in an answer; one that may not be written is not."""
    settings = Home.from_environment().config / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[permissions]\ndeny = ["read(secret.py)", "edit(cart.py)"]\n', "utf-8")
    shop.write("secret.py", "def open_vault():\n    return 1\n")

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            assert "open_vault" not in read_text(await call_tool(client, "map"))
            found = await call_tool(client, "symbols", query="find", target="open_vault")
            assert found.structured_content["found"] is False
            patch = SLIP.replace("cart.py", "secret.py").replace(
                "for price in prices[1:]:", "def open_vault():"
            )
            dry = await call_tool(client, "apply", patch=patch, dry_run=True)
            assert dry.is_error
            assert "return 1" not in read_text(dry)
            refused = await call_tool(client, "apply", patch=SLIP)
            assert refused.is_error
            assert "denied" in read_text(refused)

    run_client(work())
    assert "prices[1:]" in shop.read("cart.py")


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("map", {"size": 3}, "map: there is no argument 'size'"),
        ("map", {"tokens": 10**9}, "map: tokens: input should be less than or equal to 6000"),
        ("symbols", {}, "symbols: query is missing"),
        ("symbols", {"query": "drop"}, "symbols: query: input should be 'outline'"),
        ("localize", {}, "localize: give either a text or tests"),
        ("localize", {"text": "x", "tests": ["all"]}, "localize: give either a text or tests"),
        ("run", {}, "run: prompt is missing"),
        ("run", {"session": "../../x", "prompt": "x"}, "no session '../../x' in this project"),
        ("run", {"session": "nobody", "prompt": "x"}, "no session 'nobody' in this project"),
        ("repair", {"budget": 0}, "repair: budget: input should be greater than or equal to 1"),
    ],
)
def test_arguments_that_do_not_fit_are_named(
    shop: Repo, name: str, arguments: dict[str, Any], problem: str
) -> None:
    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            result = await call_tool(client, name, **arguments)
            assert result.is_error
            assert read_text(result).startswith(problem)
            assert len(read_text(result)) < 1000

    run_client(work())


def test_calls_run_beside_each_other_up_to_a_bound(shop: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_table, "MOST_CALLS", 4)

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            results = await asyncio.gather(*(call_tool(client, "map") for _ in range(10)))
            refused = [read_text(each) for each in results if each.is_error]
            assert refused == ["4 calls are at work\nWait for one of them."] * 6
            assert not (await call_tool(client, "map")).is_error

    run_client(work())


def test_a_client_hears_of_a_call_that_takes_long(shop: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HEARTBEAT_SECONDS", 0.05)
    heard = asyncio.Event()

    async def wait(arguments: Arguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
        await heard.wait()
        return ToolResult(text="done", data=Arguments())

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (message or "").startswith("at work for ")
        if progress == 3:
            heard.set()

    slow = ServedTool(
        name="slow", title="slow", description="slow", arguments=Arguments, result=Arguments, run=wait
    )

    async def work() -> None:
        async with (
            open_server(shop.root, tools={"slow": slow}) as server,
            connect(server.sdk, MODERN) as client,
        ):
            result = await client.call_tool("slow", {}, progress_callback=hear)
            assert read_text(result) == "done"

    run_client(work())


def test_work_ends_whatever_ends_its_call(shop: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the connection while progress is told: the work does not go on with the lock of writers."""
    ended: list[str] = []

    async def wait(arguments: Arguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
        async with repository.write_in_turn(call):
            call.report("begun")
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("work")
        raise AssertionError

    async def fail(self: ServerSession, progress: float, total: float | None, message: str | None) -> None:
        raise OSError("the connection broke")

    stuck = ServedTool(
        name="stuck", title="stuck", description="stuck", arguments=Arguments, result=Arguments, run=wait
    )

    async def work() -> None:
        async with (
            open_server(shop.root, tools={"stuck": stuck, "apply": APPLY}) as server,
            connect(server.sdk, MODERN) as client,
        ):
            with monkeypatch.context() as patched:
                patched.setattr(ServerSession, "report_progress", fail)
                with pytest.raises(MCPError):
                    await client.call_tool("stuck", {})
            assert ended == ["work"]
            assert not (await call_tool(client, "apply", patch=SLIP)).is_error

    run_client(work())


def test_writers_follow_each_other(shop: Repo) -> None:
    """Ten patches at once, each of the same line: every one is applied to what the one before left."""
    shop.write("count.txt", "0\n")

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            patches = [
                f"count.txt\n<<<<<<< SEARCH\n{n}\n=======\n{n + 1}\n>>>>>>> REPLACE\n" for n in range(10)
            ]
            results = await asyncio.gather(*(call_tool(client, "apply", patch=each) for each in patches))
            assert [each.is_error for each in results] == [False] * 10

    run_client(work())
    assert shop.read("count.txt") == "10\n"


def test_nothing_stays_of_a_single_call(shop: Repo) -> None:
    """Nor of one whose server was killed the day before; one of another server that is at work stays until its end."""
    calls = Home.from_environment().cache / "mcp"
    for name, age in (("call-killed", 100_000), ("call-at-work", 10)):
        (calls / name / "log").mkdir(parents=True)
        os.utime(calls / name, (time.time() - age,) * 2)

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            await call_tool(client, "map")
            await call_tool(client, "apply", patch=SLIP)

    run_client(work())
    home = Home.from_environment()
    assert os.listdir(calls) == ["call-at-work"]
    assert os.listdir(home.cache / "work") == []
    assert not (home.get_project_folder(shop.root) / "sessions").exists()


def test_results_are_cut_to_a_bound() -> None:
    value = {"files": [{"path": "a" * 50, "reasons": ["b" * 100] * 20}] * 5000, "text": "c" * 100_000}
    cut, was_cut = bound_json(value, 64_000)
    assert was_cut
    assert len(str(cut)) < 80_000
    assert len(cut["files"]) >= 5
    assert bound_json({"a": [1, 2]}, 64_000) == ({"a": [1, 2]}, False)
    assert bound_json({"a" * 100: 1}, 10) == (None, True)


def test_a_fault_of_one_call_ends_that_call(shop: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that goes away meanwhile."""

    async def work() -> None:
        async with open_server(shop.root) as server, connect(server.sdk, MODERN) as client:
            shop.root.rename(Path(f"{shop.root}-gone"))
            gone = await call_tool(client, "map")
            assert gone.is_error
            assert read_text(gone).startswith("no such folder")
            Path(f"{shop.root}-gone").rename(shop.root)
            assert not (await call_tool(client, "map")).is_error

    run_client(work())
