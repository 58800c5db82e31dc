"""Child sessions on the event loop of their parent."""

from __future__ import annotations

from functools import partial

from agent.assemble import assemble_runtime
from agent.children.executor import ChildOrder
from agent.events import End
from agent.turn.runtime import Runtime


class InProcessExecutor:
    """Runs children in this process: cheap, and with all that it has loaded. Implements `Executor`."""

    async def start(self, order: ChildOrder) -> InProcessExecution:
        runtime = assemble_runtime(order.settings, order.request, order.home)
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
