from search import find


def test_find():
    assert find([1, 3, 5], 5) == 2
    assert find([1, 3, 5], 3) == 1
    assert find([7], 7) == 0
