"""Files of requirements: a checklist, tables, errors that name the place, and what a stranger's file is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.verify.requirement import walk_tree
from packages.search.requirements.requirement_file import (
    load_requirements,
    parse_checklist,
    parse_toml,
)
from sandbox.errors import UserError

CHECKLIST = """\
# Task

Some words. Delete everything.

- Totals
  - [ ] keep the signature of `total`
  - [x] the message says what is wrong
    - [ ] not a deeper one
* [ ] do not touch order.py and delete old.py
```
- [ ] delete what.py
```
"""


def test_a_checklist_is_a_tree_and_the_rest_is_left_to_a_model() -> None:
    found = parse_checklist(CHECKLIST, "file:task.md")
    assert [(depth, each.kind, each.check or each.text) for depth, each in walk_tree(found)] == [
        (0, "group", "Totals"),
        (1, "signature", "total"),
        (1, "group", "the message says what is wrong"),
        (2, "judged", "not a deeper one"),
        (0, "group", "do not touch order.py and delete old.py"),
        (1, "file-unchanged", "order.py"),
        (1, "file-gone", "old.py"),
    ]
    assert {each.source for each in found} == {"file:task.md"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[requirement]]\nkind = 'file-gone'", "requirement 1: kind 'file-gone' needs `check`"),
        ("[[requirement]]\nkind = 'shell'\ncheck = 'a'", "requirement 1: kind: Input should be"),
        ("[[requirement]]\nkind = 'max-lines'\ncheck = 'many'", "is a number in quotes"),
        ("[[requirement]]\nkind = 'judged'", "needs `text`"),
        ("[[requirement]]\ntext = 'a'\nsource = 3\nrun = 'b'", "requirement 1: run: Unexpected keyword"),
        ("[[requirement]]\ntext = 'a'\nparent = 'x'", "'x' is no group"),
        (
            "[[requirement]]\nid='a'\ntext='a'\n[[requirement]]\nid='a'\ntext='b'",
            "two requirements have the id 'a'",
        ),
        ("[[requirement]]\nid='a'\nkind='group'\ntext='a'\nparent='a'", "'a' is a part of itself"),
        ("[settings]\nmode = 'full'", "unknown key 'settings'"),
        ("requirement = 3", "no list of tables"),
        ("[[requirement]", "Expected"),
    ],
)
def test_an_error_in_a_table_names_its_place(text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_toml(text, "file:task.toml")
    assert told in str(caught.value)
    assert "task.toml" in str(caught.value)


def test_a_source_cannot_be_forged() -> None:
    [each] = parse_toml(
        "[[requirement]]\nkind = 'command'\ncheck = 'true'\nsource = 'prompt'", "file:task.toml"
    )
    assert each.source == "file:task.toml"


def test_only_commands_of_a_file_in_the_workspace_need_trust(tmp_path: Path) -> None:
    root, own = tmp_path / "root", tmp_path / "own.md"
    (root / "sub").mkdir(parents=True)
    text = "- `make check` must pass\n- do not touch a.py\n- all tests must pass\n"
    (root / "sub/task.md").write_text(text)
    own.write_text(text)
    (tmp_path / "link.md").symlink_to(root / "sub/task.md")
    for path in (root / "sub/task.md", tmp_path / "link.md"):
        [needed] = load_requirements(path, root).list_definitions()
        assert (needed.runs, needed.kind) == ("make check", "setting")
    assert load_requirements(own, root).list_definitions() == ()
    assert load_requirements(root / "sub/task.md", root).source == "file:sub/task.md"


def test_a_file_that_is_no_plain_text_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.md").write_text("- delete a.py\n")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(root / "pipe.md")
    (root / "huge.md").write_bytes(b"- a\n" * 100_000)
    (root / "binary.md").write_bytes(b"\xff\xfe\x00")
    (root / "empty.md").write_text("nothing\n")
    (root / "many.md").write_text("- a thing\n" * 400)
    for name in ("out", "pipe", "huge", "binary", "empty", "many", "missing"):
        with pytest.raises(UserError) as caught:
            load_requirements(root / f"{name}.md", root)
        assert f"{name}.md" in str(caught.value)


@pytest.mark.parametrize(
    ("item", "check"),
    [
        ("b.py exists", ("file-exists", "b.py")),
        ("`total` exists", ("name-exists", "total")),
        ("a.py is not changed", ("file-unchanged", "a.py")),
        ("the tests stay as they are", ("file-unchanged", "tests")),
        ("old.py is deleted", ("file-gone", "old.py")),
        ("`make check` succeeds", ("command", "make check")),
        ("all tests pass", ("tests", "")),
        ("README.md is updated", ("file-changed", "README.md")),
    ],
)
def test_an_item_may_tell_the_state_to_be_reached(item: str, check: tuple[str, str]) -> None:
    (found,) = parse_checklist(f"- [ ] {item}\n", "task.md")
    assert (found.kind, found.check) == check


def test_a_state_that_code_cannot_see_is_left_to_a_model() -> None:
    (found,) = parse_checklist("- [ ] the function works\n", "task.md")
    assert found.kind == "judged"
