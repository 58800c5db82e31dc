"""A user whom a model plays: it knows its persona and the dialogue, is bounded, and costs apart from the agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import ObservationEvent, Prompt, UsageRecord
from agent.model.protocol import AssistantMessage, Request, UserMessage
from agent.session.log import read_events
from packages.evaluation.mining.vary_tasks import vary_changed_mind, vary_reworded, vary_withheld
from packages.evaluation.runs.run_plan import make_plan
from packages.evaluation.runs.trial import run_trial
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.runs.trial_spending import UserUsage, decode_spending
from packages.evaluation.runs.variant import make_variant
from packages.evaluation.tasks.task_folder import Task
from sandbox.errors import UserError
from tests.support.cli import run as run_command
from tests.support.evaluation_trials import EDIT, make_order, make_task, write_script
from tests.support.loopback import Loopback

pytestmark = pytest.mark.slow

PERSONA = "You sell fruit. You want add to add. If asked: a plain sum."
ASK = {"tool": "ask_user", "arguments": {"question": "What shall add do?", "questions": []}}
AGENT = [
    {"calls": [ASK]},
    {"text": "I know what you want now."},
    {"calls": [EDIT], "usage": {"input": 100, "output": 10, "cost": 0.5}},
    {"text": "Done: add adds."},
]


def play_trial(task: Task, folder: Path, user_model: str, agent: list[Any], **more: Any) -> TrialResult:
    spent: list[UsageRecord] = more.pop("spent", [])
    api_base = more.pop("api_base", "")
    order = make_order(
        task, write_script(folder / "agent.json", agent), folder, user_model=user_model, **more
    )
    order = replace(order, settings=replace(order.settings, api_base=api_base))
    return asyncio.run(run_trial(order, spent.append))


def test_the_user_answers_goes_on_and_stops(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": PERSONA})
    heard: list[Request] = []

    def play(request: Request) -> Mapping[str, Any]:
        heard.append(request)
        said = ["A plain sum.", "Then change it, please.", "###STOP###"]
        return {"text": said[len(heard) - 1], "usage": {"input": 7, "output": 3}}

    spent: list[UsageRecord] = []
    with Loopback(play) as server:
        result = play_trial(task, tmp_path, "small", AGENT, api_base=server.url, spent=spent)
    assert result.solved, result
    log = list(read_events(tmp_path / "data/sessions" / result.session))
    assert [each.text for each in log if isinstance(each, Prompt)] == ["Fix add.", "Then change it, please."]
    assert "The user answers: A plain sum." in [
        each.text for each in log if isinstance(each, ObservationEvent)
    ]
    assert (result.user_tokens, result.tokens_in, result.cost) == (30, 100, 0.5)
    assert sum(each.input for each in spent) == 121
    last = heard[-1]
    dialogue = [each.text for each in last.messages if isinstance(each, UserMessage | AssistantMessage)]
    assert PERSONA in last.system + dialogue[0]
    assert "Fix add." in last.system + dialogue[0]
    assert dialogue[-5:] == [
        *("What shall add do?", "A plain sum."),
        *("I know what you want now.", "Then change it, please.", "Done: add adds."),
    ]
    assert "a - b" not in last.system + "".join(dialogue)
    assert not last.tools


def test_messages_are_bounded_and_a_last_word_is_kept(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": PERSONA, "turns": 2})
    user = write_script(tmp_path / "user.json", [{"text": "Go on.", "repeat": 9}])
    agent = [{"text": "Well.", "repeat": 30}]
    result = play_trial(task, tmp_path, user, agent)
    log = list(read_events(tmp_path / "data/sessions" / result.session))
    assert [each.text for each in log if isinstance(each, Prompt)] == ["Fix add.", "Go on.", "Go on."]
    leaving = write_script(tmp_path / "leaving.json", [{"text": "A sum; I leave. ###STOP###"}])
    result = play_trial(task, tmp_path, leaving, AGENT[:1] + AGENT[2:], key="c" * 64)
    log = list(read_events(tmp_path / "data/sessions" / result.session))
    assert result.solved
    assert any("A sum; I leave." in each.text for each in log if isinstance(each, ObservationEvent))
    assert len([each for each in log if isinstance(each, Prompt)]) == 1


def test_a_user_that_cannot_be_played_gives_no_result(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": PERSONA})
    broken = write_script(tmp_path / "user.json", [{"error": "model-unreachable"}])
    result = play_trial(task, tmp_path, broken, AGENT)
    assert (result.is_valid, result.failure) == (False, "model-unreachable")
    assert result.detail.startswith("the user's model: ")
    hasty = make_task(tmp_path / "suite/hasty", user={"persona": PERSONA}, limits={"steps": 1})
    limited = play_trial(
        hasty, tmp_path, broken, AGENT, key="e" * 64
    )  # whose turn ends at its limit of steps
    assert (limited.is_valid, limited.failure) == (False, "model-unreachable")
    nobody = play_trial(task, tmp_path, "", AGENT, key="d" * 64)
    assert (nobody.is_valid, "--user-model" in nobody.detail or "no model plays" in nobody.detail) == (
        False,
        True,
    )


def test_the_users_model_is_part_of_what_is_measured(tmp_path: Path) -> None:
    plain, talking = (
        make_task(tmp_path / f"suite/{name}", **fields)
        for name, fields in (("plain", {}), ("talking", {"user": {"persona": PERSONA}}))
    )
    settings = make_order(plain, "offline", tmp_path).settings
    variant = make_variant("offline", settings)

    def list_keys(tasks: list[Task], user: str) -> dict[str, str]:
        plan = make_plan("s", tasks, [variant], trials=1, seed=0, version="1", user_model=user)
        return {each.task.name: each.key for each in plan.trials}

    first, second = (list_keys([plain, talking], f"openai/{name}") for name in ("a", "b"))
    assert first["plain"] == second["plain"]
    assert first["talking"] != second["talking"]
    assert list_keys([plain], "") == {"plain": first["plain"]}
    with pytest.raises(UserError, match="task 'talking' has a user whom a model plays"):
        list_keys([plain, talking], "")
    with pytest.raises(UserError, match="no script for this model"):
        list_keys([talking], "scripted:none.json")
    assert vary_withheld(talking, 1, 0) is None
    assert vary_changed_mind(talking, 1, 0) is None
    reworded = vary_reworded(talking, 1, 0)
    assert reworded is not None
    assert reworded.file.user.persona == PERSONA


def test_a_run_goes_on_and_reports_the_users_cost_apart(tmp_path: Path) -> None:
    make_task(tmp_path / "suite/add", user={"persona": PERSONA})
    write_script(tmp_path / "agent.json", AGENT)
    usage = {"input": 5, "output": 5, "cost": 0.25}
    said = ["A sum.", "Change it.", "###STOP###"]
    write_script(tmp_path / "user.json", [{"text": each, "usage": usage} for each in said])
    home = {"PATCHWRIGHT_HOME": str(tmp_path / "home")}
    command = ("eval", "run", "suite", "-m", "scripted:agent.json")
    refused = run_command(*command, cwd=tmp_path, env=home)
    assert (refused.code, "--user-model NAME" in refused.err) == (2, True)
    command = (*command, "--user-model", "scripted:user.json")
    done = run_command(*command, cwd=tmp_path, env=home)
    assert done.code == 0, done
    assert "users played by a model: $0.7500" in done.out
    assert "$0.5000" in done.out
    again = run_command(*command, cwd=tmp_path, env=home)
    assert again.out.splitlines()[1:] == done.out.splitlines()[1:]
    assert len(list((tmp_path / "home").rglob("log.jsonl"))) == 1


def test_what_the_user_spends_is_taken_from_the_share_of_the_trial(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": PERSONA})
    priced = [{"text": "Go on.", "repeat": 9, "usage": {"input": 5, "output": 5, "cost": 0.4}}]
    user = write_script(tmp_path / "user.json", priced)
    cheap = {"input": 5, "output": 5, "cost": 0.25}
    agent = [{"calls": [ASK], "usage": cheap}, {"calls": [EDIT], "usage": cheap}, {"text": "Done."}]
    spent: list[UsageRecord] = []
    result = play_trial(task, tmp_path, user, agent, max_cost=0.7, spent=spent)
    # The agent's second call would pass what is left of the share once its question has been answered.
    assert (result.outcome, result.cost, result.user_cost, result.tool_calls) == ("limit", 0.25, 0.4, 1), (
        result
    )
    assert [isinstance(each, UserUsage) for each in spent] == [False, True]
    talk = [{"text": "Well.", "repeat": 9, "usage": cheap}]
    result = play_trial(task, tmp_path, user, talk, max_cost=0.6, key="f" * 64)
    assert (result.outcome, result.cost, result.user_cost) == ("limit", 0.25, 0.4), result
    asking = [{"calls": [ASK], "usage": {**cheap, "cost": 0.7}}, {"text": "Done."}]
    result = play_trial(
        task, tmp_path, user, asking, max_cost=0.7, key="a" * 64
    )  # nothing is left for an answer
    assert (result.cost, result.user_cost) == (0.7, 0.0), result


def test_spending_of_the_user_keeps_its_mark_on_its_way() -> None:
    usage = UserUsage(input=3, cost=0.5)
    sent = json.loads(json.dumps(vars(usage)))
    assert decode_spending(sent) == usage
    assert decode_spending(vars(UsageRecord(input=3))) == UsageRecord(input=3)
