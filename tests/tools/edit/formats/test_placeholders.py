"""Lines that stand for code that is not given, and lines that only look so."""

from __future__ import annotations

import pytest

from tools.edit.formats.placeholders import is_elision, is_placeholder

PLACEHOLDERS = """
# ... rest of code unchanged
# rest of the code remains the same
# The rest of the implementation is unchanged
# ... (rest of the function)
# [previous code]
# (same as before)
# ... existing imports ...
# ... other methods ...
# Existing code...
# Keep existing code
# --- unchanged ---
# no changes
# ... (unchanged)
#...existing code...
// existing code
// ... existing code ...
// ... (keep the rest)
// ...rest of component
// Rest of your code here
// previous implementation unchanged
// [rest of code remains the same]
/// ... the rest stays the same ...
/* ... */
/* rest of the styles */
/* ... existing styles ... */
{/* ... */}
{/* rest of component */}
<!-- unchanged -->
<!-- ... existing markup ... -->
<!-- rest of the page -->
-- ... rest of the file
; ... other rules ...
% ... omitted for brevity ...
{# ... existing blocks ... #}
{{!-- rest of the template --}}
...(rest of the function)
... existing code ...
[... rest of file ...]
[rest of the code unchanged]
(rest of code unchanged)
… existing code …
# code omitted for brevity
// snip
"""

CODE = """
...
x = 1
return rest
rest = items[1:]
foo(...)
def f(): ...
print('...')
...rest,
...props
...existing
...options.rules,
return [...rest]
{...props}
[...existing, item]
f(...rest)
(rest)
[original]
<code>
<original>
{previous}
# the rest of the code uses UTC
# The remaining lines are data
# TODO: implement the rest
# Existing users
# Existing imports
# existing imports
# other imports
# Other
# previous
# remaining items
# see above
# code
# Test cases
# Keep the original file
# Change the code
# No longer needed
# Same class
# the original code was slow
# Existing function
# The file content
## Contents
* other methods
// same function as in foo
// before
// existing file
/* original content */
-- rest
The rest of the code is unchanged.
# 3 more of the rest
#!/usr/bin/env python
"""


@pytest.mark.parametrize("line", PLACEHOLDERS.strip().split("\n"))
@pytest.mark.parametrize("indent", ["", "    ", "\t\t"])
def test_a_placeholder_is_known(line: str, indent: str) -> None:
    assert is_placeholder(indent + line)
    assert is_placeholder(indent + line + "  ")


@pytest.mark.parametrize("line", ["", *CODE.strip().split("\n")])
def test_code_and_honest_comments_are_none(line: str) -> None:
    assert not is_placeholder(line)
    assert not is_placeholder("    " + line)


@pytest.mark.parametrize(
    "line", ["...", "  ...  ", "…", "# ...", "    // ...", "-- ...", "....", "/* ... */", "<!-- ... -->"]
)
def test_dots_alone_are_an_elision(line: str) -> None:
    assert is_elision(line)


@pytest.mark.parametrize(
    "line", ["", "..", "x ...", "... x", "# ... rest", "foo(...)", "...,", "#", "//", "def f(): ..."]
)
def test_dots_with_anything_else_are_none(line: str) -> None:
    assert not is_elision(line)
