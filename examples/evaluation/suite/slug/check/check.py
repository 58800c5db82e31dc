from slug import make_slug

assert make_slug("Hello, World!") == "hello-world"
assert make_slug("  two  spaces ") == "two-spaces"
assert make_slug("") == ""
