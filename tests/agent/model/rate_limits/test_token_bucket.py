"""Arithmetic of the buckets: what a minute can have at most, and that a limit is used."""

from __future__ import annotations

import pytest

from agent.model.rate_limits.token_bucket import (
    BURST,
    Charge,
    RateLimit,
    TokenBuckets,
    decode_charge,
    decode_levels,
)


def send_all(charge: Charge, seconds: float, step: float = 0.0) -> list[float]:
    """Return the times at which calls go that are sent as soon as they may be."""
    buckets, now, sent = TokenBuckets(), 1000.0, []
    while now < 1000.0 + seconds:
        wait = buckets.take(charge, now)
        if wait:
            now += max(wait, step)
        else:
            sent.append(now)
    return sent


@pytest.mark.parametrize("most", [1, 2, 7, 50, 1000])
def test_no_minute_has_more_calls_than_the_limit(most: int) -> None:
    charge = Charge(limits=(RateLimit(name="p", calls=most),), tokens=9)
    sent = send_all(charge, 300.0)
    assert all(later - earlier > 60 - 1e-3 for earlier, later in zip(sent, sent[most:], strict=False))
    assert len(sent) >= 5 * most * (1 - 1 / BURST)


def test_tokens_are_paid_over_time_and_corrected() -> None:
    limit = RateLimit(name="p", tokens=6000)
    sent = send_all(Charge(limits=(limit,), tokens=1000), 600.0)
    assert 60 <= len(sent) <= 62
    large = send_all(Charge(limits=(limit,), tokens=9000), 600.0)
    assert 6 <= len(large) <= 7
    buckets, charge = TokenBuckets(), Charge(limits=(limit,), tokens=300)
    assert buckets.take(charge, 0.0) == 0.0
    assert buckets.take(charge, 0.0) == pytest.approx(3.0)
    buckets.correct(charge, -300, 0.0)
    assert buckets.take(charge, 0.0) == 0.0
    buckets.correct(charge, 600, 0.0)
    assert buckets.take(charge, 0.0) == pytest.approx(9.0)


def test_a_call_is_taken_from_all_its_limits_or_from_none() -> None:
    provider, model = RateLimit(name="p", calls=1), RateLimit(name="p/m", calls=60)
    both, one = Charge(limits=(model, provider), tokens=1), Charge(limits=(model,), tokens=1)
    buckets = TokenBuckets()
    assert buckets.take(both, 0.0) == 0.0
    levels = {name: list(each) for name, each in buckets.levels.items()}
    assert buckets.take(both, 0.0) == pytest.approx(60.0)
    assert buckets.levels == levels
    assert buckets.take(one, 0.0) == 0.0
    buckets.give_back(both, 0.0)
    assert buckets.take(both, 0.0) == 0.0


def test_a_clock_that_was_set_back_adds_nothing_and_blocks_nothing() -> None:
    charge = Charge(limits=(RateLimit(name="p", calls=60),), tokens=1)
    buckets = TokenBuckets()
    while not buckets.take(charge, 5000.0):
        pass
    assert 0 < buckets.take(charge, 10.0) <= 1.1
    assert buckets.take(charge, 12.0) == 0.0


def test_what_is_no_state_of_buckets_is_refused() -> None:
    charge = Charge(limits=(RateLimit(name="p", calls=1, tokens=2),), tokens=3)
    assert decode_charge(charge.encode()) == charge
    for wrong in ([], {"p": [1.0]}, {"p": [1.0, float("nan"), 1.0]}, {"p": 3}):
        with pytest.raises((ValueError, TypeError, AttributeError)):
            decode_levels(wrong)
