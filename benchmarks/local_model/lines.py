"""Lines of this project that a mutation changed, written anew by a model that is shown the place, without tests.

    python -m benchmarks.local_model.lines --record FILE [--mutations 24] [--api-base URL] [--model NAME] [--seed 1]

How often the likeliest filling is the original (by syntax) bounds what fillings can mend without samples. How often the
model finds the original likelier than the mutated line says what naturalness is worth on code that no model has seen.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agent.model.infill import filler as fillers
from agent.model.infill.fill_forms import Gap
from benchmarks._measure import CHECKOUT
from benchmarks.local_model.counted_filler import CountedFiller
from benchmarks.local_model.tasks import Task, is_development, list_mutations
from packages.offline.infill.naturalness import find_line_change, measure_texts


async def measure_line(task: Task, filler: CountedFiller) -> dict[str, Any] | None:
    """Return what the model writes at the mutated line, and what it thinks of it; None if more than a line changed."""
    change = find_line_change(task.text, task.original)
    if change is None or "\n" in change.old + change.new:
        return None
    gap = Gap(prefix=change.before, suffix=change.after)
    filling = await filler.fill(gap)
    written = filling.text.strip() if filling is not None else ""
    natural = await measure_texts(filler, task.text, task.original)
    return {
        "mutated": change.old,
        "original": change.new,
        "filled": written,
        "same": has_same_syntax(change.before + written + change.after, task.original),
        "natural": round(natural, 2) if natural is not None else None,
    }


def has_same_syntax(one: str, other: str) -> bool:
    """Return whether two programs have the same syntax tree."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def measure_lines(options: argparse.Namespace, known: set[str]) -> Iterator[dict[str, Any]]:
    """Yield an entry for each mutation that is not known."""
    count = 0
    for task in list_mutations(CHECKOUT, options.seed):
        if count >= options.mutations:
            return
        if task.id in known:
            count += 1
            continue
        filler = CountedFiller(options.api_base, options.model)
        began = time.monotonic()
        entry = asyncio.run(measure_line(task, filler))
        if entry is None:
            continue
        count += 1
        yield {
            "task": task.id,
            "half": "development" if is_development(task.id) else "held",
            **entry,
            **filler.list_counts(),
            "seconds": round(time.monotonic() - began, 1),
            "load": round(os.getloadavg()[0], 1),
        }


def print_sums(entries: Sequence[dict[str, Any]]) -> None:
    """Print a row for each kind of mutation, and for all."""
    print("| kind | lines | filled as it was | told | original likelier |\n|---|--:|--:|--:|--:|")
    kinds = sorted({each["task"].rpartition(":")[2] for each in entries})
    for kind in [*kinds, ""]:
        rows = [each for each in entries if each["task"].endswith(f":{kind}" if kind else "")]
        told = [each["natural"] for each in rows if each["natural"] is not None]
        print(
            f"| {kind or 'all'} | {len(rows)} | {sum(each['same'] for each in rows)} | {len(told)} |"
            f" {sum(value > 0 for value in told)} |"
        )


def main() -> None:
    """Measure the lines one after the other, and print the sums."""
    parser = argparse.ArgumentParser(description=textwrap.dedent(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--mutations", type=int, default=24)
    parser.add_argument("--api-base", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--patience", type=float, default=fillers.PATIENCE)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    fillers.PATIENCE = options.patience
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    entries = [json.loads(line) for line in lines]
    for entry in measure_lines(options, {each["task"] for each in entries}):
        with options.record.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)
        entries.append(entry)
    print_sums(entries)


if __name__ == "__main__":
    main()
