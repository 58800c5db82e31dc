"""What a Python test checks, in words."""

from __future__ import annotations

import pytest

from packages.offline.model.answers.assertion_words import read_test


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("assert total([1, 2]) == 3", "`total([1, 2])` equals `3`"),
        ("assert not errors", "`errors` is false or empty"),
        ("assert 'a' in names and ok", "`'a'` is in `names`, and `ok` is true"),
        ("assert isinstance(x, int)", "`x` is of the type `int`"),
        ("assert 0 < x < 3", "`0 < x < 3` is true"),
        ("self.assertEqual(total([]), 0)", "`total([])` equals `0`"),
        ("self.assertIsNone(x)", "`x` is None"),
        ("mock.assert_called_once_with(1)", "`mock.assert_called_once_with(1)` holds"),
        (
            "with pytest.raises(ValueError, match='no'):\n        load('')",
            "`load('')` raises `ValueError` with a message that matches `'no'`",
        ),
        ("with self.assertRaises(KeyError):\n        d['a']", "`d['a']` raises `KeyError`"),
    ],
)
def test_assertions(line: str, words: str) -> None:
    content = read_test(
        f"    def test_it(self):\n        {line}\n".replace("\n        load", "\n            load").replace(
            "\n        d[", "\n            d["
        )
    )
    assert content is not None
    assert content.assertions == [words]


def test_what_is_given_and_called() -> None:
    content = read_test(
        '@pytest.mark.parametrize("n", [1, 2, 3])\ndef test_it(tmp_path, n):\n'
        '    """Sizes count.\n\n    More.\n    """\n'
        "    made = make(tmp_path)\n    for each in made:\n        assert size(each) > n\n"
    )
    assert content is not None
    assert content.doc == "Sizes count."
    assert content.given == ["tmp_path", "n", "3 sets of values"]
    assert content.calls == ["make", "size"]
    assert content.assertions == ["`size(each)` is greater than `n`"]


def test_other_text_is_not_read() -> None:
    assert read_test("func TestIt(t *testing.T) {") is None
    assert read_test("x = 1") is None
