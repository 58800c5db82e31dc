"""A search through all texts at once ranks them as one look at each does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.tui.input.fuzzy_match import FuzzyIndex, rank_matches, score_match

TEXTS = st.lists(st.text("aAbB/_.-]^\\\n İß日", max_size=12), max_size=20)


@given(TEXTS, st.text("abB/_.-]^\\ İß日", max_size=5), st.sampled_from([None, 0, 1, 3, 50]))
def test_the_index_finds_what_a_look_at_each_text_finds(
    texts: list[str], query: str, limit: int | None
) -> None:
    words = query.lower().split()
    scores = [[score_match(word, text.lower().replace("\n", " ")) for word in words] for text in texts]
    ranked = sorted(
        (sum(each for each in row if each is not None), len(texts[index]), index)
        for index, row in enumerate(scores)
        if None not in row
    )
    assert FuzzyIndex(texts).rank(query, limit) == [index for _, _, index in ranked[:limit]]


def test_the_closest_come_first() -> None:
    paths = [
        "docs/fields.md",
        "src/model_fields.py",
        "src/fields/auto.py",
        "f/i/e/l/d/s",
        "fields.py",
        "other",
    ]
    assert [paths[each] for each in rank_matches("fields", paths)] == [
        "fields.py",
        "docs/fields.md",
        "src/model_fields.py",
        "src/fields/auto.py",
        "f/i/e/l/d/s",
    ]
