"""Variables of trials on other machines: a model that would be another one there is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.model.model_settings import ModelSettings
from agent.session_settings import SessionSettings, StrategySettings
from packages.evaluation.runs.passed_variables import check_passed_variables
from sandbox.errors import UserError
from tests.support.cli import run
from tests.support.evaluation_trials import make_task

GATEWAY = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k", "OTHER": "x"}


@pytest.mark.parametrize(
    ("settings", "user_model"),
    [
        (SessionSettings(model="gpt-5"), ""),
        (SessionSettings(model="offline", models=ModelSettings(judge="openai/gpt-5")), ""),
        (SessionSettings(model="offline", strategy=StrategySettings(models=["openai/gpt-5"])), ""),
        (SessionSettings(model="offline"), "openai/gpt-5"),
    ],
)
def test_an_address_that_is_not_passed_on_is_refused(settings: SessionSettings, user_model: str) -> None:
    with pytest.raises(UserError, match="OPENAI_BASE_URL is set here and not passed"):
        check_passed_variables(settings, user_model, GATEWAY, {"OPENAI_API_KEY": "k"})
    check_passed_variables(settings, user_model, GATEWAY, GATEWAY)
    check_passed_variables(SessionSettings(model="anthropic/x"), "", GATEWAY, {})
    check_passed_variables(
        SessionSettings(model="gpt-5", api_base="http://127.0.0.1:8/v1"), "", GATEWAY, {"OPENAI_API_KEY": "k"}
    )


def test_another_default_model_is_refused() -> None:
    with pytest.raises(UserError, match="the default model here"):
        check_passed_variables(SessionSettings(), "", {"OPENAI_API_KEY": "k"}, {})


def test_the_command_refuses_before_it_looks_for_a_cluster(tmp_path: Path) -> None:
    make_task(tmp_path / "suite/add")
    refused = run("eval", "run", "suite", "-m", "gpt-5", "--ray", "auto", cwd=tmp_path, env=GATEWAY)
    assert (refused.code, "OPENAI_BASE_URL is set here" in refused.err) == (2, True), refused
