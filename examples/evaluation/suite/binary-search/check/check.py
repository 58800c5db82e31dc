import sys

sys.path.append(".")  # python3 -I looks there last, behind its own modules

from search import find

for size in range(9):
    items = list(range(0, 2 * size, 2))
    for place, item in enumerate(items):
        assert find(items, item) == place, (items, item)
    assert find(items, 1) == -1, items
