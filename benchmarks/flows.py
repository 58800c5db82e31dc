"""How many calls of our own functions one more action of a turn takes, over how many files and changes of floor.

    python benchmarks/flows.py [FLOW…]

Each flow is a scripted turn, run twice under a profiler: with the action once, and with it REPEATED times more. The
difference is what one action costs, without what the first one sets up. Counts, not seconds: they hold on any machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _measure import CHECKOUT, repository

Turns = list[dict[str, Any]]

REPEATED = 8

TARGETS = "targets (half of 2026-11-26): read 710, shell 1,154, edit 1,578, commit 5,886 calls"

FLOORS = ("cli", "agent", "tools", "sandbox", "packages", "patchwright")

TRACED = """
import atexit, json, os, sys, threading
root, floors, result = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
places = tuple(os.path.join(root, each) + os.sep for each in floors)
calls, owners, changes, last, process = 0, {}, 0, "", os.getpid()

def count(frame, event, _):
    global calls, changes, last
    if event != "call":
        return
    name = frame.f_code.co_filename
    if not name.startswith(places):
        return
    calls += 1
    owners[name] = owners.get(name, 0) + 1
    floor = name[len(root) + 1:].partition(os.sep)[0]
    if floor != last:
        changes, last = changes + 1, floor

def write():
    if os.getpid() == process:
        sys.setprofile(None)
        with open(result, "w") as file:
            json.dump({"calls": calls, "owners": owners, "changes": changes}, file)

leave = os._exit
os._exit = lambda code: (write(), leave(code))
atexit.register(write)
sys.argv = ["patchwright", *sys.argv[4:]]
sys.path.insert(0, root)
threading.setprofile(count)
sys.setprofile(count)
import runpy
runpy.run_module("patchwright", run_name="__main__", alter_sys=True)
"""
"""Program of the profiled process; ended by `os._exit` as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One profiled turn: calls, calls by file, and how often a call went to another floor than the one before it."""

    calls: int
    owners: Mapping[str, int]
    changes: int


def make_call(tool: str, **arguments: object) -> dict[str, object]:
    """Return one action of a script."""
    return {"tool": tool, "arguments": arguments}


def make_turns(flow: str, times: int) -> Turns:
    """Return a script with the flow's action so many times."""
    turns: Turns = []
    for number in range(times):
        text = f"The {number + 1}th line of this kind.\n"
        match flow:
            case "read":
                turns.append({"calls": [make_call("read", path="a.py")]})
            case "shell":
                turns.append({"calls": [make_call("shell", command="true")]})
            case "edit":
                turns.append({"calls": [make_call("write", path=f"notes-{number}.md", content=text)]})
            case "commit":
                turns.append({"calls": [make_call("write", path=f"notes-{number}.md", content=text)]})
                turns.append({"calls": [make_call("git_commit", message=f"Add note {number}")]})
    return [*turns, {"text": "done"}]


def count_calls(turns: Sequence[Mapping[str, Any]]) -> Count:
    """Run a turn under the profiler."""
    with repository() as (root, env), tempfile.TemporaryDirectory() as folder:
        script, result = Path(folder, "turns.json"), Path(folder, "calls.json")
        script.write_text(json.dumps(turns))
        for pair in (("user.name", "A"), ("user.email", "a@example.org")):
            subprocess.run(["git", "config", *pair], cwd=root, env=env, check=True)
        argv = [
            sys.executable,
            "-c",
            TRACED,
            str(CHECKOUT),
            ",".join(FLOORS),
            str(result),
            "run",
            "Write notes.",
        ]
        done = subprocess.run(
            [*argv, "--model", f"scripted:{script}", "--max-steps", "99"],
            cwd=root, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if not result.exists():
            raise SystemExit(f"the turn was not counted:\n{done.stderr}")
        return Count(**json.loads(result.read_text()))


def subtract(more: Count, fewer: Count, times: int) -> Count:
    """Return what one of the additional actions took."""
    owners = {
        name: rest // times
        for name, calls in more.owners.items()
        if (rest := calls - fewer.owners.get(name, 0)) >= times
    }
    return Count(
        calls=(more.calls - fewer.calls) // times,
        owners=owners,
        changes=(more.changes - fewer.changes) // times,
    )


def main() -> None:
    """Print a row for each flow, and the files with the most calls below it."""
    print(f"{'one more':8}  {'calls':>6}  {'files':>5}  {'changes of floor':>16}")
    for flow in sys.argv[1:] or ["read", "shell", "edit", "commit"]:
        first, more = count_calls(make_turns(flow, 2)), count_calls(make_turns(flow, 2 + REPEATED))
        cost = subtract(more, first, REPEATED)
        print(f"{flow:8}  {cost.calls:6}  {len(cost.owners):5}  {cost.changes:16}")
        most = sorted(cost.owners.items(), key=lambda each: -each[1])[:6]
        print("".join(f"  {calls:14}  {Path(name).relative_to(CHECKOUT)}\n" for name, calls in most), end="")
    print("a commit stands with the edit before it\n" + TARGETS)


if __name__ == "__main__":
    main()
