"""What a model is told about an edit that cannot be read: where, what was found, what it should look like."""

from __future__ import annotations

from tools.edit.edit_model import MalformedEdit

MAX_QUOTED = 80
"""Characters of a line that are quoted: enough to find it again."""

MAX_SAID = 600
"""Characters of what is said: more come only from names that are no names."""

BLOCK_EXAMPLE = """\
src/cart.py
<<<<<<< SEARCH
    return price
=======
    return price * count
>>>>>>> REPLACE"""

PATCH_EXAMPLE = """\
*** Begin Patch
*** Update File: src/cart.py
@@ def total(self):
     items = self.items
-    return price
+    return price * count
*** End Patch"""

DIFF_EXAMPLE = """\
--- a/src/cart.py
+++ b/src/cart.py
@@ -4,2 +4,2 @@
     items = self.items
-    return price
+    return price * count"""


def build_malformed_edit(line: int, what: str, example: str) -> MalformedEdit:
    """line: number from 0 of the line at fault; what: what was found and what it should be"""
    said = what if len(what) <= MAX_SAID else what[:MAX_SAID] + "…"
    return MalformedEdit(f"line {line + 1}: {said}\nExample:\n{example}")


def build_no_edit_found() -> MalformedEdit:
    """The text holds no edit in any of the formats."""
    return MalformedEdit(
        "no edit found. Write one in one of three formats:\n"
        f"1. search/replace blocks:\n{BLOCK_EXAMPLE}\n"
        f"2. a patch:\n{PATCH_EXAMPLE}\n"
        f"3. a unified diff:\n{DIFF_EXAMPLE}"
    )


def quote_line(line: str) -> str:
    """A line as it is shown in a message."""
    shown = line.strip()
    return repr(shown if len(shown) <= MAX_QUOTED else shown[:MAX_QUOTED] + "…")
