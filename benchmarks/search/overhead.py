"""What the harness itself costs for each attempt: real child sessions in real worktrees, and a model without delay.

Counted is processor time, since other work shares the machine: that of this process, and beside it that of the
processes that it started (git, the tests). A first turn with a few attempts loads what is loaded once.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.children.spec import ChildSpec
from agent.monitor.answers import TurnEnd
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings, StrategySettings
from agent.strategy.candidate import Candidate
from agent.strategy.ranking import rank_candidates
from agent.strategy.strategy import run_strategy
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tools.core.tool_settings import ToolSettings

WARM = 4
"""Attempts of the turn that is not measured."""

TURNS = [
    {"calls": [{"tool": "read", "arguments": {"path": "cart.py"}}]},
    {"calls": [{"tool": "edit", "arguments": {"path": "cart.py", "old": "-sum", "new": "sum"}}]},
    {"text": "It adds up."},
]
"""A session of three steps, as the scripted model plays it."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """As many attempts as are wanted, whatever they come to. Implements `Strategy`."""

    number: int
    takes_advice: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        base = await turn.commit_files()

        async def attempt(number: int) -> Candidate:
            async with turn.slots:
                spec = ChildSpec(prompt=turn.prompt, limits=turn.build_limits(), place="worktree", base=base)
                return await turn.attempt(number, spec)

        made = await turn.gather([attempt(each) for each in range(1, self.number + 1)])
        best = turn.choose(rank_candidates(made))
        return await turn.finish(best.report, "done")


def report_overhead(nodes: int) -> None:
    """Print processor time of the harness for each attempt, and the peak of its memory."""
    with tempfile.TemporaryDirectory(prefix="overhead-") as scratch:
        root = Path(scratch, "shop")
        root.mkdir()
        Path(root, "cart.py").write_text("def total(prices):\n    return -sum(prices)\n")
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Start"]):
            subprocess.run(["git", "-C", str(root), *words], check=True, env={**os.environ, **_NAMES})
        script = Path(scratch, "turns.json")
        script.write_text(json.dumps({"turns": TURNS}))
        home = Home.from_environment({"PATCHWRIGHT_HOME": str(Path(scratch, "home")), "HOME": scratch})
        asyncio.run(_measure(root, f"scripted:{script}", home, nodes))


_NAMES = {
    f"GIT_{role}_{part}": f"bench{'@example.org' if part == 'EMAIL' else ''}"
    for role in ("AUTHOR", "COMMITTER")
    for part in ("NAME", "EMAIL")
}


async def _measure(root: Path, model: str, home: Home, nodes: int) -> None:
    tools = ToolSettings()
    settings = SessionSettings(
        model=model,
        access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined"),
        tools=replace(tools, tests=replace(tools.tests, command="true")),
        commit="never",
    )
    runtime = assemble_runtime(settings, SessionRequest(working=root), home)
    given = StrategySettings(name="nodes")
    try:
        await run_strategy(runtime, Nodes(WARM), "mend the total", given)
        before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        await run_strategy(runtime, Nodes(nodes), "mend the total", given)
        after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    finally:
        await runtime.close()
    own, others = (
        (late.ru_utime + late.ru_stime - early.ru_utime - early.ru_stime) / nodes
        for early, late in zip(before, after, strict=True)
    )
    print(f"{nodes} attempts of {len(TURNS)} steps, processor time of each:")
    print(f"  this process            {1000 * own:6.1f} ms")
    print(f"  git and tests           {1000 * others:6.1f} ms")
    print(f"  peak of this process    {after[0].ru_maxrss / 1024:6.0f} MB")
