"""Counts of randomised cases: never none."""

from __future__ import annotations

import pytest

from tests.support.stress import count_cases


def test_no_count_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATCHWRIGHT_STRESS", raising=False)
    assert (count_cases(10), count_cases(1)) == (2, 1)
    monkeypatch.setenv("PATCHWRIGHT_STRESS", "2")
    assert count_cases(10) == 20
    monkeypatch.setenv("PATCHWRIGHT_STRESS", "0")
    with pytest.raises(ValueError, match="would run no case"):
        count_cases(10)
