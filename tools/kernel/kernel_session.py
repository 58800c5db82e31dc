"""The kernel of a session: started on first use, restarted after it ended; its calls pass through the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sandbox.backends.audit import Audit, audit_workspace
from sandbox.process.command import Limits
from tools.core.action import Action, Observation, current_action
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace
from tools.kernel.frames import MOST, Frame, as_text, encode_frame

if TYPE_CHECKING:
    from tools.kernel.kernel_process import BlockResult, KernelProcess
    from tools.kernel.saved_functions import SavedFunction


CHECK_SECONDS = 20.0
"""Seconds for the test of a saved function."""


class CallGateway(Protocol):
    """The gateway, as code in a kernel reaches it."""

    toolbox: Toolbox

    async def run_nested(self, action: Action) -> Observation: ...


class KernelSession:
    """Runs the blocks of one session, one at a time."""

    def __init__(self, at: Workspace, gateway: CallGateway) -> None:
        self._at = at
        self._gateway = gateway
        self._limits = Limits(memory=at.settings.kernel_memory << 20)
        self._process: KernelProcess | None = None
        self._guard: Audit | None = None
        self._calls = 0
        self._noticed: list[str] = []
        self._finished: Mapping[str, Any] | None = None
        self._left: Mapping[str, int] = {}
        self._one = asyncio.Lock()

    async def run(self, code: str, *, seconds: float) -> BlockResult:
        """Run a block, in a new kernel if none is alive. Raises UserError if none can be started."""
        async with self._one:
            self._calls, self._noticed, self._finished = 0, [], None
            process = await self._ensure_process()
            self._start_audit()
            try:
                block = await process.run(code, seconds=seconds, serve=self._serve_call)
            finally:
                self._finish_audit()
            if not process.alive:
                await self.close()
            known, self._left = self._left, block.left_running
            return replace(
                block,
                left_running={} if block.left_running == known else block.left_running,  # reported once
                calls=self._calls,
                noticed=tuple(self._noticed),
                finished=self._finished,
            )

    async def close(self) -> None:
        """End the kernel, if there is one. The next block starts another."""
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    def has_tool_function(self, name: str) -> bool:
        """Return whether a tool has this function name in a kernel."""
        from tools.kernel.tool_bindings import NAMES

        return name in NAMES.values() or self._gateway.toolbox.get(name) is not None

    async def check_functions(self, functions: Sequence[SavedFunction]) -> dict[str, str]:
        """Run the test of each function in a fresh kernel. By name: the problem, "" if there is none."""
        from tools.kernel.kernel_start import start_kernel

        process = await start_kernel(self._at, self._gateway.toolbox, self._limits, reads_only=True)
        found: dict[str, str] = {}
        try:
            for each in functions:
                if not process.alive:
                    await process.close()
                    process = await start_kernel(
                        self._at, self._gateway.toolbox, self._limits, reads_only=True
                    )
                code = f"{each.source}\n{each.test}"
                block = await process.run(code, seconds=CHECK_SECONDS, serve=self._serve_read_only_call)
                found[each.name] = (
                    "" if block.ended == "ok" else block.error or block.death_reason or block.ended
                )
        finally:
            await process.close()
        return found

    async def _serve_read_only_call(self, frame: Frame) -> dict[str, Any]:
        """Serve calls of tests of saved functions, which run unattended: they may only read."""
        tool = self._gateway.toolbox.get(as_text(frame.get("tool")))
        if tool is None or not tool.reads_only:
            return {"error": f"{as_text(frame.get('tool'))}: a test of a kept function may only read"}
        return await self._serve_call(frame)

    async def _ensure_process(self) -> KernelProcess:
        if self._process is not None and not self._process.alive:
            self._noticed.append(
                "[the kernel had ended since the last block: this is a new one, without its variables]"
            )
            await self.close()
        if self._process is None:
            from tools.kernel.kernel_start import start_kernel
            from tools.kernel.saved_function_tools import load_usable_functions

            kept, problems = await load_usable_functions(self._at)
            self._noticed += problems
            self._process = await start_kernel(self._at, self._gateway.toolbox, self._limits, kept)
        return self._process

    async def _serve_call(self, frame: Frame) -> dict[str, Any]:
        """Answer one call. The frame is untrusted: the gateway checks names, arguments and permissions."""
        from tools.kernel.tool_bindings import WITHHELD, convert_result

        name, arguments = as_text(frame.get("tool")), frame.get("arguments")
        if not isinstance(arguments, dict):
            return {"error": "a call without arguments"}
        self._calls += 1
        if name in WITHHELD:
            return {"error": f"{name}: cannot be called from a kernel"}
        outer = current_action.get()
        action = Action(id=f"{outer}/{self._calls}", tool=name, arguments=arguments, within=outer)
        tool = self._gateway.toolbox.get(name)
        changes = tool is None or not tool.reads_only
        if changes:  # writes of a tool at a protected path are not the block's
            self._finish_audit()
        try:
            observation = await self._gateway.run_nested(action)
        finally:
            if changes:
                self._start_audit()
        if tool is not None and tool.ends and not observation.failed:
            self._finished = observation.data
        if observation.failed and observation.value is None:
            return {"error": observation.text}
        return _limit_answer({"value": convert_result(observation)})

    def _start_audit(self) -> None:
        self._guard = audit_workspace(self._at.root, self._refused_folder)

    def _finish_audit(self) -> None:
        if self._guard is not None:
            self._noticed += self._guard.finish()
            self._guard = None

    @property
    def _refused_folder(self) -> Path:
        return self._at.artifacts.folder.parent / "refused"


def _limit_answer(answer: dict[str, Any]) -> dict[str, Any]:
    with suppress(ValueError):
        encode_frame(answer)
        return answer
    return {"error": f"what it returned is larger than {MOST >> 20} MiB: ask for less of it"}
