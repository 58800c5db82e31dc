from words import count_words


def test_words():
    assert count_words("a b a") == {"a": 2, "b": 1}
    assert count_words("") == {}
