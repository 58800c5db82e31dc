"""A whole session of many steps through the real loop, log and gateway, with a scripted model and a window of 64k.

python -m benchmarks.context.loop [STEPS]
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from agent.events import SessionStart
from agent.model.protocol import Delta, Reply, Request, Usage
from agent.session.log import Session
from agent.turn.runtime import Runtime
from sandbox.backends.unconfined import Unconfined
from sandbox.fs.workspace_tree import Tree
from sandbox.policy.decision import Approval, Mode, Policy
from tools.core.action import Action, Observation
from tools.core.artifacts import Artifacts
from tools.core.registry import Toolbox, tool
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace
from tools.session.recall import memory, recall

WINDOW = 64_000


@tool("read")
async def survey(part: int, *, at: Workspace) -> Observation:
    """Look at a part."""
    lines = [f"def handle_{part % 300}_{i}(value): return value + {i}" for i in range(20)]
    return Observation(
        text="\n".join([f"pkg/part_{part % 300}.py", *lines, f"SECRET_KNOB_{part} = {part * 7}"])
    )


class Endless:
    """Asks for one part after the other. sizes: bytes of each request; stamps: CPU seconds when it came."""

    name = "scripted:endless"
    window = WINDOW

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.sizes: list[int] = []
        self.stamps: list[float] = []
        self.last: Request | None = None

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.stamps.append(time.process_time())
        self.sizes.append(len(request.system) + sum(_size(message) for message in request.messages))
        self.last = request
        part = len(self.sizes)
        actions = (
            (Action(id=f"c{part}", tool="survey", arguments={"part": part}),) if part <= self.steps else ()
        )
        yield Reply(text=f"Next is part {part}.", actions=actions, usage=Usage())

    async def close(self) -> None:
        return None


def _size(message: object) -> int:
    asked = sum(len(json.dumps(dict(a.arguments))) for a in getattr(message, "actions", ()))
    return len(getattr(message, "text", "")) + asked


def main() -> None:
    """Run and print."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        (own / "root").mkdir()
        (own / "cache").mkdir()
        session = Session.create(own / "sessions")
        session.append(
            SessionStart(
                session=session.id,
                project="/p",
                model="m",
                mode="full",
                version="0",
                system="S",
                outputs="outlined",
            )
        )
        workspace = Workspace(
            root=own / "root",
            files=Tree(own / "root"),
            sandbox=Unconfined(own / "root", spill=own),
            artifacts=Artifacts(session.folder / "artifacts"),
            journal=own / "journal",
            folders=ToolFolders(cache=own / "cache"),
        )
        model = Endless(steps)
        runtime = Runtime(
            session=session,
            workspace=workspace,
            model=model,
            toolbox=Toolbox([survey, recall, memory]),
            policy=Policy(Mode.FULL, Approval.NEVER),
            snapshots=None,
        )
        asyncio.run(_run(runtime, model))


async def _run(runtime: Runtime, model: Endless) -> None:
    asked = "Survey all parts. You must never touch vendor/ in this session."
    end = await runtime.run_turn(asked)
    gaps = [(after - before) * 1000 for before, after in zip(model.stamps, model.stamps[1:], strict=False)]
    tenth = max(len(gaps) // 10, 1)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert model.last is not None
    text = "\n".join(message.text for message in model.last.messages)
    wanted = range(1, model.steps, max(model.steps // 20, 1))
    found = sum(
        any(
            f"SECRET_KNOB_{i} = {i * 7}" in passage
            for _, passage in runtime.recall_index.search(f"SECRET_KNOB_{i}", 3)
        )
        for i in wanted
    )
    log = (runtime.session.folder / "log.jsonl").stat().st_size / 1e6
    await runtime.close()
    print(
        f"{len(gaps):,} steps ({end.outcome}), log {log:.0f} MB:"
        f" largest request {max(model.sizes) / 3.6:,.0f} tokens of"
        f" {WINDOW:,}; CPU ms a step {statistics.median(gaps[:tenth]):.2f} in the first tenth,"
        f" {statistics.median(gaps[-tenth:]):.2f} in the last; peak memory {memory_mb:.0f} MB; the constraint"
        f" {'stands' if 'never touch vendor/' in text else 'is lost'} in the last request; {found} of {len(wanted)}"
        " planted facts found by recall"
    )


if __name__ == "__main__":
    main()
