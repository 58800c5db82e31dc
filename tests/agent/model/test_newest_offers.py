"""A short list of models: the newest of each line, of each provider."""

from __future__ import annotations

import pytest

from agent.model.model_offers import ModelOffer
from agent.model.newest_offers import select_newest


def choose(*names: str, most: int = 20) -> list[str]:
    return [
        each.name for each in select_newest([ModelOffer(name=name, source="key") for name in names], most)
    ]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("a/gpt-5.1", "a/gpt-5.6", "a/gpt-5"), ["a/gpt-5.6"]),
        (("a/gpt-5.6", "a/gpt-5.6-mini", "a/gpt-5.4-mini"), ["a/gpt-5.6", "a/gpt-5.6-mini"]),
        (("a/opus-4-8", "a/opus-4-10", "a/opus-4"), ["a/opus-4-10"]),
        (("a/o1", "a/o3", "a/o4-mini"), ["a/o4-mini", "a/o3"]),
        (("a/flash-3-preview", "a/flash-2.5"), ["a/flash-3-preview"]),
        (("a/flash-3-preview", "a/flash-3"), ["a/flash-3"]),
        (("a/opus-4-5-20251101", "a/opus-4-5"), ["a/opus-4-5"]),
        (("a/gpt-5-2025-08-07", "a/gpt-4-0613", "a/sonnet-4-5-20250929-v1:0", "a/flash-09-2025"), []),
        (("a/gpt-3.5-turbo-instruct", "a/gpt-audio-mini", "a/gpt-4o-search-preview", "a/pro-latest"), []),
    ],
)
def test_the_newest_of_a_line_is_chosen(names: tuple[str, ...], chosen: list[str]) -> None:
    assert choose(*names) == chosen
    assert choose(*reversed(names)) == chosen


def test_each_provider_has_its_share() -> None:
    names = [f"{provider}/{line}-{version}" for provider in "ab" for line in "stuvwx" for version in (1, 2)]
    chosen = choose(*names, "c/one-1", most=9)
    assert [each.partition("/")[0] for each in chosen] == [*"aaabbbc"]
    assert all(each.endswith("-2") for each in chosen[:-1])
