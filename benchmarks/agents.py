"""What agents save and cost: context of the session, time in parallel, results that they share.

    python benchmarks/agents.py DJANGO

DJANGO is a checkout of django, for the recorded searches: each question is answered by the same searches and reads,
once by the session itself and once by an agent, with scripted models. Times are measured with a server of its own that
takes half a second for each answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import ObservationEvent
from agent.session.log import read_events
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings, TeamSettings
from agent.team.attach import attach_team
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval

TARGETS = """targets: a report adds at most 2 KB to the session; the same finding costs it at least 60 % fewer tokens;
16 agents in parallel within 1.3 times of one; a second identical run of tests within 20 ms"""

Call = tuple[str, dict[str, Any]]

QUESTIONS: tuple[tuple[str, tuple[Call, ...], tuple[tuple[str, str], ...]], ...] = (
    (
        "When is the CSRF token rotated?",
        (
            ("search", {"pattern": "rotate_token", "glob": "*.py"}),
            ("read", {"path": "django/middleware/csrf.py", "start": 60, "end": 160}),
            ("search", {"pattern": "def login", "path": "django/contrib/auth"}),
            ("read", {"path": "django/contrib/auth/__init__.py", "start": 80, "end": 160}),
        ),
        (
            ("django/middleware/csrf.py", "def rotate_token"),
            ("django/contrib/auth/__init__.py", "rotate_token(request)"),
        ),
    ),
    (
        "Where does a QuerySet decide to hit the database when it is sliced?",
        (
            ("search", {"pattern": "def __getitem__", "path": "django/db/models"}),
            ("code", {"action": "outline", "target": "django/db/models/query.py"}),
            ("read", {"path": "django/db/models/query.py", "start": 230, "end": 420}),
            ("search", {"pattern": "_fetch_all", "path": "django/db/models"}),
        ),
        (("django/db/models/query.py", "def __getitem__"), ("django/db/models/query.py", "def _fetch_all")),
    ),
    (
        "How does the template loader cache compiled templates?",
        (
            ("search", {"pattern": "get_template_cache", "path": "django"}),
            ("read", {"path": "django/template/loaders/cached.py"}),
            ("search", {"pattern": "loaders.cached", "path": "django"}),
            ("read", {"path": "django/template/engine.py", "start": 1, "end": 80}),
        ),
        (
            ("django/template/loaders/cached.py", "def get_template"),
            ("django/template/engine.py", "cached.Loader"),
        ),
    ),
    (
        "Which middleware may short-circuit a request, and where is that handled?",
        (
            ("search", {"pattern": "process_request", "path": "django"}),
            ("read", {"path": "django/utils/deprecation.py"}),
            ("read", {"path": "django/core/handlers/base.py"}),
            ("search", {"pattern": "process_view", "path": "django/core"}),
        ),
        (
            ("django/core/handlers/base.py", "def load_middleware"),
            ("django/utils/deprecation.py", "process_request"),
        ),
    ),
    (
        "Where are migrations ordered by their dependencies?",
        (
            ("search", {"pattern": "class MigrationGraph", "path": "django/db"}),
            ("read", {"path": "django/db/migrations/graph.py"}),
            ("search", {"pattern": "iterative_dfs|forwards_plan", "path": "django/db"}),
            ("read", {"path": "django/db/migrations/executor.py", "start": 1, "end": 80}),
        ),
        (
            ("django/db/migrations/graph.py", "def iterative_dfs"),
            ("django/db/migrations/executor.py", "def migration_plan"),
        ),
    ),
)
"""Question, calls that answer it, and the places found, each by a text in its line."""


def call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool": tool, "arguments": dict(arguments)}


def write_script(folder: Path, name: str, turns: Sequence[Mapping[str, Any]]) -> str:
    (folder / name).write_text(json.dumps({"turns": list(turns)}))
    return f"scripted:{folder / name}"


def find_places(root: Path, wanted: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    found = []
    for path, text in wanted:
        lines = (root / path).read_text("utf-8").splitlines()
        number = next(n for n, line in enumerate(lines, 1) if text in line)
        found.append(
            {
                "place": f"{path}:{number}",
                "note": f"This is where it happens: {lines[number - 1].strip()[:80]}.",
            }
        )
    return found


@contextmanager
def open_session(
    folder: Path, root: Path, model: str, **settings: Any
) -> Iterator[tuple[Runtime, SessionTeam]]:
    home = Home.from_environment({"PATCHWRIGHT_HOME": str(folder / "own"), "HOME": str(folder)})
    base = settings.pop("api_base", "")
    env = {"OPENAI_API_KEY": "test"}
    given = SessionSettings(
        model=model,
        api_base=base,
        access=AccessSettings(approval=Approval.NEVER),
        agents=TeamSettings(**settings),
    )
    runtime = assemble_runtime(given, SessionRequest(working=root, env=env), home)
    team = attach_team(runtime, home)
    assert team is not None
    yield runtime, team


async def measure_context(folder: Path, django: Path) -> None:
    """Print what a finding costs the session's context, done by itself and by an agent."""
    alone_sum = handed_sum = 0
    largest = 0
    for number, (question, calls, wanted) in enumerate(QUESTIONS):
        places = find_places(django, wanted)
        answer = " ".join(f"{each['place']} {each['note']}" for each in places)
        steps = [{"calls": [call(*each)]} for each in calls]
        alone = write_script(folder, f"alone{number}.json", [*steps, {"text": answer}])
        report = {"calls": [call("report", {"answer": "Found.", "findings": places})]}
        child = write_script(folder, f"child{number}.json", [*steps, report])
        ask = {"calls": [call("delegate", {"agent": "explore", "task": question})]}
        handed = write_script(folder, f"handed{number}.json", [ask, {"text": answer}])
        used = []
        for model in (alone, handed):
            with open_session(folder, django, model, models={"explore": child}) as (runtime, _):
                before = runtime.loop.compressor.total_tokens
                end = await runtime.run_turn(question)
                assert end.outcome == "done", end.summary
                used.append(runtime.loop.compressor.total_tokens - before)
                log = read_events(runtime.session.folder)
                seen = [
                    each for each in log if isinstance(each, ObservationEvent) and each.tool == "delegate"
                ]
                largest = max([largest, *(len(each.text.encode()) for each in seen)])
                assert not any(each.failed for each in seen), seen
                await runtime.close()
        alone_sum, handed_sum = alone_sum + used[0], handed_sum + used[1]
        print(
            f"{question} itself {used[0]} tokens, by an agent {used[1]} ({1 - used[1] / used[0]:.0%} fewer)"
        )
    fewer = 1 - handed_sum / alone_sum
    print(f"together: {alone_sum} and {handed_sum} ({fewer:.0%} fewer); largest report {largest} bytes")


@contextmanager
def serve(folder: Path, turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A server in a process of its own; yields its API base."""
    path = folder / "served.json"
    path.write_text(json.dumps({"turns": list(turns)}))
    program = Path(__file__).parents[1] / "tests/support/loopback.py"
    with subprocess.Popen(
        [sys.executable, str(program), "--port", "0", "--script", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


async def measure_parallel(folder: Path, shop: Path, count: int) -> None:
    """Print how long agents take one by one and at once, with a server that takes half a second an answer."""
    # The server does not know its clients apart: each answer is the same, until a limit of four steps.
    turns = [{"calls": [call("search", {"pattern": "total"})], "delay": 0.5, "repeat": 100_000}]
    with (
        serve(folder, turns) as url,
        open_session(folder, shop, "openai/local", api_base=url, most=10_000, max_steps=4) as (runtime, team),
    ):
        agent = team.get_agent("explore")

        async def run(number: int) -> float:
            begun = time.perf_counter()
            found = await asyncio.gather(*(team.delegate(agent, f"look {n}") for n in range(number)))
            assert all(each.data["outcome"] == "limit" for each in found), found[0].text
            return time.perf_counter() - begun

        await run(1)  # loads what the first one loads
        one = min([await run(1) for _ in range(3)])
        before = time.process_time()
        many = min([await run(count) for _ in range(3)])
        processor = (time.process_time() - before) / 3
        print(
            f"one agent, four answers: {one:.2f} s, {count} in parallel {many:.2f} s: {many / one:.2f} times,"
            f" with {processor:.2f} s of processor time"
        )
        await runtime.close()


async def measure_tests(folder: Path, shop: Path) -> None:
    """Print what a run of tests costs the first agent and the second."""
    child = [
        {"calls": [call("run_tests", {})]},
        {"calls": [call("report", {"answer": "Run.", "findings": []})]},
    ]
    model = write_script(folder, "tests.json", child)
    idle = write_script(folder, "idle.json", [{"text": "hello"}])
    with open_session(folder, shop, idle, models={"reviewer": model}) as (runtime, team):
        agent = team.get_agent("reviewer")
        seconds = []
        for _ in range(11):
            found = await team.delegate(agent, "Run the tests.")
            log = read_events(runtime.session.folder.parent / found.data["session"])
            seconds += [
                each.seconds
                for each in log
                if isinstance(each, ObservationEvent) and each.tool == "run_tests"
            ]
        rest = sorted(seconds[1:])
        median, slowest = 1000 * rest[5], 1000 * rest[-1]
        print(f"run_tests: first {seconds[0]:.2f} s; then median {median:.1f} ms, slowest {slowest:.1f} ms")
        await runtime.close()


def make_shop(folder: Path) -> Path:
    shop = folder / "shop"
    shop.mkdir()
    (shop / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    (shop / "test_cart.py").write_text(
        "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
    )
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Start"],
    ):
        subprocess.run(["git", "-C", str(shop), *words], check=True)
    return shop


async def measure(folder: Path, args: argparse.Namespace) -> None:
    shop = make_shop(folder)
    await measure_parallel(folder, shop, args.parallel)
    await measure_tests(folder, shop)
    if args.django is not None:
        await measure_context(folder, args.django.resolve())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("django", type=Path, nargs="?")
    parser.add_argument("--parallel", type=int, default=16)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agents-") as made:
        asyncio.run(measure(Path(made), args))
    print(TARGETS)


if __name__ == "__main__":
    main()
