"""Messages to the model about an edit that cannot be parsed: the line, the problem, an example."""

from __future__ import annotations

from tools.edit.edit_model import MalformedEdit

MAX_QUOTED = 80
"""Characters of a line that are quoted: enough to find it again."""

MAX_SAID = 600
"""Characters of a message: longer ones come only from names that are no names."""

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
    """Build a MalformedEdit. line: number from 0 of the faulty line; what: the problem and the expected form"""
    said = what if len(what) <= MAX_SAID else what[:MAX_SAID] + "…"
    return MalformedEdit(f"line {line + 1}: {said}\nExample:\n{example}")


def build_no_edit_found() -> MalformedEdit:
    """Build the error for a text without an edit in any of the formats."""
    return MalformedEdit(
        "no edit found. Write one in one of three formats:\n"
        f"1. search/replace blocks:\n{BLOCK_EXAMPLE}\n"
        f"2. a patch:\n{PATCH_EXAMPLE}\n"
        f"3. a unified diff:\n{DIFF_EXAMPLE}"
    )


def quote_line(line: str) -> str:
    """Quote a line for a message."""
    shown = line.strip()
    return repr(shown if len(shown) <= MAX_QUOTED else shown[:MAX_QUOTED] + "…")
