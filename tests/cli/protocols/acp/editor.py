"""An editor for tests: the Python SDK's client over a real process; each message is checked by the published schema."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import acp
from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    DeclineElicitationResponse,
    DeniedOutcome,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)
from jsonschema import Draft202012Validator

from tests.support.cli import CHECKOUT, PATCHWRIGHT, call, script
from tests.support.repo import Repo

__all__ = ["Editor", "Repo", "call", "script"]

SCHEMA = json.loads((Path(__file__).parent / "schema_v1.json").read_text("utf-8"))

EVERYTHING: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "elicitation": {"form": {}},
}
"""Capabilities of an editor that can do all that an agent asks for."""


class MessageCheck:
    """Checks what an agent sends: a method's parameters, or the result for the method that was called."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.checked = 0
        self._called: dict[Any, str] = {}
        self._validators: dict[tuple[str, str], Draft202012Validator] = {}
        for name, definition in SCHEMA["$defs"].items():
            if method := definition.get("x-method"):
                kind = "result" if name.endswith("Response") else "params"
                self._validators[method, kind] = Draft202012Validator(
                    {"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}
                )
        self._error = Draft202012Validator({"$ref": "#/$defs/Error", "$defs": SCHEMA["$defs"]})

    def observe(self, event: StreamEvent) -> None:
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "method" in message and "id" in message:
                self._called[message["id"]] = message["method"]
        elif "method" in message:
            self._check(message["method"], "params", message.get("params"))
        elif "error" in message:
            self.checked += 1
            self.problems += [each.message for each in self._error.iter_errors(message["error"])]
        else:
            self._check(self._called.get(message["id"], ""), "result", message["result"])

    def _check(self, method: str, kind: str, value: Any) -> None:
        self.checked += 1
        validator = self._validators.get((method, kind))
        if validator is None:
            self.problems.append(f"{method} {kind} is not in the schema")
            return
        self.problems += [
            f"{method}: {each.message} at {each.json_path}" for each in validator.iter_errors(value)
        ]


class Editor:
    """One editor with its agent. Its methods are called from a test's thread; its event loop has one of its own.

    buffers: unsaved texts of files; written: paths that the agent wrote through it
    updates: by session; asked, forms: what the agent asked for, answered by `choose` and `fill`
    """

    def __init__(
        self, home: Path, *options: str, capabilities: Mapping[str, Any] | None = None, **env: str
    ) -> None:
        self.home = home
        self.capabilities = EVERYTHING if capabilities is None else dict(capabilities)
        self.updates: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[dict[str, Any]] = []
        self.forms: list[tuple[str, dict[str, Any]]] = []
        self.buffers: dict[str, str] = {}
        self.written: list[str] = []
        self.choose: Callable[[dict[str, Any]], str] = lambda call: "allow-once"
        self.fill: dict[str, Any] | list[dict[str, Any]] | None = None
        self.on_update: Callable[[str, dict[str, Any]], None] = lambda session, update: None
        self.on_read: Callable[[str], None] = lambda path: None
        self.check = MessageCheck()
        self._options = options
        self.environment = {**_make_environment(home), **env}
        self._stack = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    # ── the test's side ─────────────────────────────────────────────────────────────────────────────

    def start(self) -> Editor:
        self.run(self._start())
        return self

    def run(self, work: Coroutine[Any, Any, Any], timeout: float = 90) -> Any:
        """Run a coroutine on the editor's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Start a coroutine; the result is a future of this thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def open(self, root: Path, turns: Sequence[Mapping[str, Any]] = (), **more: Any) -> str:
        """Open a session in a folder, with a model that follows these turns."""
        session = self.run(self.connection.new_session(cwd=str(root), mcp_servers=more.pop("servers", [])))
        if turns:
            self.use_script(session.session_id, root, turns, **more)
        return str(session.session_id)

    def use_script(
        self, session: str, root: Path, turns: Sequence[Mapping[str, Any]], name: str = "turns"
    ) -> None:
        model = script(root.parent, turns, f"{root.name}-{name}.json")
        self.run(self.connection.set_config_option("model", session, model))

    def set_mode(self, session: str, mode: str) -> None:
        self.run(self.connection.set_session_mode(mode_id=mode, session_id=session))

    def prompt(self, session: str, *content: Any) -> Any:
        return self.run(self.send_prompt(session, *content))

    async def send_prompt(self, session: str, *content: Any) -> Any:
        blocks = [acp.text_block(each) if isinstance(each, str) else each for each in content]
        return await self.connection.prompt(prompt=blocks, session_id=session)

    def list_updates(self, session: str, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.updates.get(session, []) if each["sessionUpdate"] == kind]

    def read_text(self, session: str, kind: str = "agent_message_chunk") -> str:
        return "".join(each["content"].get("text", "") for each in self.list_updates(session, kind))

    def read_calls(self, session: str) -> dict[str, dict[str, Any]]:
        """Tool calls by id, each as its updates leave it."""
        calls: dict[str, dict[str, Any]] = {}
        for each in self.updates.get(session, []):
            if each["sessionUpdate"] in ("tool_call", "tool_call_update"):
                calls.setdefault(each["toolCallId"], {}).update(each)
        return calls

    def find_call(self, session: str, title: str) -> dict[str, Any]:
        return next(each for each in self.read_calls(session).values() if title in each["title"])

    def kill(self) -> None:
        self.process.kill()
        self.run(self._close())

    def stop(self) -> int:
        """Close the connection as an editor does; return the agent's exit status."""
        return int(self.run(self._stop()))

    # ── the client of the protocol ──────────────────────────────────────────────────────────────────

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **more: Any
    ) -> RequestPermissionResponse:
        asked = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.asked.append({"session": session_id, "options": [each.kind for each in options], **asked})
        chosen = self.choose(asked)
        if chosen == "never":
            await asyncio.Event().wait()
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(option_id=chosen, outcome="selected"))

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        plain = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.updates.setdefault(session_id, []).append(plain)
        self.on_update(session_id, plain)

    async def read_text_file(self, session_id: str, path: str, **more: Any) -> ReadTextFileResponse:
        self.on_read(path)
        if path in self.buffers:
            return ReadTextFileResponse(content=self.buffers[path])
        if not Path(path).is_file():
            raise acp.RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=Path(path).read_bytes().decode())

    async def write_text_file(
        self, session_id: str, path: str, content: str, **more: Any
    ) -> WriteTextFileResponse:
        self.written.append(path)
        self.buffers.pop(path, None)
        Path(path).write_bytes(content.encode())
        return WriteTextFileResponse()

    async def create_elicitation(self, message: str, mode: Any, **more: Any) -> Any:
        form = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.forms.append((message, form))
        if self.fill is None:
            return DeclineElicitationResponse(action="decline")
        filled = self.fill.pop(0) if isinstance(self.fill, list) else self.fill
        return AcceptElicitationResponse(action="accept", content=filled)

    def on_connect(self, connection: Any) -> None:
        pass

    async def _start(self) -> None:
        errors = self._stack.enter_context((self.home / "errors").open("ab"))
        self.connection, self.process = await self._stack.enter_async_context(
            acp.spawn_agent_process(
                self,  # type: ignore[arg-type]
                *PATCHWRIGHT,
                "acp",
                *self._options,
                env=self.environment,
                cwd=self.home,
                use_unstable_protocol=True,
                observers=[self.check.observe],
                transport_kwargs={"stderr": errors},
            )
        )
        self.initialized = await self.connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities.model_validate(self.capabilities),
        )

    async def _stop(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = await asyncio.wait_for(self.process.wait(), 60)
        await self._close()
        return status

    async def _close(self) -> None:
        await self._stack.aclose()

    @property
    def errors(self) -> str:
        """What the agent wrote to standard error."""
        return (self.home / "errors").read_text("utf-8")


def _make_environment(home: Path) -> dict[str, str]:
    """An environment of its own, so that an agent can serve the tests of a module."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "gitconfig").write_text("[user]\n\tname = Test Person\n\temail = person@example.org\n", "utf-8")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "PATCHWRIGHT_", "XDG_"))
        and not name.endswith(("_KEY", "_URL", "_BASE"))
    }
    return {
        **kept,
        "HOME": str(home),
        "PATCHWRIGHT_HOME": str(home / "patchwright"),
        "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONWARNINGS": "default",
    }


async def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
