"""Servers that cut a request without a word are noticed; caches and compactions are not mistaken for that."""

from __future__ import annotations

from itertools import pairwise

import pytest

from agent.context.compression.window_overflow import TruncationWatch, compute_output_limit


def find_windows(requests: list[tuple[int, int]]) -> list[int | None]:
    watch = TruncationWatch()
    return [watch.find_window(sent, counted) for sent, counted in requests]


def test_a_request_that_grows_while_its_count_does_not_was_cut() -> None:
    assert find_windows([(8_000, 2_000), (14_000, 3_500), (20_000, 4_096), (26_000, 4_096)])[-1] == 4_096
    shifted = find_windows([(14_000, 3_500), (18_000, 4_090), (24_000, 2_300)])
    assert shifted[-1] == 4_090, "llama.cpp's context shift keeps a half"


@pytest.mark.parametrize(
    "requests",
    [
        [(8_000, 2_000), (14_000, 3_500), (22_000, 5_400)],
        [(40_000, 10_000), (12_000, 3_000), (13_000, 3_200)],  # compressed
        [(8_000, 2_000), (14_000, 0), (20_000, 0)],  # not reported
        [(40_000, 10_000), (44_000, 1_100), (48_000, 5_000)],  # only what the cache did not hold
        [(8_000, 2_000), (8_300, 2_000)],
    ],
)
def test_whole_requests_are_not_taken_for_cut_ones(requests: list[tuple[int, int]]) -> None:
    assert find_windows(requests) == [None] * len(requests)


def test_only_small_windows_limit_the_reply() -> None:
    assert compute_output_limit(128_000) is None
    limits = [compute_output_limit(window) for window in (1_024, 2_048, 8_192, 32_768)]
    assert limits == [256, 512, 2_048, 8_192]
    assert all(a and b and a < b for a, b in pairwise(limits))
