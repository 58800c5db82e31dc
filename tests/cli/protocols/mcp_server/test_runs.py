"""Whole tasks: progress, approvals, cancellation, sessions that go on, commits; and the offline engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from agent.app_dirs import Home
from cli.protocols.mcp_server import call_table
from tests.cli.protocols.mcp_server.serving import (
    REVISIONS,
    call_tool,
    connect,
    open_server,
    read_text,
    run_client,
    wait_until,
)
from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

MODERN = "2026-07-28"
ASKING = ("2025-06-18", "2025-11-25", MODERN)
"""Revisions with elicitation."""

FIX = call("edit", path="cart.py", old="prices[1:]", new="prices")
PUSH = call("shell", command="git push origin main")
TRIGGER = call("edit", path=".github/workflows/a.yml", old="on: push", new="on: pull_request")


def read_events(shop: Repo, session: str) -> str:
    return (
        Home.from_environment().get_project_folder(shop.root) / "sessions" / session / "log.jsonl"
    ).read_text()


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_task_is_done_and_its_steps_are_told(
    shop: Repo, tmp_path: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(tmp_path, [{"text": "First the total.", "calls": [FIX]}, {"text": "Done."}])
    told: list[str] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        assert progress == len(told) + 1
        told.append(message or "")

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            connect(server.sdk, revision, monkeypatch) as client,
        ):
            assert client.protocol_version == revision
            result = await client.call_tool("run", {"prompt": "mend the total"}, progress_callback=tell)
            assert not result.is_error
            assert read_text(result).startswith("Done.")
            session = read_text(result).partition("session: ")[2].split()[0]
            assert told[0] == f"session {session}"
            assert any("edit cart.py: +1 −1" in each for each in told)
            if revision >= "2025-06-18":  # before, results had no structure
                assert result.structured_content["session"] == session
                assert result.structured_content["files"] == ["cart.py"]
                assert result.structured_content["steps"] == 2

    run_client(work())
    assert "for price in prices:" in shop.read("cart.py")
    assert shop.git("log", "--oneline").count("\n") == 1  # nothing is committed unasked


@pytest.mark.parametrize("revision", ASKING)
@pytest.mark.parametrize("answer", ["allow once", "allow for this call", "reject", None, "nonsense"])
def test_the_clients_user_decides(
    shop: Repo, tmp_path: Path, revision: str, answer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is shown as it is, a change as its diff; "for this call" holds for the same action."""
    shop.write(".github/workflows/a.yml", "on: push\n")
    model = script(tmp_path, [{"calls": [PUSH]}, {"calls": [PUSH]}, {"calls": [TRIGGER]}, {"text": "Done."}])
    asked: list[str] = []

    def fill(message: str) -> Mapping[str, Any] | None:
        asked.append(message)
        return None if answer is None else {"answer": answer}

    async def work() -> str:
        async with (
            open_server(shop.root, model=model) as server,
            connect(server.sdk, revision, monkeypatch, fill) as client,
        ):
            result = await call_tool(client, "run", prompt="push it")
            return str(result.structured_content["session"])

    session = asyncio.run(work())
    assert [each.splitlines()[0] for each in asked] == [
        *["Allow shell?"] * (1 if answer == "allow for this call" else 2),
        "Allow edit?",
    ]
    assert asked[0].splitlines()[2] == "git push origin main"
    assert "-on: push\n+on: pull_request" in asked[-1]
    is_allowed = answer in ("allow once", "allow for this call")
    assert (shop.read(".github/workflows/a.yml") == "on: pull_request\n") is is_allowed
    assert read_events(shop, session).count("denied: the user") == (0 if is_allowed else 3)


@pytest.mark.parametrize("revision", REVISIONS)
def test_nobody_is_asked_where_the_client_cannot(
    shop: Repo, tmp_path: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(tmp_path, [{"calls": [PUSH]}, {"text": "Not pushed."}])

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            connect(server.sdk, revision, monkeypatch) as client,
        ):
            text = read_text(await call_tool(client, "run", prompt="push it"))
            assert "nobody can be asked" in read_events(shop, text.partition("session: ")[2].split()[0])
            patch = "*** Begin Patch\n*** Add File: .github/workflows/b.yml\n+on: push\n*** End Patch\n"
            refused = await call_tool(client, "apply", patch=patch)
            assert refused.is_error
            assert "denied" in read_text(refused)

    run_client(work())
    assert not (shop.root / ".github").exists()


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_a_single_tool_asks_as_well(shop: Repo, revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fill(message: str) -> Mapping[str, Any]:
        asked.append(message)
        return {"answer": "allow once"}

    async def work() -> None:
        async with (
            open_server(shop.root) as server,
            connect(server.sdk, revision, monkeypatch, fill) as client,
        ):
            patch = "*** Begin Patch\n*** Add File: .github/workflows/b.yml\n+on: push\n*** End Patch\n"
            assert not (await call_tool(client, "apply", patch=patch)).is_error

    run_client(work())
    [message] = asked
    assert "+on: push" in message
    assert shop.read(".github/workflows/b.yml") == "on: push\n"


def test_only_a_change_that_was_seen_as_a_whole_is_allowed(shop: Repo, tmp_path: Path) -> None:
    """ "For this call" does not hold for the next change of the same file; one too large to be shown is refused."""
    path = ".github/workflows/a.yml"
    shop.write(path, "on: push\n")
    steps = [
        ("on: push", "on: pull"),
        ("on: pull", "on: workflow_call"),
        ("on: w", f"# {'x' * 20_000}\non: w"),
    ]
    turns = [{"calls": [call("edit", path=path, old=old, new=new)]} for old, new in steps]
    model = script(tmp_path, [*turns, {"text": "Done."}])
    asked: list[str] = []

    def fill(message: str) -> Mapping[str, Any]:
        asked.append(message)
        return {"answer": "allow for this call"}

    async def work(**flags: Any) -> str:
        async with (
            open_server(shop.root, model=model, **flags) as server,
            connect(server.sdk, MODERN, fill=fill) as client,
        ):
            result = await call_tool(client, "run", prompt="mend the workflow")
            return read_events(shop, str(result.structured_content["session"]))

    told = asyncio.run(work())
    assert ["+on: pull\n" in asked[0], "+on: workflow_call" in asked[1], len(asked)] == [True, True, 2]
    assert "too many to be shown" in told
    assert shop.read(path) == "on: workflow_call\n"
    shop.write(path, "on: push\n")
    asyncio.run(work(approval="never"))
    assert (asked[2:], shop.read(path)) == ([], "on: push\n")


def test_questions_of_a_model_reach_the_clients_user(shop: Repo, tmp_path: Path) -> None:
    question = call("ask_user", question="Which colour?", options=["red: warm", "blue"])
    model = script(tmp_path, [{"calls": [question]}, {"expect": ["blue"], "text": "Blue it is."}])

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            connect(server.sdk, MODERN, fill=lambda message: {"choice": "blue"}) as client,
        ):
            assert read_text(await call_tool(client, "run", prompt="paint it")).startswith("Blue it is.")

    run_client(work())


def test_an_answer_belongs_to_one_question(
    shop: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State that the client made up, changed, or used before is refused; a question expires."""
    model = script(tmp_path, [{"calls": [PUSH]}, {"text": "Not pushed."}])
    monkeypatch.setattr(call_table, "ANSWER_SECONDS", 0.2)

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            connect(server.sdk, MODERN, fill=lambda message: None) as client,
        ):
            given = {"prompt": "push it"}
            first = await client.session.call_tool("run", given, allow_input_required=True)
            state = first.request_state
            assert state is not None
            for forged in ("v1.AAAA", state[:-2] + "AA", state[:-1]):
                with pytest.raises(Exception, match="Invalid or expired requestState"):
                    await client.session.call_tool(
                        "run", given, request_state=forged, allow_input_required=True
                    )
            with pytest.raises(Exception, match="Invalid or expired requestState"):
                await client.session.call_tool("map", request_state=state, allow_input_required=True)
            await wait_until(lambda: not server._calls._open)
            late = await client.session.call_tool(
                "run", given, request_state=state, allow_input_required=True
            )
            assert late.is_error
            sessions = Home.from_environment().get_project_folder(shop.root) / "sessions"
            [session] = sessions.iterdir()
            log = read_events(shop, session.name)
            assert "the user gave no answer" in log
            assert '"outcome":"interrupted"' in log

    run_client(work())


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_a_cancelled_run_can_be_resumed(
    shop: Repo, tmp_path: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = call("shell", command="touch started; sleep 60")
    model = script(tmp_path, [{"calls": [wait]}, {"calls": [FIX]}, {"text": "Done."}])
    needs_confinement(shop.root)

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            connect(server.sdk, revision, monkeypatch) as client,
        ):
            running = asyncio.ensure_future(client.call_tool("run", {"prompt": "mend the total"}))
            await wait_until(lambda: (shop.root / "started").exists())
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await wait_until(lambda: not server._calls._open)
            [session] = (Home.from_environment().get_project_folder(shop.root) / "sessions").iterdir()
            assert '"outcome":"interrupted"' in read_events(shop, session.name)
        more = script(tmp_path, [{"calls": [FIX]}, {"text": "Done now."}], "more.json")
        async with (
            open_server(shop.root, model=more) as server,
            connect(server.sdk, revision, monkeypatch) as client,
        ):
            result = await call_tool(client, "run", session=session.name, prompt="go on")
            assert read_text(result).startswith("Done now.")
            assert result.structured_content["session"] == session.name
            nothing = await call_tool(client, "run", session=session.name)
            assert read_text(nothing).startswith(f"session '{session.name}' has no unfinished turn")

    run_client(work())
    assert "for price in prices:" in shop.read("cart.py")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["scripted", "offline"])
def test_the_work_is_committed_only_if_the_caller_and_the_user_want_it(
    shop: Repo, tmp_path: Path, engine: str
) -> None:
    needs_confinement(shop.root)
    model = "offline"
    if engine == "scripted":
        model = script(tmp_path, [{"calls": [FIX]}, {"text": "Done."}])

    async def run_task(client: Client, *, commit: bool) -> Mapping[str, Any]:
        shop.git("checkout", "-q", "cart.py")
        result = await call_tool(client, "run", prompt="make the tests pass", commit=commit)
        return result.structured_content or {"refused": read_text(result)}

    async def work() -> None:
        async with (
            open_server(shop.root, model=model, may_commit=False) as server,
            connect(server.sdk, MODERN) as client,
        ):
            refused = await run_task(client, commit=True)
            assert refused == {"refused": "this server does not commit\nIt was started with --no-commit."}
        async with open_server(shop.root, model=model) as server, connect(server.sdk, MODERN) as client:
            done = await run_task(client, commit=False)
            assert (done["outcome"], done["commit"], done["files"]) == ("done", "", ["cart.py"])
            assert shop.git("status", "--porcelain").split() == ["M", "cart.py"]
            done = await run_task(client, commit=True)
            assert done["verification"].startswith("passed")
            assert shop.head().startswith(done["commit"])
            assert done["commit"]
            assert shop.git("status", "--porcelain") == ""

    run_client(work())
    assert shop.committed() == ["cart.py"]


@pytest.mark.parametrize("approval", ["ask", "auto", "never"])
def test_a_client_that_cannot_ask_gets_no_more_than_the_settings_allow(
    shop: Repo, tmp_path: Path, approval: str
) -> None:
    """With `approval = "ask"` a command that runs code waits for a person: it is denied, and not run unasked."""
    needs_confinement(shop.root)
    settings = Home.from_environment().config / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'approval = "{approval}"\n', "utf-8")
    command = call("shell", command='python -c \'open("made", "w")\'')
    model = script(tmp_path, [{"calls": [command]}, {"text": "Done."}])

    async def work() -> None:
        async with open_server(shop.root, model=model) as server, connect(server.sdk, MODERN) as client:
            await call_tool(client, "run", prompt="make it")

    run_client(work())
    assert (shop.root / "made").exists() is (approval != "ask")


def test_a_prompt_of_a_client_attaches_no_picture_of_the_user(shop: Repo, tmp_path: Path) -> None:
    picture = tmp_path / "private.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 64)
    model = script(tmp_path, [{"expect": [f"{picture} and"], "text": "Nothing there."}])

    async def work() -> str:
        async with open_server(shop.root, model=model) as server, connect(server.sdk, MODERN) as client:
            result = await call_tool(client, "run", prompt=f'look at @{picture} and @"{picture}"')
            assert read_text(result).startswith("Nothing there.")
            return str(result.structured_content["session"])

    session = asyncio.run(work())
    assert '"images":["' not in read_events(shop, session)


def test_a_model_that_cannot_be_reached_is_an_error(shop: Repo) -> None:
    async def work() -> None:
        async with (
            open_server(shop.root, model="openai/gpt-5.1") as server,
            connect(server.sdk, MODERN) as client,
        ):
            result = await call_tool(client, "run", prompt="hello")
            assert result.is_error
            assert "OPENAI_API_KEY" in read_text(result)
            answer = await call_tool(client, "run", prompt="where is total defined?", offline=True)
            assert not answer.is_error
            assert "cart.py:1" in read_text(answer)
            assert not (await call_tool(client, "map")).is_error  # needs no model

    run_client(work())


@pytest.mark.slow
def test_the_terminal_goes_on_with_a_session_of_a_client(shop: Repo, tmp_path: Path) -> None:
    model = script(tmp_path, [{"calls": [FIX]}, {"text": "Done."}])

    async def work() -> str:
        async with open_server(shop.root, model=model) as server, connect(server.sdk, MODERN) as client:
            result = await call_tool(client, "run", prompt="mend the total")
            return str(result.structured_content["session"])

    session = asyncio.run(work())
    more = script(tmp_path, [{"expect": ["what was it?"], "text": "I mended the total."}], "more.json")
    done = run("resume", session, "-p", "what was it?", "--model", more, "--no-commit", cwd=shop.root)
    assert done.code == 0, done.err
    assert "I mended the total." in done.out
