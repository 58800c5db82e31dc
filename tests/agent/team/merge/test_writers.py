"""Child sessions that write in worktrees, and what becomes of their changes in the parent's files."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.events import ObservationEvent
from agent.session.log import read_events
from agent.session_settings import SessionSettings
from agent.team.merge.merge_result import Conflicts, Merged
from agent.team.merge.writers import merge_writer, prepare_resolution, start_writer, verify_merged
from agent.turn.runtime import Runtime
from tests.support.child_sessions import play
from tests.support.cli import CHECKOUT, call, git, script
from tests.support.cli import run as patchwright

pytestmark = pytest.mark.slow


def edit(old: str, new: str) -> dict[str, object]:
    return {"calls": [call("edit", path="cart.py", old=old, new=new)]}


def test_two_writers_change_one_file_and_one_undo_takes_a_merge_back(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    one = script(
        tmp_path,
        [
            edit("first = 1", "first = 2"),
            {"calls": [call("write", path="debug.log", content="x\n")]},
            {"text": "ok"},
        ],
        "1.json",
    )
    two = script(
        tmp_path,
        [
            {"calls": [call("edit", path="cart.py", old="last = 9", new="last = 8")]},
            {"calls": [call("shell", command="mkdir lib"), call("shell", command="mv link lib/link")]},
            {"calls": [call("shell", command="printf '#!/bin/sh\\n' > go && chmod +x go")]},
            {"text": "ok"},
        ],
        "2.json",
    )
    (shop / "notes.txt").write_text("not committed\n")

    async def story(runtime: Runtime, children: Children) -> str:
        writers = [
            await start_writer(children, ChildSpec(prompt=f"part {name[-6]}", model=name))
            for name in (one, two)
        ]
        assert all((each.child.place.folder / "notes.txt").is_file() for each in writers)
        await asyncio.gather(*(each.child.run() for each in writers))
        assert (shop / "cart.py").read_text() == "first = 1\n\n\n\nlast = 9\n", (
            "nothing is written before the merge"
        )
        first, second = [await merge_writer(runtime, each) for each in writers]
        assert first == Merged(paths=("cart.py",), left_out=("debug.log",))
        assert second == Merged(paths=("cart.py", "go", "lib/link", "link"))
        again = await merge_writer(runtime, writers[1])
        assert again == Merged(), "what is merged is merged once"
        for each in writers:
            await each.child.close()
        verdict = await verify_merged(runtime, "change both ends")
        assert verdict is not None
        assert verdict.outcome == "unknown", "this repository has no tests"
        return runtime.session.id

    session = play(shop, parent, story)
    assert (shop / "cart.py").read_text() == "first = 2\n\n\n\nlast = 8\n"
    assert (shop / "lib/link").readlink() == Path("cart.py")
    assert (shop / "go").stat().st_mode & 0o111 == 0o111
    assert not (shop / "link").is_symlink()
    assert git(shop, "worktree", "list").count("\n") == 1
    undone = patchwright("undo", "--session", session, cwd=shop)
    assert undone.code == 0, undone.err
    assert not (shop / "lib/link").is_symlink()
    assert not (shop / "go").exists()
    assert (shop / "link").is_symlink()


def test_the_example_of_the_architecture_page_runs(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    page = (CHECKOUT / "docs/architecture.md").read_text("utf-8")
    found = re.search(r"^### Writers\n.*?^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    space = dict(globals())
    exec(found[1], space)
    model = script(tmp_path, [edit("first = 1", "first = 2"), {"text": "ok"}], "child.json")
    settings = replace(parent, model=model)  # children have their parent's

    async def story(runtime: Runtime, children: Children) -> None:
        assert await space["add_change"](runtime, children, "make first 2") == Merged(paths=("cart.py",))

    play(shop, settings, story)
    assert (shop / "cart.py").read_text().startswith("first = 2\n")


def test_a_conflict_goes_to_the_child_with_both_sides_and_then_to_the_parent(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(
        tmp_path,
        [
            edit("first = 1", "first = 2"),
            {"text": "it is 2"},
            {
                "expect": [
                    "cart.py: both changed it",
                    "<parent>\nfirst = 3",
                    "<child>\nfirst = 2",
                    "Files with marks: cart.py",
                ],
                "calls": [call("read", path="cart.py")],
            },
            {
                "expect": ["<<<<<<< yours", ">>>>>>> others"],
                "calls": [call("write", path="cart.py", content="first = 5\n\n\n\nlast = 7\n")],
            },
            {"text": "solved"},
        ],
        "child.json",
    )

    async def story(runtime: Runtime, children: Children) -> None:
        writer = await start_writer(children, ChildSpec(prompt="make first 2", model=model))
        async with writer.child as child:
            await child.run()
            (shop / "cart.py").write_text("first = 3\n\n\n\nlast = 7\n")
            conflicts = await merge_writer(runtime, writer)
            assert isinstance(conflicts, Conflicts)
            (only,) = conflicts.files
            assert (only.path, only.kind) == ("cart.py", "lines")
            assert only.base is not None
            assert only.ours is not None
            assert only.theirs is not None
            assert only.base.content.startswith(b"first = 1")
            assert only.ours.content == b"first = 3\n\n\n\nlast = 7\n"
            assert only.theirs.content == b"first = 2\n\n\n\nlast = 9\n"
            assert (shop / "cart.py").read_text() == "first = 3\n\n\n\nlast = 7\n", "never half-written"
            solved = await child.ask(await prepare_resolution(runtime, writer, conflicts))
            assert solved.report == "solved", solved
            assert (shop / "cart.py").read_text() == "first = 3\n\n\n\nlast = 7\n"
            # The parent changes it again meanwhile: this time it is the parent's to solve.
            (shop / "cart.py").write_text("first = 4\n\n\n\nlast = 7\n")
            assert isinstance(await merge_writer(runtime, writer), Conflicts)
            (shop / "cart.py").write_text("first = 3\n\n\n\nlast = 7\n")
            assert await merge_writer(runtime, writer) == Merged(paths=("cart.py",))
        done = [
            event.tool for event in read_events(runtime.session.folder) if isinstance(event, ObservationEvent)
        ]
        assert done == ["merge_changes"], "a conflict is no action, and the merge is one"

    play(shop, parent, story)
    assert (shop / "cart.py").read_text() == "first = 5\n\n\n\nlast = 7\n"


@pytest.mark.parametrize("name", ["logo.bin", "gone.txt"])
def test_a_conflict_without_marks_stays_one_until_the_child_takes_the_other_side(
    name: str, shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    (shop / "logo.bin").write_bytes(b"\0one")
    (shop / "gone.txt").write_text("one\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Add what cannot be marked")
    change = "printf '\\000two' > logo.bin" if name == "logo.bin" else "rm gone.txt"
    model = script(
        tmp_path,
        [
            {"calls": [call("shell", command=change)]},
            {"text": "changed"},
            {"text": "I keep mine", "expect": [name]},
        ],
        "child.json",
    )
    others = b"\0three" if name == "logo.bin" else b"three\n"

    async def story(runtime: Runtime, children: Children) -> None:
        writer = await start_writer(children, ChildSpec(prompt="change it", model=model))
        async with writer.child as child:
            await child.run()
            (shop / name).write_bytes(others)
            (shop / "cart.py").write_text("total = 1\n")
            conflicts = await merge_writer(runtime, writer)
            assert isinstance(conflicts, Conflicts)
            await child.ask(await prepare_resolution(runtime, writer, conflicts))
            again = await merge_writer(runtime, writer)
            assert isinstance(again, Conflicts)
            assert [each.path for each in again.files] == [name]
            (child.place.folder / name).write_bytes(others)
            assert await merge_writer(runtime, writer) == Merged()

    play(shop, parent, story)
    assert (shop / name).read_bytes() == others
