"""Formats and what a model is told of them: every example is an edit that works as it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.workspaces import call, put, refused, workspace
from tools.builtin_tools import load_accepted_tools, load_default_tools
from tools.core.registry import ListedTool, Toolbox
from tools.core.tool_settings import Format
from tools.edit.edit_tools import apply_patch, edit_several
from tools.edit.format_registry import FORMATS, WAYS, describe_edit_tool

CART = """\
class Cart:
    def __init__(self, prices):
        self.prices = prices

    # in cents

    def total(self):
        return 0
"""


def names(*formats: Format) -> list[str]:
    """The tools from the first that may edit up to `rename`, which stands behind them and takes no format."""
    found = [tool.name for tool in load_default_tools(formats)]
    return found[found.index("code") + 1 : found.index("rename")]


def test_each_format_brings_its_tool_and_the_texts_share_one() -> None:
    assert {name: way.tool for name, way in WAYS.items()} == {
        "replace": "edit", "symbol": "edit_symbol", "lines": "edit_lines", "whole": "write",
        "patch": "apply_patch", "blocks": "apply_patch", "diff": "apply_patch",
    }  # fmt: skip
    assert names("replace", "whole") == ["edit", "write"]
    assert names("patch", "diff", "blocks") == ["apply_patch"]
    assert names() == []
    assert names(*FORMATS) == ["edit", "edit_symbol", "edit_lines", "apply_patch", "write"]


@pytest.mark.parametrize("form", ["patch", "blocks", "diff"])
def test_the_example_of_a_format_does_what_it_shows(form: Format, tmp_path: Path) -> None:
    path = "cart.py" if form == "patch" else "shop/cart.py"
    at = workspace(tmp_path, {path: CART})
    call(apply_patch, at, patch=WAYS[form].example)
    assert (at.root / path).read_text() == CART.replace("return 0", "return sum(self.prices)")
    if form == "patch":
        assert (at.root / "tax.py").read_text() == "RATE = 0.2\n"


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_that_is_said_to_create_files_does(form: Format, tmp_path: Path) -> None:
    at = workspace(tmp_path)
    texts = {
        "patch": "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch\n",
        "blocks": "a.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n",
        "diff": "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x = 1\n",
    }
    tools = {tool.name: tool for tool in load_accepted_tools()}
    arguments: dict[str, dict[str, object]] = {
        "edit": {"path": "a.py", "old": "x", "new": "x = 1\n"},
        "edit_symbol": {"path": "a.py", "symbol": "x", "new": "x = 1\n"},
        "edit_lines": {"path": "a.py", "first": 1, "last": 0, "new": "x = 1\n"},
        "write": {"path": "a.py", "content": "x = 1\n"},
        "apply_patch": {"patch": texts.get(form, "")},
    }
    tool = tools[WAYS[form].tool]
    if WAYS[form].creates:
        call(tool, at, **arguments[tool.name])
        assert (at.root / "a.py").read_text() == "x = 1\n"
    else:
        assert "a.py" in refused(tool, at, **arguments[tool.name])
        assert not (at.root / "a.py").exists()


def test_only_what_was_chosen_is_described() -> None:
    [patch] = [tool for tool in load_default_tools(["patch", "whole"]) if tool.name == "apply_patch"]
    assert "*** Update File" in patch.description
    assert "SEARCH" not in f"{patch.description} {patch.parameters}"
    assert "--- a/" not in patch.description
    both = describe_edit_tool(apply_patch, ["blocks", "diff"])
    assert both is not None
    assert "<<<<<<< SEARCH" in both.description
    assert "--- a/" in both.description
    assert " or a unified diff" in both.parameters["properties"]["patch"]["description"]
    assert describe_edit_tool(apply_patch, ["replace", "whole"]) is None


def test_write_names_the_tools_that_are_there_beside_it() -> None:
    def said(*formats: Format) -> str:
        return next(tool.description for tool in load_default_tools(formats) if tool.name == "write")

    assert said("replace", "whole").endswith("For a part use edit.")
    assert said("whole", "patch").endswith("For a part use apply_patch.")
    assert "For a part" not in said("whole")


def test_a_toolbox_finds_what_it_does_not_tell() -> None:
    toolbox = Toolbox(load_default_tools(["replace", "whole"]), load_accepted_tools())
    assert "apply_patch" not in [tool.name for tool in toolbox]
    for name, tool in (("apply_patch", apply_patch), ("edit_several", edit_several)):
        found = toolbox.get(name)
        assert isinstance(found, ListedTool)
        assert found.load() is tool


def test_several_replacements_are_made_one_after_the_other_or_not_at_all(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "a = 1\nb = 2\n"})
    edits = [
        {"old": "a = 1", "new": "a = 10"},
        {"old": "a = 10", "new": "a = 100"},
        {"old": "b = 2", "new": "b = 0"},
    ]
    call(edit_several, at, path="a.py", edits=edits)
    assert (at.root / "a.py").read_text() == "a = 100\nb = 0\n"
    put(at.root, {"a.py": "a = 1\nb = 2\n"})
    assert "a.py: no change" in refused(
        edit_several, at, path="a.py", edits=[edits[0], {"old": "c = 3", "new": "c"}]
    )
    assert "`old`" in refused(edit_several, at, path="a.py", edits=[{"old": "", "new": "c"}])
    assert (at.root / "a.py").read_text() == "a = 1\nb = 2\n"
