"""Rate limits in a settings file: by provider or model, each at least one a minute."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent.model.model_settings import RateLimitSettings
from cli.settings.settings_checks import check_values
from sandbox.errors import UserError


def test_limits_are_read_by_name() -> None:
    given = {"anthropic": {"calls": 50, "tokens": 40_000}, "openai/gpt-5.5": {"tokens": 1}}
    assert check_values({"models": {"limits": given}}, None).session.models.limits == {
        name: RateLimitSettings(**each) for name, each in given.items()
    }


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ({"calls": 0}, "'models.limits.openai.calls': has to be 1 or more (got 0)"),
        ({"calls": 1, "tokens": -5}, "'models.limits.openai.tokens': has to be 1 or more (got -5)"),
        ({}, "'models.limits.openai': it limits nothing"),
        ({"requests": 1}, "unknown setting 'models.limits.openai.requests'"),
    ],
)
def test_a_limit_that_lets_nothing_go_or_limits_nothing_is_refused(
    limit: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UserError, match=re.escape(problem)):
        check_values({"models": {"limits": {"openai": limit}}}, None)
