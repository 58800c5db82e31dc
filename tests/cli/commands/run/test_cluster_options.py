"""`--ray` and `--env` of `patchwright run`: which cluster makes the attempts."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from agent.session_settings import SessionSettings, StrategySettings
from cli.commands.run.run_options import read_attempt_options
from cli.invocation import ClusterRequest, Invocation, choose_strategy


def test_the_cluster_of_the_command_line_goes_before_that_of_the_settings(tmp_path: Path) -> None:
    settings = SessionSettings(strategy=StrategySettings(ray="auto", ray_env=["KEY"], hints=["look"]))

    def choose(cluster: ClusterRequest | None) -> StrategySettings:
        given = Invocation(
            folder=tmp_path, flags={}, commit=False, offer_commit=False, attempts=4, cluster=cluster
        )
        return choose_strategy(given, settings)

    asked = read_attempt_options(4, None, "head:6379", ["OTHER"], excludes=False)
    assert asked == ClusterRequest(address="head:6379", env=("OTHER",))
    found = choose(asked)
    assert (found.name, found.attempts, found.ray, found.ray_env) == ("sample", 4, "head:6379", ["OTHER"])
    found = choose(read_attempt_options(4, None, None, None, excludes=False))
    assert (found.ray, found.ray_env, found.hints) == ("auto", ["KEY"], ["look"])


@pytest.mark.parametrize(
    ("attempts", "strategy", "ray", "env"),
    [(None, None, "auto", None), (1, None, "auto", None), (3, None, None, ["KEY"])],
)
def test_a_cluster_without_attempts_is_refused(
    attempts: int | None, strategy: str | None, ray: str | None, env: list[str] | None
) -> None:
    with pytest.raises(typer.BadParameter, match="--ray needs --attempts or --strategy"):
        read_attempt_options(attempts, strategy, ray, env, excludes=False)
