"""Reviewer and judge in real sessions: what they see, what they say, and that it decides nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import ChildEvent, ChoiceEvent, End, VerdictEvent
from agent.model.model_settings import ModelSettings
from agent.session.log import read_events
from agent.session_request import SessionRequest
from agent.session_settings import StrategySettings, VerifySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from packages.search.review.agreement import Agreement, count_opinion, read_agreement
from packages.search.review.answers import Preference, Review, read_answer
from packages.search.review.child_opinion import TOOLS
from packages.search.review.review_verifier import attach_reviewer
from tests.support.child_sessions import settings_for
from tests.support.cli import call, script
from tests.support.loopback import Loopback
from tests.support.repo import Repo
from tools.builtin_tools import TOOLS as BUILTIN
from tools.builtin_tools import UNTOLD

pytestmark = pytest.mark.slow


CART = "def total(prices):\n    return -sum(prices)\n"
EDIT = {
    "calls": [call("edit", path="cart.py", old="-sum", new="sum")],
    "text": "My secret reasoning is this.",
}
DONE = {"text": "It adds up, believe me."}
ACCEPTS = '{"accepts": true, "reason": "It does."}'
OBJECTS = (
    '```json\n{"accepts": false, "reason": "Half of it.",'
    ' "problems": [{"path": "cart.py", "line": 2, "what": "no case for None"}]}\n```'
)


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.commit_all()
    return repo


def play(
    shop: Repo, turns: list[dict[str, Any]], judge: list[dict[str, Any]], suite: str = "true", **more: Any
) -> tuple[Runtime, End]:
    """Play a turn with a reviewer, or with the strategy `sample` and a judge."""
    folder = shop.root.parent
    judged = script(folder, judge, "judge.json") if judge else ""
    settings = settings_for(script(folder, turns), sandbox="auto")
    tools = replace(settings.tools, tests=replace(settings.tools.tests, command=suite))
    given = {"models": ModelSettings(judge=judged), "tools": tools, "commit": "turn", **more}
    settings = replace(settings, **given)

    async def run() -> tuple[Runtime, End]:
        runtime = assemble_runtime(settings, SessionRequest(working=shop.root), Home.from_environment())
        if settings.verify.review:
            attach_reviewer(runtime)
        try:
            work = choose_work(runtime, settings.strategy, "mend the sum")
            return runtime, await runtime.run_turn("mend the sum", work)
        finally:
            await runtime.close()

    return asyncio.run(run())


def select(runtime: Runtime, kind: type[Any]) -> list[Any]:
    return [each for each in read_events(runtime.session.folder) if isinstance(each, kind)]


REVIEW = VerifySettings(review=True)


def test_a_role_gets_tools_that_there_are() -> None:
    known = {getattr(import_module(module), name).name for module, name in (*BUILTIN, *UNTOLD)}
    assert known >= TOOLS
    assert {"read", "list", "search"} <= TOOLS


def test_the_reviewer_thinks_as_the_settings_say_and_its_provider_makes_the_answer_fit(
    shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitting = {"accepts": True, "reason": "It does.", "problems": []}
    with Loopback([{"text": json.dumps(fitting)}] * 2) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        models = ModelSettings(effort="low", judge="anthropic/judge", judge_effort="xhigh")
        runtime, end = play(shop, [EDIT, DONE], [], verify=REVIEW, models=models)
        asked = [each.body["output_config"] for each in server.requests]
    assert end.outcome == "done"
    assert {each["effort"] for each in asked} == {"xhigh"}
    schema = asked[0]["format"]["schema"]
    assert (schema["required"], schema["additionalProperties"]) == (list(fitting), False)
    assert [each.outcome for each in select(runtime, VerdictEvent) if each.name == "review"] == ["pass"]


def test_a_reviewer_sees_task_diff_and_verdicts_and_not_the_author(shop: Repo) -> None:
    answers = [
        {"text": ACCEPTS, "expect": ["mend the sum", "+    return sum(prices)"]},
        {"text": ACCEPTS, "expect": ["- tests (executed): pass"]},
    ]
    runtime, end = play(shop, [EDIT, DONE], answers, verify=REVIEW)
    assert end.outcome == "done"
    (child,) = {each.child for each in select(runtime, ChildEvent)}
    log = (runtime.session.folder.parent / child / "log.jsonl").read_text("utf-8")
    assert "secret reasoning" not in log
    assert "believe me" not in log
    (verdict,) = [each for each in select(runtime, VerdictEvent) if each.name == "review"]
    assert (verdict.outcome, verdict.evidence) == ("pass", "opinion")
    assert verdict.detail.endswith("accepts the change\nIt does.")


@pytest.mark.parametrize(
    ("answers", "outcome", "detail"),
    [
        ([OBJECTS, OBJECTS], "fail", "Half of it.\ncart.py:2: no case for None"),
        ([ACCEPTS, OBJECTS], "fail", "Half of it."),
        (["Fine with me.", "Really."], "unknown", "no review: no answer: done"),
        (["Fine with me.", ACCEPTS, ACCEPTS], "pass", "It does."),
    ],
)
def test_whatever_a_reviewer_says_the_turn_is_done_and_committed(
    shop: Repo, answers: list[str], outcome: str, detail: str
) -> None:
    runtime, end = play(shop, [EDIT, DONE], [{"text": each} for each in answers], verify=REVIEW)
    assert (end.outcome, end.exit_code) == ("done", 0)
    assert shop.committed() == ["cart.py"]
    (verdict,) = [each for each in select(runtime, VerdictEvent) if each.name == "review"]
    assert (verdict.outcome, verdict.evidence) == (outcome, "opinion")
    assert detail in verdict.detail


def test_agreement_with_executed_checks_is_counted_by_the_answer_without_them(shop: Repo) -> None:
    answers = [{"text": OBJECTS}, {"text": ACCEPTS}]
    play(shop, [EDIT, DONE], answers, verify=REVIEW)
    shop.git("reset", "-q", "--hard", "HEAD~1")
    play(shop, [EDIT, DONE, DONE], answers, suite="false", verify=REVIEW)
    (found,) = read_agreement(Home.from_environment())
    assert (found.role, found.agree, found.disagree) == ("reviewer", 1, 1)
    assert found.format_text().endswith("as reviewer: 1 of 2 agree with executed checks")


def test_without_a_model_there_is_no_review(shop: Repo) -> None:
    runtime, end = play(shop, [EDIT, DONE], [], verify=REVIEW)
    assert end.outcome == "done"
    (verdict,) = [each for each in select(runtime, VerdictEvent) if each.name == "review"]
    assert (verdict.outcome, verdict.detail) == ("unknown", "no review: no model can be asked")


BETTER = "def total(prices):\n    return sum(prices) + 1\n"
WORSE = "def total(prices):\n    return sum(prices) + 2\n"
WRONG = "def total(prices):\n    return None\n"


@contextmanager
def serve_judge(choose: Callable[[str], str]) -> Iterator[tuple[str, list[str]]]:
    """Serve a model that answers each question with the candidate that `choose` names; yields address and questions."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(str(body["messages"][-1]["content"]))
            text = json.dumps({"preferred": choose(asked[-1]), "reason": "It is."})
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            answer = json.dumps(
                {"id": "1", "object": "chat.completion", "model": "judge", "choices": choices}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("choose", "reason", "counted"),
    [
        (
            lambda asked: "A" if "+ 1" in asked.partition("Candidate B")[0] else "B",
            "equal by the tests; opinions: preferred 1 times, in both orders",
            "agree",
        ),
        (lambda asked: "A", "equal, and the first", "undecided"),
        (lambda asked: "same", "equal, and the first", "undecided"),
    ],
    ids=["steady", "the first one", "neither"],
)
def test_a_judge_counts_only_if_it_does_not_follow_the_order(
    shop: Repo, choose: Callable[[str], str], reason: str, counted: str
) -> None:
    """The tests refute the third attempt; beside the best one it shows what the judge is worth."""
    shop.write("check.sh", "! grep -q None cart.py\n")
    shop.commit_all()
    models = []
    for number, text in enumerate((BETTER, WORSE, WRONG)):
        write = call("write", path="cart.py", content=text)
        turns = [{"calls": [call("read", path="cart.py")]}, {"calls": [write]}, DONE, DONE]
        models.append(script(shop.root.parent, turns, f"{number}.json"))
    with serve_judge(choose) as (address, asked):
        runtime, end = play(
            shop,
            [],
            [],
            suite="sh check.sh",
            model="openai/own",
            api_base=address,
            models=ModelSettings(judge="openai/judge"),
            strategy=StrategySettings(name="sample", attempts=3, models=models),
            verify=VerifySettings(judge=True),
        )
    assert end.outcome == "done"
    (choice,) = select(runtime, ChoiceEvent)
    assert (choice.attempt, choice.order) == (1, [1, 2, 3])
    assert choice.reason == f"{reason}; to be told: total(''): 1 or 2?"
    assert len(asked) == 5, "two attempts, two questions to the judge, and one for the commit's message"
    questions = asked[:4]
    assert all("mend the sum" in each and "believe me" not in each for each in questions)
    assert ["Executed checks say of both" in each for each in questions] == [True, True, False, False]
    assert questions[0].index("+ 1") < questions[0].index("+ 2")
    assert questions[1].index("+ 2") < questions[1].index("+ 1")
    (found,) = read_agreement(Home.from_environment())
    assert (found.role, found.model) == ("judge", "openai/judge")
    assert {each: getattr(found, each) for each in ("agree", "disagree", "undecided")} == {
        "agree": 0, "disagree": 0, "undecided": 0, counted: 1
    }  # fmt: skip


def test_answers_are_read_from_messages() -> None:
    assert read_answer(Preference, 'I think:\n{"preferred": "B", "reason": "x"}') == Preference(
        preferred="B", reason="x"
    )
    assert read_answer(Preference, '{"preferred": "C"}') is None
    assert read_answer(Review, OBJECTS) is not None
    assert read_answer(Review, "[" * 100_000) is None


def test_counts_of_several_models(tmp_path: Path) -> None:
    home = Home(data=tmp_path / "data", config=tmp_path / "config", cache=tmp_path / "cache")
    assert read_agreement(home) == []
    for result in ("agree", "undecided", "agree"):
        count_opinion(home, "openai/a", "judge", result)  # type: ignore[arg-type]
    count_opinion(home, "openai/b", "judge", "disagree")
    assert read_agreement(home) == [
        Agreement(model="openai/a", role="judge", agree=2, disagree=0, undecided=1),
        Agreement(model="openai/b", role="judge", agree=0, disagree=1, undecided=0),
    ]
    (home.data / "agreement.sqlite").write_bytes(b"no database at all, and longer than a header")
    count_opinion(home, "openai/a", "judge", "agree")
    assert [each.agree for each in read_agreement(home)] == [1]
