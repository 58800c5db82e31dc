"""Plays turns of strategies that are killed, each in a fork of this process: a line of JSON a turn, in and out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import Event
from agent.session_request import SessionRequest
from agent.session_settings import StrategySettings
from agent.strategy import strategy_turn
from agent.strategy.sampling import sample_strategy
from agent.strategy.strategy_table import choose_work
from packages.search import auto_strategy
from packages.search.pipeline import pipeline_strategy
from packages.search.tree import evolve_strategy, tree_strategy
from tests.support.strategy_stories import build_settings

USED = (auto_strategy, pipeline_strategy, sample_strategy, tree_strategy, evolve_strategy)
"""Modules that forks would load one by one."""


async def play_job(job: dict[str, Any]) -> None:
    strategy, (kind, left) = StrategySettings(**job["strategy"]), job["kill"]
    settings = build_settings(job["model"], strategy)
    request = SessionRequest(working=Path(job["root"]))
    runtime = assemble_runtime(settings, request, Home.from_environment())

    def kill(event: Event) -> None:
        nonlocal left
        left -= event.kind == kind
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    runtime.session.subscribe(kill)
    await runtime.run_turn(job["prompt"], choose_work(runtime, strategy, job["prompt"]))


def main() -> None:
    strategy_turn._count_processors = lambda: 2
    for line in sys.stdin:
        job = json.loads(line)
        process = os.fork()
        if not process:
            os.environ.update(job["env"])
            try:
                asyncio.run(play_job(job))
            except BaseException:
                import traceback

                traceback.print_exc()
            os._exit(1)
        _, status = os.waitpid(process, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


if __name__ == "__main__":
    main()
