"""Content address of a trial's result: equal for equal work, another one for whatever its session would see."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.session_settings import SessionSettings, StrategySettings
from packages.evaluation.runs.run_plan import make_plan
from packages.evaluation.runs.variant import RunFolders, compute_trial_key, make_variant
from tests.support.evaluation_trials import make_home, make_task
from tools.core.tool_settings import ToolSettings
from tools.mcp.server_settings import McpServerSettings

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}


def compute_key(folder: Path, model: str = "", env: dict[str, str] = KEYS, **settings: object) -> str:
    """Return the address of a trial with the user's files below `folder`."""
    changed = replace(SessionSettings(model=model), **settings)  # type: ignore[arg-type]
    variant = make_variant("label", changed, home=make_home(folder), env=env)
    return compute_trial_key(variant, "add", "digest", 0, "1", 0)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_changed_file_of_the_users_draws_new_results_and_an_equal_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in ("one", "two"):
        write(tmp_path / folder / "config/agents/tester.md", "---\nname: tester\n---\nTest.")
    first = compute_key(tmp_path / "one", "offline")
    assert compute_key(tmp_path / "two", "offline") == first
    assert compute_key(tmp_path / "none", "offline") != first
    known = {first}
    for name, text in (
        ("config/agents/tester.md", "---\nname: tester\n---\nTest twice."),
        ("config/agents/other.md", "---\nname: other\n---\nHelp."),
        ("config/skills/release/SKILL.md", "Release."),
        ("config/skills/release/steps.txt", "1"),
        ("config/agent-hooks.json", "{}"),
        ("config/guideline.md", "Short."),
        ("../home/.agents/skills/plan/SKILL.md", "Plan."),
        ("data/plugins/kit/record.json", '{"name": "kit", "source": "s", "digest": "d1"}'),
        ("data/plugins/kit/record.json", '{"name": "kit", "source": "s", "digest": "d2"}'),
    ):
        write(tmp_path / "one" / name, text)
        key = compute_key(tmp_path / "one", "offline")
        assert key not in known, name
        known.add(key)
    (tmp_path / "one/config/agents/deep").mkdir()
    (tmp_path / "one/config/agents/deep/loop").symlink_to("..")  # a folder that holds itself ends the search
    assert compute_key(tmp_path / "one", "offline") == key


def test_names_of_one_model_have_one_address_and_another_default_has_another(tmp_path: Path) -> None:
    named = compute_key(tmp_path, "openai/gpt-5")
    assert compute_key(tmp_path, "gpt-5") == named
    assert (
        compute_key(tmp_path, "openai/gpt-5", {**KEYS, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}) != named
    )
    assert compute_key(tmp_path, "gpt-5", api_base="http://127.0.0.1:9/v1") != named
    attempts = StrategySettings(name="sample", models=["openai/gpt-5-mini"])
    assert compute_key(tmp_path, "anthropic/x", strategy=attempts) != compute_key(
        tmp_path, "anthropic/x", {**KEYS, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, strategy=attempts
    )
    default = compute_key(tmp_path)
    assert compute_key(tmp_path, env={"ANTHROPIC_API_KEY": "k"}) != default
    assert compute_key(tmp_path, env={}) == compute_key(tmp_path, "offline")
    assert make_variant("x", SessionSettings(), home=make_home(tmp_path), env={}).settings.model == "offline"


def test_files_that_no_node_has_leave_the_address_of_a_clusters_trials_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    keys = []
    for folder in ("with", "without"):
        home = make_home(tmp_path / folder)
        if folder == "with":
            write(tmp_path / "with/config/agents/tester.md", "---\nname: tester\n---\nTest.")
        variant = make_variant("x", SessionSettings(model="offline"), home=home, sees_user_files=False)
        keys.append(compute_trial_key(variant, "add", "digest", 0, "1", 0))
    assert keys[0] == keys[1]


def test_mcp_servers_with_their_secrets_do_not_travel_to_nodes(tmp_path: Path) -> None:
    servers: dict[str, str | McpServerSettings] = {"tickets": "tickets --token secret-of-mine"}
    task = make_task(tmp_path / "suite/add")
    orders = []
    for tools, sees_user_files in (
        (ToolSettings(mcp=servers), False),
        (ToolSettings(), False),
        (ToolSettings(mcp=servers), True),
    ):
        variant = make_variant(
            "x",
            SessionSettings(model="offline", tools=tools),
            home=make_home(tmp_path),
            sees_user_files=sees_user_files,
        )
        plan = make_plan("s", [task], [variant], trials=1, seed=0, version="1")
        folders = RunFolders(home=make_home(tmp_path), scratch=tmp_path, sessions=tmp_path)
        orders.append(plan.trials[0].build_order(folders, "1", None))
    sent, plain, local = orders
    assert "secret-of-mine" not in json.dumps(sent.encode())
    assert sent.key == plain.key != local.key
    assert local.settings.tools.mcp == servers


def test_a_cluster_for_attempts_in_the_settings_takes_none_of_a_trial(tmp_path: Path) -> None:
    strategy = StrategySettings(name="sample", attempts=2, ray="auto", ray_env=["OPENAI_API_KEY"])
    variant = make_variant(
        "x", SessionSettings(model="offline", strategy=strategy), home=make_home(tmp_path), env={}
    )
    assert variant.settings.strategy == StrategySettings(name="sample", attempts=2)


def test_the_users_model_counts_by_provider_name_and_address(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": "You sell fruit."})

    def compute_user_key(user_model: str, env: dict[str, str]) -> str:
        variant = make_variant("x", SessionSettings(model="offline"), home=make_home(tmp_path), env=env)
        plan = make_plan(
            "s", [task], [variant], trials=1, seed=0, version="1", user_model=user_model, env=env
        )
        return plan.trials[0].key

    named = compute_user_key("openai/gpt-5", {})
    assert compute_user_key("gpt-5", {}) == named
    assert compute_user_key("openai/gpt-5", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}) != named
