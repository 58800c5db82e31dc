"""Undo under random work: whatever an agent, its commands and a person did, in repositories of every shape."""

from __future__ import annotations

import itertools
import os
import random
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest

from agent.events import MessageEvent, ObservationEvent, Prompt, SnapshotEvent, UndoEvent
from agent.session.undo import Timeline, UndoOutcome, redo_last_undo, rewind_steps, undo_last_turn
from sandbox.snapshots.newly_visible import compute_covered_changes
from sandbox.snapshots.snapshot_view import View
from tests.support.worlds import TRAITS, Image, Told, World, git_state, image, lines_of, regular, world

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261122"))
REPOSITORIES = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
"""Of each shape; every other trait may come with it."""

SEQUENCES = 10 if "PATCHWRIGHT_STRESS" in os.environ else 5
"""In each repository, of three to seven deeds."""

SHAPES = ("ordinary", *TRAITS)

State = tuple[int, bytes] | None


@dataclass
class Session:
    """A session as its log knows it, in a world."""

    world: World
    timeline: Timeline = field(default_factory=Timeline)
    number: int = 0

    def agent(self) -> None:
        """One batch of the agent's, which is one step however many of its actions write."""
        self.log(MessageEvent(text=""))
        self.world.agent()

    def log(self, event: MessageEvent | Prompt | SnapshotEvent | ObservationEvent | UndoEvent) -> None:
        self.number += 1
        event.id = f"e{self.number}"
        self.timeline.handle_event(event)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("shape", SHAPES)
def test_undo_restores_the_agents_work_and_loses_nothing_of_the_persons(shape: str, tmp_path: Path) -> None:
    for number in range(REPOSITORIES):
        draw = random.Random(f"{SEED} {shape} {number}")
        told = Told()
        with world(tmp_path / f"{number}", draw, (shape,), told) as place:
            for _ in range(SEQUENCES):
                session = Session(place)  # a new one: old steps can be undone no more
                told.tree = lambda tree, when: session.log(SnapshotEvent(tree=tree, when=when))  # noqa: B023
                told.commit = lambda commit: session.log(  # noqa: B023
                    ObservationEvent(call="c", tool="git_commit", text="", data={"commit": commit})
                )
                session.log(Prompt(text="go"))
                told.beside = place.beside
                place.meet()
                session.agent()
                for _ in range(draw.randrange(1, 6)):
                    _deed(session)
                take_back(session)


def _deed(session: Session) -> None:
    match session.world.draw.randrange(6):
        case 0:
            session.log(Prompt(text="go"))
            session.agent()
        case 1:
            session.agent()
        case 2 | 3:
            session.world.person()
        case _:
            take_back(session)


def take_back(session: Session) -> None:
    """One undo, rewind or redo, with all that has to hold of it."""
    draw, timeline, snapshots = session.world.draw, session.timeline, session.world.snapshots
    act: Callable[[], UndoOutcome]
    if timeline.undone_steps and draw.random() < 0.4:
        last = timeline.undone_steps[-1]
        act, spans = lambda: redo_last_undo(snapshots, timeline), [(last.before, last.after)]
    elif timeline.active_steps and draw.random() < 0.4:
        number = draw.randrange(1, len(timeline.active_steps) + 1)
        act = lambda: rewind_steps(snapshots, timeline, number)  # noqa: E731
        spans = [span for step in timeline.active_steps[number - 1 :] for span in step.spans]
    else:
        act = lambda: undo_last_turn(snapshots, timeline)  # noqa: E731
        spans = (
            [span for step in timeline.list_last_turn_steps() for span in step.spans]
            if timeline.active_steps
            else []
        )
    root, git = session.world.repo.root, git_state(session.world.repo)
    before = image(root)
    outcome = act()
    after = image(root)
    assert git_state(session.world.repo) == git, "the user's index, references and stash are not undo's"
    if outcome.event is None:
        assert after == before, "nothing was to be done, or something was in the way: then nothing is done"
        assert outcome.clashes or not spans
        return
    check(session.world, spans, before, after)
    session.log(outcome.event)
    assert outcome.event.after == snapshots.take()
    if outcome.event.action != "redo" and draw.random() < 0.3:
        again = redo_last_undo(snapshots, timeline)
        assert not again.clashes
        assert image(root) == before, "what was taken back comes back whole"
        assert again.event is not None
        session.log(again.event)


def check(world: World, spans: Sequence[tuple[str, str]], before: Image, after: Image) -> None:
    """What an undo of these spans may have done to the files, and what it has to have done."""
    views = [[View.load(world.store, each) for each in span] for span in spans]
    changes = [change.path for old, new in views for change in compute_covered_changes(old, new)]
    for path in before.keys() | after.keys():
        if path.endswith("/"):
            _check_folder(world, path, spans, before, after)
        elif path not in changes:
            assert after.get(path) == before.get(path), f"{path!r} was nobody's to touch"
    for path in changes:
        states = [(_state(world, path, old), _state(world, path, new)) for old, new in spans]
        meanwhile = [(one[1], two[0]) for one, two in itertools.pairwise(states)]
        if states[-1][1] == before.get(path) and all(left == right for left, right in meanwhile):
            assert after.get(path) == states[0][0], f"{path!r} is not as it was before"
        lost = lines_of(regular(before.get(path)), "person") - lines_of(regular(after.get(path)), "person")
        theirs = {line for _, new in states for line in regular(new).splitlines()}
        assert lost <= theirs, f"{path!r}: a person's lines that no step had taken in are gone: {lost}"


def _check_folder(
    world: World, path: str, spans: Sequence[tuple[str, str]], before: Image, after: Image
) -> None:
    """A folder: there, with its permissions, as before the spans, unless somebody else's work is in or at its place."""
    states = [(_folder(world, path, old), _folder(world, path, new)) for old, new in spans]
    old, new = (stat.S_IMODE(each[path][0]) if path in each else None for each in (before, after))
    if all(first == last for first, last in states):
        made_for = old is None and any(each.startswith(path) and each != path for each in after)
        assert new == old or made_for, f"{path!r} was nobody's to touch"
    elif states[-1][1] == old and all(one[1] == two[0] for one, two in itertools.pairwise(states)):
        filled = states[0][0] is None and any(each.startswith(path) and each != path for each in after)
        taken = any(str(each) in after for each in (PurePosixPath(path), *PurePosixPath(path).parents))
        assert new == states[0][0] or filled or taken, f"{path!r} is not as it was before"


def _folder(world: World, path: str, tree: str) -> int | None:
    return View.load(world.store, tree).get_folder_mode("" if path == "./" else path[:-1])


def _state(world: World, path: str, tree: str) -> State:
    state = world.snapshots.find_state(tree, path)
    return None if state is None else (state.mode, world.snapshots.read_content(state) or b"")
