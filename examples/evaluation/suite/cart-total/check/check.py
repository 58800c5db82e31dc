import sys

sys.path.append(".")  # python3 -I looks there last, behind its own modules

from cart import total

assert total([1, 2, 3]) == 6
assert total([5]) == 5
assert total([]) == 0
