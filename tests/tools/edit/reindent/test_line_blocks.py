"""From a site to the new lines: what the file has stays, what the model added comes in the file's manner."""

from __future__ import annotations

import pytest

from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Replace
from tools.edit.reindent.token_merge import merge_words


def block(text: str, old: str, new: str) -> str:
    return edit_text(text, [Replace(old=old, new=new, whole_lines=True)], path="a.txt").text


def test_context_keeps_the_bytes_of_the_file() -> None:
    text = "a  =  1\t\nb = 2\nc = 3   \n"
    assert block(text, "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 20\nc = 3\n") == text.replace("b = 2", "b = 20")


def test_added_lines_take_the_indentation_of_the_file() -> None:
    text = "\tif a:\n\t\tb()\n"
    assert block(text, "if a:\n    b()\n", "if a:\n    b()\n    c()\n") == "\tif a:\n\t\tb()\n\t\tc()\n"


def test_quotes_are_plain_where_the_file_has_plain_ones() -> None:
    assert block("say('a')\n", "say(‘a’)\n", "say(‘b’)\n") == "say('b')\n"


def test_quotes_stay_where_the_file_has_them() -> None:
    assert block("say ‘a’ here  \n", "say ‘a’ here\n", "say ‘b’ here\n") == "say ‘b’ here\n"


def test_a_change_of_words_is_merged_into_the_line_as_it_is() -> None:
    assert merge_words(
        "total = price * count", "total = price.net * count", "total = price * count + tax"
    ) == ("total = price.net * count + tax")
    assert merge_words("a = 1", "a = 1", "a = 2") == "a = 2"
    assert merge_words("f(a)", "f(b)", "f(c)") == "f(c)"


def test_lines_that_old_does_not_have_are_not_swallowed() -> None:
    text = "begin_of_it()\nfirst_line(a)\nprecious()\nsecond_line(b)\nend_of_it()\n"
    old = "begin_of_it()\nfirst_line(a)\nsecond_line(b)\nend_of_it()\n"
    with pytest.raises(EditRefused):
        block(text, old, "begin_of_it()\nonly_line(c)\nend_of_it()\n")


def test_a_blank_line_that_only_old_has_is_not_added() -> None:
    result = block("a = 1\nb = 2\n", "a = 1\n\nb = 2\n", "a = 1\n\nnew = 3\nb = 2\n")
    assert result == "a = 1\nnew = 3\nb = 2\n"


def test_what_an_elision_stands_for_stays() -> None:
    text = "def f():\n    a()\n    b()\n    c()\n    return 1\n"
    result = block(text, "def f():\n    ...\n    return 1\n", "def f():\n    ...\n    return 2\n")
    assert result == text.replace("return 1", "return 2")


def test_an_elision_that_is_to_go_is_refused() -> None:
    text = "def f():\n    a()\n    b()\n    return 1\n"
    with pytest.raises(EditRefused, match="leaves lines out"):
        block(text, "def f():\n    ...\n    return 1\n", "def f():\n    return 2\n")
