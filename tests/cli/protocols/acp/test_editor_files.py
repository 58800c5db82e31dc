"""Files with unsaved changes in the client's editor: read as they are seen, saved before an edit, never lost."""

from __future__ import annotations

import pytest

from tests.cli.protocols.acp.conftest import FIX
from tests.cli.protocols.acp.editor import Editor, Repo, call

pytestmark = pytest.mark.slow

UNSAVED = "TAX = 2\n\n\ndef total(items):\n    return sum(items[1:])\n"


def test_unsaved_text_is_read_and_not_saved_by_that(editor: Editor, shop: Repo) -> None:
    session = editor.open(
        shop.root,
        [
            {"calls": [call("read", path="cart.py")]},
            {"expect": ["1\tTAX = 2", "unsaved changes in the user's editor"], "text": "seen"},
        ],
    )
    editor.buffers[str(shop.root / "cart.py")] = UNSAVED
    editor.prompt(session, "read it")
    assert editor.read_text(session).startswith("seen")
    assert editor.written == []
    assert shop.read("cart.py") == "def total(items):\n    return sum(items[1:])\n"


def test_unsaved_text_is_saved_before_an_edit_and_kept_by_it(editor: Editor, shop: Repo) -> None:
    session = editor.open(
        shop.root,
        [
            {"calls": [call("read", path="cart.py")]},
            {"calls": [FIX]},
            {"expect": [{"not_contains": "changed since"}], "text": "Done."},
        ],
    )
    path = str(shop.root / "cart.py")
    editor.buffers[path] = UNSAVED
    editor.prompt(session, "mend it")
    assert shop.read("cart.py") == UNSAVED.replace("[1:]", "")
    assert editor.written == [path]
    edit = editor.find_call(session, "edit cart.py")
    assert edit["status"] == "completed"
    assert edit["content"][0]["oldText"] in UNSAVED


def test_line_endings_and_mark_of_a_file_survive_its_buffer(editor: Editor, shop: Repo) -> None:
    shop.write("cart.py", b"\xef\xbb\xbfdef total(items):\r\n    return sum(items[1:])\r\n")
    shop.commit_all()
    session = editor.open(shop.root, [{"calls": [FIX]}, {"text": "Done."}])
    editor.buffers[str(shop.root / "cart.py")] = f"\ufeff{UNSAVED}"  # an editor that knows only line feeds
    editor.prompt(session, "mend it")
    expected = "\ufeff" + UNSAVED.replace("[1:]", "").replace("\n", "\r\n")
    assert (shop.root / "cart.py").read_bytes().decode() == expected


def test_a_clean_buffer_gets_the_new_text(editor: Editor, shop: Repo) -> None:
    """The editor has the old text still open when the edit is made, and is given the new one."""
    path = str(shop.root / "cart.py")
    session = editor.open(shop.root, [{"calls": [FIX]}, {"text": "Done."}])
    editor.buffers[path] = shop.read("cart.py")
    editor.prompt(session, "mend it")
    assert editor.written == [path]
    assert path not in editor.buffers
    assert shop.read("cart.py") == "def total(items):\n    return sum(items)\n"


def test_text_that_is_typed_during_an_edit_is_kept_and_told(editor: Editor, shop: Repo) -> None:
    path = str(shop.root / "cart.py")
    session = editor.open(
        shop.root,
        [
            {"calls": [FIX]},
            {"expect": ["changed cart.py in the editor while it was edited"], "text": "I see."},
        ],
    )
    asked: list[str] = []

    def type_meanwhile(read: str) -> None:
        asked.append(read)
        if len(asked) == 2:  # after the edit
            editor.buffers[path] = "# the user's own words\n"

    editor.on_read = type_meanwhile
    editor.prompt(session, "mend it")
    assert editor.written == []
    assert editor.buffers[path] == "# the user's own words\n"
    assert shop.read("cart.py") == "def total(items):\n    return sum(items)\n"
    assert "changed cart.py in the editor" in editor.read_text(session, "agent_thought_chunk")
    assert editor.read_text(session).startswith("I see.")


def test_plan_mode_reads_unsaved_text_and_saves_nothing(editor: Editor, shop: Repo) -> None:
    session = editor.open(
        shop.root,
        [
            {"calls": [call("read", path="cart.py"), FIX]},
            {"expect": ["TAX = 2", "denied"], "text": "Planned."},
        ],
    )
    editor.set_mode(session, "plan")
    editor.choose = lambda call: "reject-once"
    editor.buffers[str(shop.root / "cart.py")] = UNSAVED
    editor.prompt(session, "plan it")
    assert editor.written == []
    assert editor.read_text(session).startswith("Planned.")


def test_an_editor_that_only_reads_is_not_edited_over(editor: Editor, shop: Repo) -> None:
    """Its unsaved text would be lost: the model is told to ask for it to be saved."""
    only = Editor(editor.home.parent / "only", capabilities={"fs": {"readTextFile": True}}).start()
    session = only.open(
        shop.root, [{"calls": [FIX]}, {"expect": ["ask the user to save it"], "text": "Please save it."}]
    )
    only.buffers[str(shop.root / "cart.py")] = UNSAVED
    only.prompt(session, "mend it")
    assert shop.read("cart.py") == "def total(items):\n    return sum(items[1:])\n"
    assert only.read_text(session).startswith("Please save it.")
    assert only.stop() == 0
