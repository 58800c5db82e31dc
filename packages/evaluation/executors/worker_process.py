"""The process of a worker: orders on standard input, spending and results on standard output, as lines."""

from __future__ import annotations

import gc
from functools import partial
from typing import TYPE_CHECKING

from agent.children.process.process_start import take_pipes

if TYPE_CHECKING:
    from agent.children.process.served_session import ParentLines
    from agent.events import UsageRecord


def main() -> None:
    """Serve trials one after the other. Standard input and output are kept from everything else that runs here."""
    read_end, write_end = take_pipes()
    import asyncio

    asyncio.run(_serve_trials(read_end, write_end))


async def _serve_trials(read_end: int, write_end: int) -> None:
    import asyncio

    from agent.children.process import wire
    from agent.children.process.served_session import ParentLines
    from packages.evaluation.executors.result_line import encode_result_line
    from packages.evaluation.runs.trial import run_trial
    from packages.evaluation.runs.trial_order import decode_order

    lines = ParentLines(read_end, write_end, asyncio.get_running_loop())
    gc.freeze()  # as in `cli.invocation`: the objects of the start are permanent
    gc.enable()
    lines.send(wire.encode_message("ready"))
    while (message := await lines.messages.get()) is not None and message["message"] == "trial":
        order = decode_order(message)
        result = await run_trial(order, partial(_report_spending, lines), partial(_report_part, lines))
        lines.send(encode_result_line(order, result))


def _report_spending(lines: ParentLines, usage: UsageRecord) -> None:
    from agent.children.process import wire

    lines.send(wire.encode_message("spend", usage=vars(usage)))


def _report_part(lines: ParentLines, seconds: float) -> None:
    from agent.children.process import wire

    lines.send(wire.encode_message("part", seconds=seconds))
