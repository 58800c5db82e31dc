"""What code as an action costs: start of a kernel, a block there and back, a tool call from within, a rule's monitor.

    python benchmarks/kernel.py [--peers PYTHON]

--peers: a Python with smolagents, ipykernel and jupyter_client; their executors run the same blocks in the same run
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agent.monitor.temporal_rules import ObservedEvent, RuleMonitor
from agent.monitor.workflow_rules import RULES
from sandbox.backends.selection import choose_sandbox
from sandbox.errors import UserError
from sandbox.fs.workspace_tree import Tree
from sandbox.policy.decision import Approval, Mode, Policy
from tools.builtin_tools import load_default_tools
from tools.core.action import Action, Observation
from tools.core.artifacts import Artifacts
from tools.core.gateway import Gateway
from tools.core.registry import Toolbox
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace
from tools.kernel.kernel_session import KernelSession

TARGETS = "targets: start 150 ms; a block 3 ms; a tool call 1 ms over the tool itself; an event 0.05 ms"

STARTS, TIMES = 7, 200
LIMIT = 60.0


async def best_and_median(call: Callable[[], Awaitable[object]], times: int) -> tuple[float, float]:
    """Milliseconds of wall time."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await call()
        taken.append(1000 * (time.perf_counter() - started))
    taken.sort()
    return taken[0], taken[len(taken) // 2]


def processor() -> float:
    """Milliseconds that this process and its ended children have worked."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1000 * sum(each.ru_utime + each.ru_stime for each in used)


def floor() -> None:
    """An interpreter that does nothing: what any kernel costs at least."""
    started, worked = [], []
    for _ in range(STARTS):
        begun, busy = time.perf_counter(), processor()
        subprocess.run([str(Path(sys.executable).resolve()), "-c", "pass"], check=True)
        started.append(1000 * (time.perf_counter() - begun))
        worked.append(processor() - busy)
    print("python -c pass")
    show("start", min(started), sorted(started)[STARTS // 2])
    show("  processor time of that", min(worked), sorted(worked)[STARTS // 2])


def show(what: str, best: float, median: float) -> None:
    print(f"  {what:<42} best {best:8.3f} ms   median {median:8.3f} ms")


class Quiet:
    """A log that keeps nothing."""

    def record_action(self, *_: object) -> None: ...
    def record_decision(self, *_: object) -> None: ...
    def record_observation(self, *_: object) -> None: ...
    def record_snapshot(self, *_: object) -> None: ...


def opened(folder: Path, box: str) -> tuple[Workspace, Gateway]:
    root = folder / "work"
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_text("one line\n")
    (root / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    python = (
        root / ".venv" / "bin" / "python"
    )  # as in a project: no search along PATH, no version manager's script
    if not python.exists():
        python.symlink_to(Path(sys.executable).resolve())
    at = Workspace(
        root=root,
        files=Tree(root),
        sandbox=choose_sandbox(root, box, spill=folder),
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache"),
    )
    policy = Policy(Mode.FULL, Approval.AUTO)
    return at, Gateway(toolbox=Toolbox(load_default_tools()), workspace=at, policy=policy, recorder=Quiet())


async def ours(folder: Path, box: str) -> None:
    at, gateway = opened(folder, box)
    print(f"patchwright, in {at.sandbox.name}")
    started, worked = [], []
    for _ in range(STARTS):
        kernel = KernelSession(at, gateway)
        begun, busy = time.perf_counter(), processor()
        await kernel.run("1", seconds=LIMIT)
        started.append(1000 * (time.perf_counter() - begun))
        await kernel.close()
        worked.append(processor() - busy)
    show("start, with a first block", min(started), sorted(started)[STARTS // 2])
    show("  processor time of that", min(worked), sorted(worked)[STARTS // 2])
    kernel = KernelSession(at, gateway)
    show("block", *await best_and_median(lambda: kernel.run("1 + 1", seconds=LIMIT), TIMES))

    async def alone() -> list[Observation]:
        return await gateway.run([Action(id="x", tool="read", arguments={"path": "a.txt"})])

    calls = 20
    code = f"for _ in range({calls}): read('a.txt')"
    one = await best_and_median(alone, TIMES)
    empty = await best_and_median(lambda: kernel.run("for _ in range(20): pass", seconds=LIMIT), TIMES // 4)
    many = await best_and_median(lambda: kernel.run(code, seconds=LIMIT), TIMES // 4)
    show("the tool itself (read)", *one)
    show(
        "a call of it from a block, over that",
        *((m - e) / calls - o for m, e, o in zip(many, empty, one, strict=True)),
    )
    await kernel.close()


def monitor() -> None:
    """Processor time of the rules together, for an event each in a session that has touched 1,000 files."""
    monitors = [RuleMonitor(rule) for rule in RULES]
    names = ("read", "edit", "tests-failed", "edit", "tests-passed", "commit")
    events = [
        ObservedEvent(
            name=name, keys={"path": frozenset({f"f{number}.py"})} if name in ("read", "edit") else {}
        )
        for number in range(1000)
        for name in names
    ]
    taken = []
    for _ in range(5):
        started = time.process_time()
        for event in events:
            for each in monitors:
                each.find_violations(event)
                each.observe(event)
        taken.append(1000 * (time.process_time() - started) / len(events))
    print("rules on order")
    show(f"an event, all {len(RULES)} rules", min(taken), sorted(taken)[2])


PEERS = """
import json, sys, time
def measured(call, times):
    taken = []
    for _ in range(times):
        started = time.perf_counter(); call(); taken.append(1000 * (time.perf_counter() - started))
    taken.sort()
    return taken[0], taken[len(taken) // 2]
found = {}
try:
    from smolagents.local_python_executor import LocalPythonExecutor
    def start():
        made = LocalPythonExecutor([]); made.send_tools({}); made("1"); return made
    found["smolagents: start"] = measured(start, 7)
    executor = start()
    found["smolagents: block"] = measured(lambda: executor("1 + 1"), 200)
except ImportError as error:
    found["smolagents: " + str(error)] = (0, 0)
try:
    from jupyter_client.manager import start_new_kernel
    started = []
    for _ in range(3):
        begun = time.perf_counter()
        manager, client = start_new_kernel(kernel_name="python3")
        client.execute_interactive("1", silent=True)
        started.append(1000 * (time.perf_counter() - begun))
        client.stop_channels(); manager.shutdown_kernel(now=True)
    started.sort()
    found["jupyter: start"] = started[0], started[1]
    manager, client = start_new_kernel(kernel_name="python3")
    found["jupyter: block"] = measured(lambda: client.execute_interactive("1 + 1", output_hook=lambda _: None), 200)
    client.stop_channels(); manager.shutdown_kernel(now=True)
except ImportError as error:
    found["jupyter: " + str(error)] = (0, 0)
print(json.dumps(found))
"""


def peers(python: str) -> None:
    """smolagents interprets in its own process, Jupyter starts one; neither is confined."""
    done = subprocess.run([python, "-c", PEERS], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-500:])
        return
    for what, (best, median) in json.loads(done.stdout.splitlines()[-1]).items():
        show(what, best, median)


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", metavar="PYTHON")
    asked = arguments.parse_args()
    print(TARGETS)
    floor()
    for box in ("bubblewrap", "landlock", "unconfined"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                await ours(Path(folder), box)
            except UserError as error:
                print(f"{box}: {error.message}")
    monitor()
    if asked.peers:
        print("others")
        peers(asked.peers)


if __name__ == "__main__":
    asyncio.run(main())
