"""A whole session in one process: real log, real files, real gateway; only the model plays a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.budget.limits import Limit
from agent.budget.purse import Purse
from agent.events import End, Event, SessionStart
from agent.model.protocol import Request
from agent.model.scripted.scripted_model import ScriptedModel
from agent.session.log import Session
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.backends.unconfined import Unconfined
from sandbox.fs.workspace_tree import Tree
from sandbox.policy.decision import Approval, Approver, Mode, Policy
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.cli import script
from tools.core.artifacts import Artifacts
from tools.core.registry import Tool, Toolbox
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace


def workspace(root: Path, own: Path) -> Workspace:
    """A workspace whose commands run unconfined; `own` is a folder for our files."""
    (own / "cache").mkdir(parents=True, exist_ok=True)
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=Unconfined(root, spill=own),
        artifacts=Artifacts(own / "artifacts"),
        journal=own / "journal",
        folders=ToolFolders(cache=own / "cache"),
    )


@dataclass(slots=True, kw_only=True)
class Bench:
    """A runtime and what happened in it."""

    runtime: Runtime
    events: list[Event]

    def turn(self, prompt: str, meanwhile: Callable[[Runtime], Awaitable[None]] | None = None) -> End:
        """Run one turn; `meanwhile` runs beside it (to steer or interrupt)."""

        async def both() -> End:
            beside = asyncio.ensure_future(meanwhile(self.runtime)) if meanwhile else None
            end = await self.runtime.run_turn(prompt)
            if beside is not None:
                await beside
            return end

        return asyncio.run(both())

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def request(self) -> Request:
        """What the model would be sent now."""
        return self.runtime.projection.build_request()


def bench(
    tmp_path: Path,
    turns: Sequence[Mapping[str, Any]],
    tools: Sequence[Tool],
    *,
    limits: Sequence[Limit] = (),
    mode: Mode = Mode.FULL,
    approval: Approval = Approval.NEVER,
    approver: Approver | None = None,
    snapshots: bool = True,
    settings: SessionSettings | None = None,
) -> Bench:
    """A session on an empty folder."""
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    session = Session.create(tmp_path / "sessions")
    session.append(
        SessionStart(
            session=session.id, project=str(root), model="scripted", mode=mode, version="0", system="S"
        )
    )
    runtime = Runtime(
        session=session,
        workspace=workspace(root, session.folder),
        model=ScriptedModel(script(tmp_path, turns).removeprefix("scripted:")),
        toolbox=Toolbox(tools),
        policy=Policy(mode, approval),
        snapshots=Snapshots(root, tmp_path / "snapshots") if snapshots else None,
        approver=approver,
        purse=Purse(limits),
        settings=settings or SessionSettings(),
    )
    events: list[Event] = []
    session.subscribe(events.append)
    return Bench(runtime=runtime, events=events)
