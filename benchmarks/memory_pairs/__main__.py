"""Twenty pairs of related small tasks with a local model and the engine: what the memory saves in the second one.

    python -m benchmarks.memory_pairs --record FILE [--api-base URL] [--model NAME] [--limit 60] [--steps 6]
        [--minutes M] [--most N]

Each pair is a small git repository. The first task is worked on by `patchwright run`, or, where the person says a wish,
in an editor's session; then the repository is set to the second task's beginning, so that all second sessions begin
alike. The second task is run twice, each with the same prompt, temperature 0 and window: with the home of
the first, and with a new one. Code judges what is in the files. Tokens of the session are those of its
replies, with what of a prompt the server still had; fillings and replies that were broken off are not among them.
Tokens of the server are all that it read and wrote, without what it still had: it has to run with `--metrics`, and
for nobody else.

Each run is a line of the record; what is in it is not run again. `--minutes` begins no run after so many.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._measure import COMMAND, environment
from benchmarks.memory_pairs.pairs import PAIRS
from benchmarks.memory_pairs.programs import PROGRAMS, Pair, Task

ARMS = ("first", "with", "without")
_GRACE = 60.0
"""Seconds beyond the limit for the end of a run."""


def write_state(root: Path, pair: Pair, task: Task) -> None:
    """Write the program with a task's beginning: its fault, or nothing where something new is wanted."""
    files, tests = PROGRAMS[pair.program]
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    if task.right:
        text = files[task.path]
        assert text.count(task.right) == 1, task
        (root / task.path).write_text(text.replace(task.right, task.wrong))
    place = root / ("checks/verify.py" if pair.kind in ("named", "told") else f"tests/test_{pair.program}.py")
    place.parent.mkdir(exist_ok=True)
    place.write_text(tests)
    if pair.tests:
        calls = "".join(f"verify.{name}()\n" for name in re.findall(r"^def (test_\w+)", tests, re.M))
        (root / "checks/run.py").write_text(f"import verify\n\n{calls}print('all checks passed')\n")
        (root / "checks/all.sh").write_text("PYTHONPATH=. python3 checks/run.py\n")
    else:
        (root / "conftest.py").write_text("")


def judge(root: Path, pair: Pair, task: Task) -> bool:
    """Return whether a task is done: its check, and the program's tests as they were, pass on what is in the files."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for path in PROGRAMS[pair.program][0]:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            if not (root / path).is_file():
                return False
            shutil.copyfile(root / path, place / path)
        (place / "judge.py").write_text(task.check or f"{PROGRAMS[pair.program][1]}\n{_CALL_TESTS}")
        argv = [sys.executable, "judge.py"]
        try:
            return (
                subprocess.run(argv, cwd=place, capture_output=True, timeout=60, check=False).returncode == 0
            )
        except subprocess.TimeoutExpired:
            return False


_CALL_TESTS = 'for name, each in list(globals().items()):\n    if name.startswith("test_"):\n        each()\n'


class Workplace:
    """A pair's repository, and the homes of its sessions."""

    def __init__(self, folder: Path, pair: Pair, options: argparse.Namespace) -> None:
        self._pair, self._options = pair, options
        self._folder = folder
        self.root = folder / "project"
        self.root.mkdir()
        self._git("init", "-q")
        self._git("config", "user.name", "A")
        self._git("config", "user.email", "a@example.org")
        (self.root / "README.md").write_text(f"# {pair.program}\n")
        self._commit("Begin")
        begin = self._git("rev-parse", "HEAD")
        self.starts = []
        for task in (pair.first, pair.second):  # beside each other: no history has what is right
            self._git("reset", "-q", "--hard", begin)
            write_state(self.root, pair, task)
            self._commit("Add the program")
            self.starts.append(self._git("rev-parse", "HEAD"))

    def _git(self, *words: str) -> str:
        env = environment(self._folder)
        return subprocess.run(
            ["git", *words], cwd=self.root, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    def _commit(self, message: str) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "-m", message)

    def make_home(self, name: str) -> None:
        """Write a new home with its settings."""
        home = self._folder / name
        settings = home / ".config/patchwright/settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("[models]\ntemperature = 0.0\n")

    def run(self, home_name: str, *, is_first: bool = False) -> dict[str, Any]:
        """Work on the first or the second task with a home; return how it went."""
        pair, options = self._pair, self._options
        task, home = pair.first if is_first else pair.second, self._folder / home_name
        self._git("reset", "-q", "--hard", self.starts[0 if is_first else 1])
        self._git("clean", "-qfdx")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = environment(home, OPENAI_API_KEY="none", PATH=path)
        model = ["--model", f"openai/{options.model}", "--api-base", options.api_base]
        prompt = task.prompt
        if is_first and pair.kind == "told":
            prompt += f" The tests are run with `{pair.tests}`."
        wait_for_idle(options.api_base)
        before, began = count_tokens(options.api_base), time.monotonic()
        if is_first and pair.wish:
            code, told = self._run_editor(model, env, f"{prompt} {pair.wish}")
        else:
            named = ["--tests", pair.tests] if is_first and pair.kind == "named" else []
            limits = ["--max-time", str(options.limit), "--max-steps", str(options.steps)]
            argv = [COMMAND, "run", *model, *named, *limits, "--output", "json", prompt]
            code, told = self._run_command(argv, env)
        seconds = time.monotonic() - began
        wait_for_idle(options.api_base)
        served = count_tokens(options.api_base)
        end, steers = read_log(home)
        return {
            "code": code,
            "outcome": end.get("outcome", ""),
            "solved": judge(self.root, pair, task),
            "tokens": end.get("usage", {}).get("input", 0) + end.get("usage", {}).get("output", 0),
            "served": None if before is None or served is None else served - before,
            "steps": end.get("steps", 0),
            "seconds": round(seconds, 1),
            "recalled": steers,
            "load": round(os.getloadavg()[0], 1),
            "end": str(end.get("summary") or told)[-300:],
        }

    def _run_command(self, argv: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
        try:
            done = subprocess.run(
                argv, cwd=self.root, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                timeout=self._options.limit + _GRACE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, "not ended in time"
        return done.returncode, done.stdout + done.stderr[-300:]

    def _run_editor(self, model: Sequence[str], env: Mapping[str, str], prompt: str) -> tuple[int, str]:
        """Send one prompt by the protocol of editors, and cancel it at the limit."""
        process = subprocess.Popen(
            [COMMAND, "acp", *model], env=env, cwd=self.root,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def send(message: Mapping[str, Any]) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()

        def call(number: int, method: str, **params: Any) -> dict[str, Any]:
            assert process.stdout is not None
            send({"id": number, "method": method, "params": params})
            for line in process.stdout:
                message = json.loads(line)
                if message.get("id") == number and "method" not in message:
                    return dict(message.get("result") or {})
                if message.get("method") == "session/request_permission":
                    option = message["params"]["options"][0]["optionId"]
                    chosen = {"outcome": "selected", "optionId": option}
                    send({"id": message["id"], "result": {"outcome": chosen}})
            return {}

        call(1, "initialize", protocolVersion=1, clientCapabilities={})
        session = call(2, "session/new", cwd=str(self.root), mcpServers=[])["sessionId"]
        cancel = {"method": "session/cancel", "params": {"sessionId": session}}
        timer = threading.Timer(self._options.limit, send, [cancel])
        timer.start()
        told = call(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": prompt}])
        timer.cancel()
        process.stdin.close()
        return process.wait(_GRACE), str(told.get("stopReason", ""))


def read_log(home: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the end of the newest session, and what its model was told of the memory."""
    logs = sorted(home.glob("**/sessions/*/log.jsonl"), key=lambda each: each.stat().st_mtime)
    events = [json.loads(line) for line in logs[-1].read_text().splitlines()] if logs else []
    ends = [each for each in events if each["kind"] == "end"]
    head = "[Remembered of earlier sessions here"
    told = [
        each["text"].partition("\n")[2]
        for each in events
        if each["kind"] == "steer" and each["text"].startswith(head)
    ]
    return (ends[-1] if ends else {}), told


def count_tokens(base: str) -> int | None:
    """Return the tokens that the server has read and written so far, None if it does not tell."""
    try:
        with urllib.request.urlopen(f"{base.removesuffix('/v1')}/metrics", timeout=60) as answer:
            told = answer.read().decode()
    except urllib.error.URLError:
        return None
    found = re.findall(r"^llamacpp:(?:prompt_tokens|tokens_predicted)_total (\S+)", told, re.M)
    return round(sum(float(each) for each in found)) if found else None


def wait_for_idle(base: str, longest: float = 120.0) -> None:
    """Wait until the server works on no request: one that was broken off may still be worked on."""
    until = time.monotonic() + longest
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{base.removesuffix('/v1')}/slots", timeout=60) as answer:
                if not any(each["is_processing"] for each in json.load(answer)):
                    return
        except (urllib.error.URLError, ValueError):
            return
        time.sleep(0.5)


def run_pair(pair: Pair, options: argparse.Namespace, known: Mapping[str, Any]) -> None:
    """Run the sessions of a pair. One whose first session has to be made again runs them all."""
    missing = [arm for arm in ARMS if arm not in known]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as name:
        place = Workplace(Path(name).resolve(), pair, options)
        place.make_home("first")
        place.make_home("without")
        write_entry(options.record, pair, "first", place.run("first", is_first=True))
        shutil.copytree(Path(name, "first"), Path(name, "with"), symlinks=True)
        for arm in ("with", "without") if PAIRS.index(pair) % 2 else ("without", "with"):
            write_entry(options.record, pair, arm, place.run(arm))


def write_entry(record: Path, pair: Pair, arm: str, outcome: Mapping[str, Any]) -> None:
    """Add a run to the record."""
    entry = {"pair": pair.name, "kind": pair.kind, "arm": arm, **outcome}
    with record.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    print(json.dumps(entry), flush=True)


def read_record(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the runs by pair and arm; a pair without both second sessions counts as not run."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        found.setdefault(entry["pair"], {})[entry["arm"]] = entry
    return {name: arms for name, arms in found.items() if set(arms) == set(ARMS)}


def print_sums(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Print a row for each kind, and for all; pairs with fewer, as many and more tokens of both counts."""
    print(
        "| kind | pairs | session: fewer, as many, more | server | solved without, with | tokens | served | steps | s |"
    )
    print("|---|" + "--:|" * 8)
    for kind in [*dict.fromkeys(each["with"]["kind"] for each in found.values()), "all"]:
        rows = [each for each in found.values() if kind in ("all", each["with"]["kind"])]
        signs = []
        for name in ("tokens", "served"):
            more = [(each["with"][name] or 0) - (each["without"][name] or 0) for each in rows]
            counts = sum(each < 0 for each in more), more.count(0), sum(each > 0 for each in more)
            signs.append(", ".join(map(str, counts)))
        cells = [
            ", ".join(f"{sum(each[arm][name] or 0 for each in rows):.0f}" for arm in ("without", "with"))
            for name in ("solved", "tokens", "served", "steps", "seconds")
        ]
        print(f"| {kind} | {len(rows)} | {' | '.join([*signs, *cells])} |")


def main() -> None:
    """Run the pairs that are not in the record, and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--api-base", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a session")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--most", type=int, default=len(PAIRS), help="only the first pairs")
    options = parser.parse_args()
    began = time.monotonic()
    for pair in PAIRS[: options.most]:
        if options.minutes and time.monotonic() - began > options.minutes * 60:
            break
        run_pair(pair, options, read_record(options.record).get(pair.name, {}))
    print_sums(read_record(options.record))


if __name__ == "__main__":
    main()
