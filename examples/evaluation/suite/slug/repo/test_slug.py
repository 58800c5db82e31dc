from slug import make_slug


def test_plain_words():
    assert make_slug("word") == "word"
