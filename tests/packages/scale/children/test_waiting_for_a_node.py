"""A child whose node is busy: it waits for a CPU as long as its turn has time, and is then refused in one line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.budget.limits import MaxTime
from agent.budget.purse import Purse
from agent.children.executor import ChildOrder
from agent.children.places import OpenPlace
from agent.children.process import line_execution, wire
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from packages.scale.children.bridge import BEGUN, Bridge, RemoteOptions
from packages.scale.children.remote_executor import RemoteExecutor
from sandbox.errors import UserError

SESSION = "20260102-030405-0000"


class RecordingChannel:
    """Keeps the lines to a cluster, which the test plays."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.sent = asyncio.Event()

    def write(self, line: bytes) -> None:
        message = wire.decode_message(line.partition(b" ")[2]) or {"message": "end"}
        self.kinds.append(message["message"])
        self.sent.set()

    async def wait_for(self, kind: str) -> None:
        while kind not in self.kinds:
            self.sent.clear()
            await self.sent.wait()


def build_order(folder: Path, seconds: float) -> ChildOrder:
    return ChildOrder(
        settings=SessionSettings(),
        request=SessionRequest(working=folder),
        home=Home.from_environment(),
        purse=Purse([MaxTime(seconds)]),
        on_event=lambda session, event: None,
        place=OpenPlace(folder=folder, top=folder),
    )


def test_the_time_to_start_begins_on_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, files = tmp_path / "work", tmp_path / "files"
    work.mkdir()
    files.mkdir()
    options = RemoteOptions(address="auto", run="r", env={}, sandbox="auto", version="1")

    async def play() -> None:
        channel = RecordingChannel()
        bridge = Bridge(channel, files)  # type: ignore[arg-type]
        executor = RemoteExecutor(bridge, options)
        starting = asyncio.create_task(executor.start(build_order(work, 3600)))
        await channel.wait_for("open")
        assert channel.kinds == ["open"], "no order, and no clock, while the node is busy"
        bridge._children[1].take_line(BEGUN)
        await channel.wait_for("start")
        bridge._children[1].take_line(wire.encode_message("ready", session=SESSION))
        execution = await starting
        assert execution.session == SESSION
        bridge._children[1].end("ended")
        await execution.close()
        starting = asyncio.create_task(executor.start(build_order(work, 0.2)))
        await channel.wait_for("end")
        bridge._children[2].end("was ended")
        with pytest.raises(UserError, match="no node had a CPU"):
            await starting
        starting = asyncio.create_task(executor.start(build_order(work, 3600)))
        while 3 not in bridge._children:
            await asyncio.sleep(0)
        bridge._children[3].take_line(wire.encode_message("lost", how="went with its node"))
        with pytest.raises(UserError, match="did not start: went with its node"):
            await starting

    monkeypatch.setattr(line_execution, "PATIENCE", 0.1)
    asyncio.run(asyncio.wait_for(play(), 60))
