from words import count_words


def test_words():
    assert count_words("a b") == {"a": 1, "b": 1}
