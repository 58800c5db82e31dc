"""`patchwright diagnose` on published failed runs of SWE-agent whose first decisive error was judged by reading.

`python -m benchmarks.diagnoses FILE`: FILE holds one run a line (`id`, `exit`, `history`), as JSON, packed by xz. The
judgements are in `judged_failures.json`; they were written before the diagnoses were seen. With a FOLDER of
`benchmarks.signals.small_runs` it is those of `judged_small_failures.json`: step, what the session was used for, why.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from packages.setup.sessions.import_sessions import import_sessions
from packages.trace.diagnosis import Diagnosis, diagnose
from packages.trace.rows.traced_sessions import read_traces

JUDGEMENTS = Path(__file__).with_name("judged_failures.json")
SMALL_JUDGEMENTS = Path(__file__).with_name("judged_small_failures.json")

_READS = ("open", "goto", "scroll_down", "scroll_up", "search_dir", "search_file", "find_file")
_ENDS = ("submit", "exit_cost", "exit_context", "exit_format")
_FAILED = re.compile(
    r"^(?:/bin/bash: |Usage: |Traceback |Your proposed edit has introduced new syntax error)"
)
_OPEN = re.compile(r"\(Open file: (\S+?)\)")


def read_judgements() -> dict[str, tuple[int, str]]:
    """Return step and reason of each judged run, by its task."""
    return {name: (step, why) for name, (step, why) in json.loads(JUDGEMENTS.read_text("utf-8")).items()}


def read_runs(path: Path) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Yield task and history of each run."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            run = json.loads(line)
            yield run["id"].partition("@")[0], run["history"]


def build_trajectory(task: str, history: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a failed run of SWE-agent in ATIF; what it submits is its answer."""
    steps: list[dict[str, Any]] = []
    current = ""
    for message, following in zip(history, [*history[1:], {}], strict=True):
        action = str(message.get("action") or "").strip()
        if message.get("role") != "assistant":
            if not any(each["source"] == "agent" for each in steps) and message.get("role") == "user":
                steps.append({"source": "user", "message": str(message.get("content"))})
            continue
        thought = str(message.get("thought") or "")
        if action in _ENDS:
            if action == "submit":
                steps.append({"source": "agent", "message": thought or "Submitted."})
            break
        step: dict[str, Any] = {"source": "agent", "message": thought}
        tool, arguments = _read_action(action, current)
        step["tool_calls"] = [{"tool_call_id": "1", "function_name": tool, "arguments": arguments}]
        if following:
            output = str(following.get("content"))
            failed = _FAILED.match(output) is not None
            result = {"source_call_id": "1", "content": output, "extra": {"failed": failed}}
            step["observation"] = {"results": [result]}
            current = found[1] if (found := _OPEN.search(output)) else current
        steps.append(step)
    return {
        "session_id": task,
        "agent": {"name": "swe-agent"},
        "steps": steps,
        "final_metrics": {"extra": {"exit_code": 1}},
    }


def _read_action(action: str, current: str) -> tuple[str, dict[str, str]]:
    """Return tool and arguments of a command. current: the file that is open"""
    first, _, rest = action.partition("\n")
    name, _, told = first.partition(" ")
    if name == "edit":
        return "edit", {"path": current, "range": told, "text": rest}
    if name in ("open", "create"):
        return name, {"path": told.split(" ")[0]}
    return (name, {"query": told}) if name in _READS else ("bash", {"command": action})


def diagnose_run(task: str, history: Sequence[Mapping[str, Any]], folder: Path) -> Diagnosis | None:
    """Return the diagnosis of a run, imported into a home in this empty folder."""
    path = folder / "run.json"
    path.write_text(json.dumps(build_trajectory(task, history)), "utf-8")
    home = Home(data=folder / "data", config=folder / "config", cache=folder / "cache")
    (imported,) = import_sessions(home, folder, "atif", str(path))
    return diagnose(read_traces(home.get_project_folder(folder) / "sessions" / imported.id))


def measure_small_runs(folder: Path) -> None:
    """Print judgement and diagnosis of each judged session of a small model. Raises SystemExit if one is missing."""
    agreed: Counter[str] = Counter()
    judged = json.loads(SMALL_JUDGEMENTS.read_text("utf-8"))
    for run, (step, use, why) in judged.items():
        logs = sorted((folder / run).glob("home/.local/share/patchwright/projects/*/sessions/*/log.jsonl"))
        if not logs:
            raise SystemExit(f"missing: a session of {run}")
        found = diagnose(read_traces(logs[0].parent), is_wrong=True)
        agreed[use] += found is not None and found.step == step
        told = f"{found.step} ({found.kind}: {found.reason})" if found else "no failure"
        print(f"{run} ({use}): judged {step} ({why}), diagnosed {told}")
    for use, count in Counter(use for _, use, _ in judged.values()).items():
        print(f"{use}: {agreed[use]} of {count} agree")


def main() -> None:
    """Print judgement and diagnosis of each run, and how many agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.file.is_dir():
        measure_small_runs(options.file)
        return
    if not options.file.is_file():
        raise SystemExit(f"missing: {options.file}")
    judged = read_judgements()
    agreed = 0
    for task, history in read_runs(options.file):
        if task not in judged:
            continue
        step, why = judged[task]
        with tempfile.TemporaryDirectory() as folder:
            found = diagnose_run(task, history, Path(folder))
        agreed += found is not None and found.step == step
        told = f"{found.step} ({found.kind}: {found.reason})" if found else "no failure"
        print(f"{task}: judged {step} ({why}), diagnosed {told}", flush=True)
    print(f"{agreed} of {len(judged)} agree")


if __name__ == "__main__":
    main()
