"""Formats of other programs, each checked by its published schema, or by the program that reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft202012Validator

from agent.app_dirs import Home
from tests.support.cli import call, git, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent

ATIF = json.loads((HERE / "atif_1_8.json").read_text("utf-8"))
SARIF = json.loads((HERE / "sarif_2_1_0.json").read_text("utf-8"))


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(items):\n    return sum(items[1:])\n")
    repo.write("old.py", "x = 1\n")
    repo.write("empty.py", "")
    repo.write("a b/ü.txt", "one\ntwo")
    repo.commit_all("Add cart")
    return repo


def check_trajectory(found: dict[str, Any]) -> None:
    """What the schema cannot say, as Harbor's models check it."""
    assert [each["step_id"] for each in found["steps"]] == list(range(1, len(found["steps"]) + 1))
    for step in found["steps"]:
        if step["source"] != "agent":
            assert not {"model_name", "reasoning_content", "tool_calls", "metrics"} & step.keys()
        if step.get("llm_call_count") == 0:
            assert not {"metrics", "reasoning_content"} & step.keys()
        calls = {each["tool_call_id"] for each in step.get("tool_calls", [])}
        for result in step.get("observation", {}).get("results", []):
            assert result.get("source_call_id") in {None, *calls}
    for child in found.get("subagent_trajectories", []):
        check_trajectory(child)


def test_a_session_is_exported_as_a_trajectory(tmp_path: Path, shop: Repo) -> None:
    turns = [
        {
            "reasoning": "I should ask.",
            "calls": [
                call("delegate", agent="explore", task="Where is the total?"),
                call("read", path="no.py"),
            ],
            "usage": {"input": 100, "cached": 40, "output": 7, "cost": 0.5},
        },
        {"calls": [call("edit", path="cart.py", old="[1:]", new="")]},
        {"text": "Done."},
    ]
    child = script(
        tmp_path, [{"calls": [call("read", path="cart.py")]}, {"text": "In cart.py."}], "child.json"
    )
    config = Home.from_environment().config
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(f'[agents.models]\nexplore = "{child}"\n', "utf-8")
    done = run(
        "run", "mend it", "--model", script(tmp_path, turns), "--no-commit", "--output", "json", cwd=shop.root
    )
    session = json.loads(done.out)["session"]
    found = json.loads(run("session", "export", session, "--format", "atif", cwd=shop.root).out)
    assert [each.message for each in Draft202012Validator(ATIF).iter_errors(found)] == []
    check_trajectory(found)
    assert found["schema_version"] == "ATIF-v1.8"
    system, prompt, asked, edit, answer = found["steps"][:5]
    assert (system["source"], prompt["source"], prompt["message"]) == ("system", "user", "mend it")
    assert asked["reasoning_content"] == "I should ask."
    assert asked["metrics"] == {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "cached_tokens": 40,
        "cost_usd": 0.5,
    }
    delegated, missing = asked["observation"]["results"]
    [inner] = found["subagent_trajectories"]
    assert delegated["subagent_trajectory_ref"][0]["trajectory_id"] == inner["trajectory_id"]
    assert inner["steps"][-1]["message"] == "In cart.py."
    assert missing["extra"] == {"failed": True}
    assert edit["tool_calls"][0]["arguments"] == {"path": "cart.py", "old": "[1:]", "new": ""}
    assert answer["message"] == "Done."
    assert found["final_metrics"]["total_cost_usd"] == 0.5
    assert found["final_metrics"]["total_steps"] == len(found["steps"])


def test_a_session_is_exported_as_a_prediction(tmp_path: Path, shop: Repo) -> None:
    base = shop.head()
    command = "rm old.py; printf 'x = 2\\n' > empty.py; printf 'one\\nthree' > 'a b/ü.txt'; chmod +x cart.py"
    turns = [
        {
            "calls": [
                call("edit", path="cart.py", old="[1:]", new=""),
                call("write", path="new.py", content="y = 3"),
            ]
        },
        {"calls": [call("shell", command=command)]},
        {"text": "Done."},
    ]
    model = script(tmp_path, turns)
    done = run("run", "do it", "--model", model, "--no-commit", "--output", "json", cwd=shop.root)
    session = json.loads(done.out)["session"]
    exported = run(
        "session", "export", session, "--format", "swebench", "--instance", "shop__1", cwd=shop.root
    )
    found = json.loads(exported.out)
    assert found.keys() == {"instance_id", "model_name_or_path", "model_patch"}
    assert (found["instance_id"], found["model_name_or_path"]) == ("shop__1", f"patchwright/{model}")
    clone = tmp_path / "clone"
    git(shop.root, "clone", "-q", ".", str(clone))
    git(clone, "checkout", "-q", base)
    (tmp_path / "patch").write_text(found["model_patch"], "utf-8")
    git(clone, "apply", "--index", str(tmp_path / "patch"))
    git(shop.root, "add", "-A")
    assert git(clone, "write-tree") == git(shop.root, "write-tree")
    wrong = run("session", "export", session, "--format", "swebench", cwd=shop.root)
    assert wrong.code == 2
    assert "--instance" in wrong.err


def test_findings_are_sarif(tmp_path: Path, shop: Repo) -> None:
    shop.write("a b/cart.py", "def total(items):\n    breakpoint()\n    return 1\n")
    shop.write("broken.py", "def f(:\n")
    shop.git("add", "-A")
    reviewed = run("review", "--staged", "--sarif", cwd=shop.root)
    assert reviewed.code == 1
    report = tmp_path / "report.sarif"
    hooked = run("hook", "run", "pre-commit", f"--sarif={report}", cwd=shop.root)
    assert hooked.code == 1
    for log in (json.loads(reviewed.out), json.loads(report.read_text("utf-8"))):
        assert [each.message for each in Draft4Validator(SARIF).iter_errors(log)] == []
        [one] = log["runs"]
        places = {
            (each["ruleId"], each["level"], place["artifactLocation"]["uri"], place["region"]["startLine"])
            for each in one["results"]
            for place in [each["locations"][0]["physicalLocation"]]
        }
        assert {("leftovers", "error", "a%20b/cart.py", 2), ("syntax", "error", "broken.py", 1)} <= places
        for rule in one["tool"]["driver"]["rules"]:  # without these a code host takes no log in
            assert (
                rule["shortDescription"]["text"]
                == rule["fullDescription"]["text"]
                != "A finding of Patchwright."
            )
            assert f"PATCHWRIGHT_SKIP={rule['id']}" in rule["help"]["text"]
        assert [one["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] for each in one["results"]] == [
            each["ruleId"] for each in one["results"]
        ]
    wrong = run("hook", "run", "pre-commit", f"--sarif={tmp_path}/no/such.sarif", cwd=shop.root)
    assert "cannot write" in wrong.err
    assert "Traceback" not in wrong.err
