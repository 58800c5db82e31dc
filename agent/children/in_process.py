"""Child sessions on the event loop of their parent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent.children.executor import ChildOrder
from agent.events import End
from agent.turn.runtime import Runtime

if TYPE_CHECKING:
    from agent.capabilities import Assemble


class InProcessExecutor:
    """Runs children in this process: cheap, and with all that it has loaded. Implements `Executor`."""

    def __init__(self, assemble: Assemble) -> None:
        self._assemble = assemble

    async def start(self, order: ChildOrder) -> InProcessExecution:
        runtime: Runtime = self._assemble(order.settings, order.request, order.home)
        runtime.session.subscribe(partial(order.on_event, runtime.session.id))
        return InProcessExecution(runtime)


class InProcessExecution:
    """A child session of this process. Implements `Execution`."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.session = runtime.session.id

    async def run_turn(self, prompt: str | None) -> End:
        return await self.runtime.run_turn(prompt)

    def steer(self, text: str) -> None:
        self.runtime.loop.inbox.append(text)

    def stop(self) -> None:
        self.runtime.stop()

    async def close(self) -> None:
        await self.runtime.close()
