"""Content addresses of trials: settings that change results change them, others do not."""

from __future__ import annotations

from dataclasses import replace

from agent.model.model_settings import ModelSettings, RateLimitSettings
from agent.session_settings import SessionSettings
from packages.evaluation.runs.variant import compute_trial_key, make_variant


def test_rate_limits_change_no_result_and_an_effort_does() -> None:
    settings = SessionSettings(model="openai/x")
    limited = replace(settings, models=ModelSettings(limits={"openai": RateLimitSettings(calls=60)}))
    thinking = replace(settings, models=ModelSettings(effort="high"))
    keys = [
        compute_trial_key(make_variant("a", each), "task", "digest", 0, "1", 0)
        for each in (settings, limited, thinking)
    ]
    assert keys[0] == keys[1] != keys[2]
