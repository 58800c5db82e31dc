import sys

sys.path.append(".")  # python3 -I looks there last, behind its own modules

from words import count_words

assert count_words("a b a") == {"a": 2, "b": 1}
assert count_words("") == {}
