"""The size of a patch: its lines, not those of its format."""

from __future__ import annotations

from agent.strategy.patch_inspection import count_changed_lines

PATCH = b"""diff --git a/cart.sql b/cart.sql
index 1111111..2222222 100644
--- a/cart.sql
+++ b/cart.sql
@@ -1,3 +1,3 @@
 select 1;
--- a comment of SQL
+++ b
 select 2;
@@ -9 +9,2 @@
+more
diff --git a/data.bin b/data.bin
index 1111111..2222222 100644
GIT binary patch
literal 3
+cma1^@s6

literal 0
-cma1^@s6
"""


def test_only_lines_of_hunks_count() -> None:
    assert count_changed_lines(PATCH) == 3
    assert count_changed_lines(b"") == 0
