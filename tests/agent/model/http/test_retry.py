from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from agent.model.http.error_responses import RequestTarget, classify_failure
from agent.model.http.retry import PATIENCE, TRIES, RetryBudget, TransientError, parse_retry_after


def test_pauses_grow_and_end_after_the_last_try() -> None:
    patience = RetryBudget()
    pauses = [pause for _ in range(9) if (pause := patience.next_pause()) is not None]
    assert len(pauses) == TRIES - 1
    assert pauses == sorted(pauses)
    assert sum(pauses) < PATIENCE
    assert patience.tries == TRIES


def test_what_the_server_asks_for_is_granted_within_bounds() -> None:
    patience = RetryBudget()
    assert patience.next_pause(40.0) == 40.0
    assert patience.next_pause(40.0) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, 0.0),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    asked = parse_retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert asked is not None
    assert 25 < asked <= 30


def test_of_a_server_that_answers_the_address_is_not_doubted() -> None:
    target = RequestTarget(url="http://localhost/v1", model="x", key="", variable="")
    for status in (429, 500, 529):
        error = classify_failure(target, status, {}, b'{"error": {"message": "slow down"}}')
        assert isinstance(error, TransientError)
        assert error.hint == "Try again later, or use another model"
