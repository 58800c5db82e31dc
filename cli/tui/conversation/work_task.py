"""The work of a conversation: one task in the foreground, commands beside it, and their errors as messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from cli.output.style.paint import Style
from cli.tui.frontend import Frontend
from sandbox.errors import UserError
from sandbox.secrets.child_environment import redact

Work = Coroutine[Any, Any, object]


class ShowMessage(Protocol):
    """Printer of a message of the program."""

    def __call__(self, text: str, style: Style | None = None) -> None: ...


class WorkTask:
    """Runner of a turn or command. `finished` is called with whether it completed; it may start the next one."""

    def __init__(self, front: Frontend, show: ShowMessage, finished: Callable[[bool], None]) -> None:
        self._front = front
        self._show = show
        self._finished = finished
        self._task: asyncio.Task[bool] | None = None
        self._beside: set[asyncio.Task[bool]] = set()

    @property
    def is_running(self) -> bool:
        """Whether there is work in the foreground."""
        return self._task is not None

    @property
    def is_current(self) -> bool:
        """Whether the caller is the work in the foreground."""
        return self._task is not None and self._task is asyncio.current_task()

    def start(self, work: Work, doing: str) -> None:
        """Start the work in a task, and show the activity."""
        self._front.show_activity(doing)
        self._task = asyncio.create_task(self._run(work))
        self._task.add_done_callback(self._finish)

    def start_beside(self, work: Work) -> None:
        """Start a command concurrently with the running turn."""
        task = asyncio.create_task(self._run(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    def cancel(self) -> None:
        """Cancel the work in the foreground."""
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Wait for the end of the work in the foreground."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def _finish(self, task: asyncio.Task[bool]) -> None:
        self._task = None
        self._front.show_activity("")
        self._finished(not task.cancelled() and task.result())

    async def _run(self, work: Work) -> bool:
        """Run the work and print its errors; return whether it completed."""
        try:
            await work
            return True
        except UserError as error:
            self._show(f"patchwright: {error.message}" + (f"\n  {error.hint}" if error.hint else ""), "red")
        except asyncio.CancelledError:
            self._show("stopped", "yellow")
        except OSError as error:  # a file or disk that a command needs: the conversation continues
            self._show(f"patchwright: {error}", "red")
        except Exception as error:  # a defect of the program: report it and continue
            self._show(f"patchwright: this is a fault in Patchwright itself: {redact(repr(error))}", "red")
        return False
