import sys

sys.path.append(".")  # python3 -I looks there last, behind its own modules

from slug import make_slug

assert make_slug("Hello, World!") == "hello-world"
assert make_slug("  two  spaces ") == "two-spaces"
assert make_slug("") == ""
