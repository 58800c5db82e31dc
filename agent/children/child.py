"""One running child session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from agent.budget.purse import Purse
from agent.children.executor import Execution
from agent.children.gather import finish_anyway
from agent.children.places import OpenPlace
from agent.children.spec import ChildResult, ChildSpec
from agent.events import ChildEvent, End
from agent.exit_codes import Exit
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError

PATIENCE = 10.0
"""Seconds that a cancelled child gets to end its step and close its log."""


class Child:
    """A child session with its files. Use as an asynchronous context, or call `close`.

    execution: the session itself
    record: appends an event about the child to the parent's log, and returns nothing
    save_patch: stores a patch among the parent's artifacts, and returns its reference
    """

    def __init__(
        self,
        spec: ChildSpec,
        execution: Execution,
        place: OpenPlace,
        purse: Purse,
        *,
        record: Callable[[ChildEvent], None],
        save_patch: Callable[[bytes], str],
        resources: AsyncExitStack,
    ) -> None:
        self.spec = spec
        self._execution = execution
        self._place = place
        self._purse = purse
        self._record = record
        self._save_patch = save_patch
        self._resources = resources
        self._turn: asyncio.Task[End] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._record(
            ChildEvent(
                child=self.id,
                state="started",
                prompt=spec.prompt,
                place=spec.place,
                agent=spec.agent,
                role=spec.role,
            )
        )

    @property
    def id(self) -> str:
        """Id of the child's session."""
        return self._execution.session

    @property
    def runtime(self) -> Runtime:
        """The session itself. Raises UserError where it runs in another process."""
        if self._execution.runtime is None:
            raise UserError(Fault.USAGE, f"child session {self.id!r} runs in another process")
        return self._execution.runtime

    @property
    def place(self) -> OpenPlace:
        """The files that it works on."""
        return self._place

    async def __aenter__(self) -> Child:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self) -> ChildResult:
        """Do the task of the spec; an earlier child goes on with its unfinished turn."""
        return await self.ask(None if self.spec.session else self.spec.prompt)

    async def ask(self, prompt: str | None) -> ChildResult:
        """Take one more turn; None goes on with an unfinished one. Never raises UserError: the result says what
        happened."""
        started = time.monotonic()
        # In a task of its own: a turn takes a cancellation for the user's interrupt, and ends as usual.
        self._turn = asyncio.create_task(self._execution.run_turn(prompt))
        try:
            end = await asyncio.shield(self._turn)
        except asyncio.CancelledError:
            try:
                await self._stop_turn()
            finally:  # a second cancellation loses no event
                self._record(
                    ChildEvent(
                        child=self.id,
                        state="ended",
                        outcome=Exit.INTERRUPTED.label,
                        exit_code=Exit.INTERRUPTED,
                        report="cancelled",
                        seconds=round(time.monotonic() - started, 3),
                    )
                )
            raise
        finally:
            self._turn = None
        patch = await asyncio.to_thread(self._place.build_patch)
        seconds = round(time.monotonic() - started, 3)
        artifact = self._save_patch(patch) if patch else ""
        self._record(
            ChildEvent(
                child=self.id,
                state="ended",
                outcome=end.outcome,
                exit_code=end.exit_code,
                report=end.summary,
                patch=artifact,
                usage=end.usage,
                seconds=seconds,
            )
        )
        return ChildResult(
            child=self.id,
            outcome=end.outcome,
            exit_code=end.exit_code,
            report=end.summary,
            verification=end.verification,
            patch=patch,
            artifact=artifact,
            files=tuple(end.files),
            usage=dict(vars(end.usage)),
            seconds=seconds,
        )

    def steer(self, text: str) -> None:
        """Tell the running turn something after its present step."""
        self._execution.steer(text)

    def cancel(self) -> None:
        """End the running turn; its result says that it was interrupted."""
        self._execution.stop()

    async def close(self) -> None:
        """End the turn, if one runs, release the session and its files, and give back what is left of its budget.

        A cancellation meanwhile is raised when that is done: what it cut off would be left behind.
        """
        self._closing = self._closing or asyncio.create_task(self._release())
        await finish_anyway(self._closing)

    async def _release(self) -> None:
        if self._turn is not None:
            await self._stop_turn()
        try:
            await self._execution.close()
        finally:
            self._purse.close()
            await self._resources.aclose()

    async def _stop_turn(self) -> None:
        turn = self._turn
        if turn is None:
            return
        self._execution.stop()
        # A second cancellation is raised when the turn has ended: its processes and its last events are whole then.
        await finish_anyway(asyncio.create_task(_wait_or_cancel(turn)))


async def _wait_or_cancel(turn: asyncio.Task[End]) -> None:
    await asyncio.wait([turn], timeout=PATIENCE)
    if not turn.done():
        turn.cancel()
        await asyncio.wait([turn], timeout=PATIENCE)
