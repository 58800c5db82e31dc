"""One running child session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from agent.budget.purse import Purse
from agent.children.places import OpenPlace
from agent.children.spec import ChildResult, ChildSpec
from agent.events import ChildEvent, End
from agent.turn.runtime import Runtime

PATIENCE = 10.0
"""Seconds that a cancelled child gets to end its step and close its log."""


class Child:
    """A child session with its files. Use as an asynchronous context, or call `close`.

    runtime: the session itself; its events are `runtime.session.subscribe`
    record: appends an event about the child to the parent's log, and returns nothing
    save_patch: stores a patch among the parent's artifacts, and returns its reference
    """

    def __init__(
        self,
        spec: ChildSpec,
        runtime: Runtime,
        place: OpenPlace,
        purse: Purse,
        *,
        record: Callable[[ChildEvent], None],
        save_patch: Callable[[bytes], str],
        resources: AsyncExitStack,
    ) -> None:
        self.spec = spec
        self.runtime = runtime
        self._place = place
        self._purse = purse
        self._record = record
        self._save_patch = save_patch
        self._resources = resources
        self._turn: asyncio.Task[End] | None = None
        self._record(ChildEvent(child=self.id, state="started", prompt=spec.prompt, place=spec.place))

    @property
    def id(self) -> str:
        """Id of the child's session."""
        return self.runtime.session.id

    async def __aenter__(self) -> Child:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self) -> ChildResult:
        """Do the task of the spec."""
        return await self.ask(self.spec.prompt)

    async def ask(self, prompt: str) -> ChildResult:
        """Take one more turn. Never raises UserError: the result says what happened."""
        started = time.monotonic()
        # In a task of its own: a turn takes a cancellation for the user's interrupt, and ends as usual.
        self._turn = asyncio.create_task(self.runtime.run_turn(prompt))
        try:
            end = await asyncio.shield(self._turn)
        except asyncio.CancelledError:
            await self._stop_turn()
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

    def cancel(self) -> None:
        """End the running turn; its result says that it was interrupted."""
        self.runtime.stop()

    async def close(self) -> None:
        """End the turn, if one runs, release the session and its files, and give back what is left of its budget."""
        if self._turn is not None:
            await self._stop_turn()
        try:
            await self.runtime.close()
        finally:
            self._purse.close()
            await self._resources.aclose()

    async def _stop_turn(self) -> None:
        turn = self._turn
        if turn is None:
            return
        self.runtime.stop()
        with suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(turn), PATIENCE)
        if not turn.done():
            turn.cancel()
