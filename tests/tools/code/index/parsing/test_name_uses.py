"""Names and words of plain ASCII are counted in a quicker way, which must find what the expressions find."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools.code.index.parsing.identifier_words import count_words
from tools.code.index.parsing.name_uses import count_names
from tools.code.languages import LANGUAGES

pytestmark = pytest.mark.slow


OTHER = "é"
"""A name behind a text makes it one that the expressions read; the line end keeps it apart."""

texts = st.text(alphabet="aBc_1$(). \t\n\x0b\x1c\x00-?!", max_size=40)


@pytest.mark.parametrize("name", ["python", "javascript", "ruby", "c"])
@given(text=texts)
@example(text="if a (b) 0x1F 1_000 12( 1ab(\n  c  (d\n(e)) \t(f")
@example(text="x.delete() delete y $a1$( 1$b")
def test_names_are_counted_alike_with_and_without_other_letters(name: str, text: str) -> None:
    language = next(each for each in LANGUAGES if each.name == name)
    read = count_names(language, f"{text}\n{OTHER}")
    assert read.pop(OTHER) == (1, 0)
    assert count_names(language, text) == read


@given(text=texts)
@example(text="getQuerySets HTTPResponse_for 2ab3CD fooBAR9baz")
def test_words_are_counted_alike_and_in_the_same_order(text: str) -> None:
    read = count_words(f"{text}\n{OTHER}{OTHER}")
    assert read.pop(OTHER * 2) == 1
    assert list(count_words(text).items()) == list(read.items())
