from search import find


def test_find():
    for place, item in enumerate([1, 3, 5, 7]):
        assert find([1, 3, 5, 7], item) == place
    assert find([1, 3, 5, 7], 4) == -1
    assert find([1, 3, 5, 7], 9) == -1
    assert find([7], 7) == 0
    assert find([], 7) == -1
