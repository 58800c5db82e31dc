"""Reproduction of bug fixes of public repositories, the commit's message as the report and a small model as the writer.

    python -m benchmarks.verification.reproduced_fixes RECORD --mirrors FOLDER [--api-base URL] [--seconds 1200]

The development half of benchmarks/local_model/fixes.jsonl: each report is tried on the code before the fix, where a
reproduction is true if its script passes with the fix; and on the code with it, where any is a false alarm. One line
of RECORD is one try; what is there is not tried again. Without --api-base nothing but the report's own code is tried.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from agent.model.http.json_request import request_json
from benchmarks.local_model.fixes import copy_revision, read_fixes, read_git
from benchmarks.local_model.tasks import Task, is_development
from packages.offline.commands.repair import open_workspace
from packages.offline.commands.reproduce import SYSTEM
from packages.offline.reproduction.machine import is_told_failure, reproduce
from packages.offline.reproduction.model_writer import ModelWriter
from packages.offline.reproduction.probe_run import ProbeRunner, find_packages

FIXES = Path(__file__).parents[1] / "local_model" / "fixes.jsonl"

ANSWER_TOKENS = 400
"""Of a script; a small model that goes on longer repeats itself."""

ANSWER_SECONDS = 300.0


def main() -> None:
    """Try what is not in the record, and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    parser.add_argument("--mirrors", type=Path, default=os.environ.get("MIRRORS"), help="bare clones")
    parser.add_argument("--api-base", default="")
    parser.add_argument("--seconds", type=float, default=1200.0, help="after which no try is begun")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.mirrors is None:
        sys.exit("missing: --mirrors FOLDER, or MIRRORS in the environment")
    tasks = [
        each
        for each in read_fixes(FIXES, options.mirrors)
        if is_development(each.id) and each.source is not None
    ]
    Random(options.seed).shuffle(tasks)
    end = time.monotonic() + options.seconds
    done = {(each["task"], each["state"]) for each in read_tries(options.record)}
    for task in tasks:
        for state in ("before", "after"):
            if (task.id, state) in done or time.monotonic() > end:
                continue
            entry = try_report(task, state, options.api_base)
            with options.record.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            print(task.id, state, entry["outcome"], entry["fixed"], entry["seconds"], flush=True)
    print(format_sums(read_tries(options.record)))


def try_report(task: Task, state: str, base: str) -> dict[str, Any]:
    """Return how the reproduction of a fix's message went on the code before or after it."""
    assert task.source is not None
    text = read_git(task.source, "log", "-1", "--format=%B", task.revision)
    began = time.monotonic()
    answers: list[str] = []

    async def ask(prompt: str) -> str:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
        body = {"messages": messages, "max_tokens": ANSWER_TOKENS, "temperature": 0.0 if not answers else 0.7}
        _, answer = await asyncio.to_thread(
            request_json,
            f"{base}/chat/completions",
            {},
            {**body, "seed": len(answers)},
            silence=ANSWER_SECONDS,
            seconds=ANSWER_SECONDS,
        )
        try:
            answers.append(str(answer["choices"][0]["message"]["content"]))  # type: ignore[index]
        except (TypeError, KeyError, IndexError):
            answers.append("")
        return answers[-1]

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        copy_revision(task.source, task.revision, root)
        if state == "before":
            (root / task.program).write_text(task.text)
        writer = ModelWriter(text=text, ask=ask).write_draft if base else None
        with open_workspace(root) as at:
            found = asyncio.run(
                reproduce(at, text, write_draft=writer, wants_told=True, seconds=3 * ANSWER_SECONDS)
            )
            fixed = ""
            if found.is_reproduced and found.failure is not None and state == "before":
                (root / task.program).write_text(task.original)
                runner = ProbeRunner(at=at, python=found.python, packages=find_packages(root))
                run = asyncio.run(runner.run_script(found.script))
                told = is_told_failure(run.returncode, run.stdout.text(), found.failure)
                fixed = "passes" if run.returncode == 0 else "fails as told" if told else "fails otherwise"
    return {
        "task": task.id,
        "state": state,
        "model": bool(base),
        "outcome": str(found.outcome),
        "fixed": fixed,
        "origin": found.origin,
        "reason": found.reason,
        "script": found.script,
        "rejected": [f"{each.reason}: {each.detail}" for each in found.rejections],
        "answers": answers,
        "seconds": round(time.monotonic() - began, 1),
        "load": round(os.getloadavg()[0], 1),
    }


def read_tries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a record; [] if there is none yet."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def format_sums(entries: Sequence[dict[str, Any]]) -> str:
    """Return how many are reproduced, true, and false alarms."""
    before = [each for each in entries if each["state"] == "before"]
    after = [each for each in entries if each["state"] == "after"]
    kept = [each for each in before if each["outcome"] == "reproduced"]
    true = sum(each["fixed"] == "passes" for each in kept)
    alarms = sum(each["outcome"] == "reproduced" for each in after)
    return (
        f"before the fix: {len(before)} reports, {len(kept)} reproduced, {true} true, {len(kept) - true} false\n"
        f"with the fix: {len(after)} reports, {alarms} reproduced, which is false"
    )


if __name__ == "__main__":
    main()
