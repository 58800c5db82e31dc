"""The preview of a change: exactly the diff of the call that is made after it, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.workspaces import call, workspace
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.edit.edit_tools import apply_patch, edit, edit_lines, edit_several, edit_symbol
from tools.fs.file_tools import read, write

CODE = "def first():\n    return 1\n\n\ndef second():\n    return 2\n"
PATCH = """\
*** Begin Patch
*** Update File: code.py
@@
-    return 2
+    return 3
*** Add File: new.py
+x = 1
*** End Patch"""


def preview(tool: Tool, at: Workspace, **arguments: Any) -> str:
    assert tool.preview is not None
    return tool.preview(tool.validate(arguments), at)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (edit, {"path": "code.py", "old": "return 2", "new": "return 3"}),
        (edit, {"path": "./code.py", "old": "return", "new": "yield", "all": True}),
        (
            edit_several,
            {"path": "code.py", "edits": [{"old": "1", "new": "one()"}, {"old": "2", "new": "two()"}]},
        ),
        (edit_symbol, {"path": "code.py", "symbol": "second", "new": "def second():\n    return 3\n"}),
        (edit_lines, {"path": "code.py", "first": 2, "last": 2, "new": "    return 9"}),
        (write, {"path": "code.py", "content": "all = 'new'\r\n"}),
        (apply_patch, {"patch": PATCH}),
    ],
)
def test_a_preview_is_the_diff_of_the_call(tmp_path: Path, tool: Tool, arguments: dict[str, Any]) -> None:
    at = workspace(tmp_path, {"code.py": CODE})
    call(read, at, path="code.py")
    shown = preview(tool, at, **arguments)
    assert (at.root / "code.py").read_text() == CODE
    assert not (at.root / "new.py").exists()
    written = str(call(tool, at, **arguments).data["diff"])
    headers = ("diff --git", "new file mode")
    assert [line for line in shown.split("\n") if line and not line.startswith(headers)] == [
        line for line in written.split("\n") if line and not line.startswith(headers)
    ]


def test_a_call_that_does_not_fit_is_shown_as_it_was_written(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"code.py": CODE})
    assert preview(edit, at, path="code.py", old="--- gone\n@@ x", new="new") == "- --- gone\n- @@ x\n+ new"
    assert preview(write, at, path="../out.py", content="a\nb\n") == "+ a\n+ b"
    assert preview(apply_patch, at, patch="no patch").startswith("+ no patch")
    parts = [{"old": "gone", "new": "new"}, {"old": "lost", "new": ""}]
    assert preview(edit_several, at, path="code.py", edits=parts) == "- gone\n+ new\n- lost"


def test_the_name_of_a_file_forges_no_lines(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    name = "a.py\n@@ -0,0 +1 @@\n+harmless"
    assert preview(write, at, path=name, content="rm()\n") == "+ rm()"


def test_a_move_and_a_removal_are_named(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"code.py": CODE, "empty.py": b""})
    moved = (
        "*** Begin Patch\n*** Update File: code.py\n*** Move to: there.py\n@@\n-    return 2\n+    return 3\n"
    )
    shown = preview(apply_patch, at, patch=f"{moved}*** End Patch")
    assert "rename from code.py\nrename to there.py\n" in shown
    assert "-    return 2\n+    return 3" in shown
    shown = preview(apply_patch, at, patch="*** Begin Patch\n*** Delete File: empty.py\n*** End Patch")
    assert "deleted file mode" in shown
