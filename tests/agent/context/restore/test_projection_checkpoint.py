"""A session taken up from a checkpoint is what its log makes of it; what is no checkpoint of the log is not used."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import Projection
from agent.context.restore.projection_checkpoint import NAME, NUMBER
from agent.context.restore.projection_replay import follow_session, undo_compaction
from agent.events import Compaction, Event, Fold, MessageEvent, ObservationEvent, Prompt, SessionStart
from agent.model.protocol import ToolSpec
from agent.session.export_import import create_fork
from agent.session.log import Session
from agent.session.log_lines import parse_log_line
from tests.agent.context.projection.test_projection import Story
from tests.agent.context.restore.test_projection_replay import long_log
from tests.agent.context.test_prefixes import KEPT, TOOLS
from tests.support.stress import count_cases

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))


class Taken:
    """A session as a process has it that takes it up, and how many events it read for that."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, tools: Sequence[ToolSpec] = ()) -> None:
        self.read = 0
        with monkeypatch.context() as patch:
            patch.setattr("agent.session.log_lines.parse_log_line", self._count_line)
            self.session = Session.open(folder)
            self.projection, self.facts = Projection(tools), Facts()
            self.checkpoints = follow_session(self.session, self.projection, self.facts)

    def _count_line(self, line: bytes, *place: Any) -> Event:
        self.read += 1
        return parse_log_line(line, *place)

    def state(self) -> object:
        it = self.projection
        slots = [(repr(s.message), s.first, s.last, s.size, s.short, s.ref, s.whole, s.by) for s in it.slots]
        batch = [(call, event and event.id) for call, event in it._batch.items()]
        waiting = [repr(slot.message) for slot in it._waiting]
        numbers = (
            it.byte_count,
            it.fold_tokens,
            it.raw_tokens,
            it.verbatim_from,
            it.prompts_shortened,
            it.tokens,
        )
        facts = self.facts.as_data(files=None)
        return it.system, slots, batch, waiting, numbers, facts, list(facts["files"])


def random_log(folder: Path, choose: random.Random) -> tuple[Path, dict[int, bytes]]:
    """A session with crashes, rewinds, forks, changes of the model, compactions of all kinds and undoings of them, and
    checkpoints on its way (by the place up to which they know it)."""
    session = Session.create(folder)
    live, facts = Projection(TOOLS), Facts()
    checkpoints = follow_session(session, live, facts)
    kept: dict[int, bytes] = {}
    for event in Story(choose).write(40, malformed=True):
        if isinstance(event, MessageEvent) and choose.random() < 0.3:
            event.model, event.reasoning = choose.choice(["a/one", "b/two"]), f"because {choose.random()}"
            event.kept = [choose.choice(KEPT)]
        if session.replayed.count and choose.random() < 0.02:
            copy = create_fork(session.folder, f"e{choose.randint(1, session.replayed.count)}")
            session.close()
            session, live, facts = copy, Projection(TOOLS[:1]), Facts()  # a tool is gone
            checkpoints = follow_session(session, live, facts)
            kept.clear()
        if isinstance(event, Compaction):
            last = len(session.replayed)
            event.undoes, event.folds = "", [each for each in event.folds if int(each.last[1:]) <= last]
        if choose.random() > 0.03:  # else a crash took it
            session.append(event)
        if choose.random() < 0.04 and live.slots and not live._batch:
            session.append(_summary(live, facts))
        if choose.random() < 0.15 and live.slots:
            session.append(_masking(choose.choice(live.slots).first, choose.choice(["", "digest", "d" * 99])))
        if session.replayed.count and choose.random() < 0.03:
            last = session.replayed.count
            session.rewind(f"e{choose.randint(max(last - 20, 1), last)}")
        made = [each for each in session.replayed.select_events(Compaction) if not each.undoes]
        if made and choose.random() < 0.03:
            undo_compaction(session, live, choose.choice(made))
        if session.replayed.count and choose.random() < 0.25:
            checkpoints.save()
            kept[session.replayed.count] = (session.folder / NAME).read_bytes()
    checkpoints.save()
    kept[session.replayed.count] = (session.folder / NAME).read_bytes()
    session.close()
    return session.folder, kept


def _masking(place: int, text: str) -> Compaction:
    return Compaction(masked={f"e{place}": text}, tokens_before=2, tokens_after=1, reason="asked")


def _summary(live: Projection, facts: Facts) -> Compaction:
    first, last = min(slot.first for slot in live.slots), max(slot.last for slot in live.slots)
    fold = Fold(first=f"e{first}", last=f"e{last}", text=f"all up to {last}")
    state = facts.as_data()
    return Compaction(
        stage="summary", folds=[fold], state=state, tokens_before=2, tokens_after=1, reason="long"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(count_cases(6)))
def test_any_checkpoint_and_what_came_after_it_make_what_the_whole_log_makes(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(f"checkpoint {seed}")
    folder, kept = random_log(tmp_path, choose)
    more = Story(choose).write(6, malformed=False)[1:]
    (folder / NAME).unlink(missing_ok=True)
    whole = Taken(folder, monkeypatch)
    expected = whole.state()
    for event in more:
        whole.projection.add_event(event)
        whole.facts.handle_event(event)
    whole.session.close()
    used = 0
    for content in kept.values():
        (folder / NAME).write_bytes(content)
        again = Taken(folder, monkeypatch, choose.choice([(), TOOLS[:1], TOOLS]))
        used += again.checkpoints._saved > 0
        assert again.state() == expected
        for event in more:
            again.projection.add_event(event)
            again.facts.handle_event(event)
        assert again.state() == whole.state()
        again.session.close()
    last = max(kept)
    assert used >= (whole.session.replayed.is_on_branch(last) and not _undone_after(whole.session, last))


def _undone_after(session: Session, at: int) -> bool:
    return any(event.undoes for event in session.replayed.select_events(Compaction, after=f"e{at}"))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long session, with the checkpoint of its end."""
    session, projection, facts = long_log(tmp_path_factory.mktemp("long"), 100)
    session.close()
    again = Session.open(session.folder)
    follow_session(again, projection, facts).save()
    again.close()
    return session.folder


@pytest.fixture
def folder(ended: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(ended, tmp_path / "session"))


@pytest.mark.slow
def test_a_long_session_is_taken_up_with_few_of_its_events_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as its request is made of, though it was never summed up: the window is large."""
    folder = never_summed_up(tmp_path)
    again = Taken(folder, monkeypatch)
    assert again.read < len(again.session.replayed) / 4
    again.session.close()
    (folder / NAME).unlink()
    whole = Taken(folder, monkeypatch)
    assert whole.read >= len(whole.session.replayed)
    assert again.state() == whole.state()
    whole.session.close()


def never_summed_up(folder: Path) -> Path:
    """A session whose steps were all folded but for the newest; its process was killed two events later."""
    session, projection, facts = Session.create(folder), Projection([]), Facts()
    follow_session(session, projection, facts)
    start = SessionStart(session="s", project="/p", model="m", mode="workspace", version="0", system="S")
    session.append(start)
    for i in range(60):
        session.append(Prompt(text=f"You must keep part {i}."))
        session.append(MessageEvent(text=f"Part {i}."))
        for _ in range(6):
            session.append(ObservationEvent(call="harness", tool="run_tests", text="3 passed"))
    fold = Fold(first="e2", last=f"e{session.replayed.count}", text="60 parts")
    session.append(Compaction(stage="folding", folds=[fold], tokens_before=2, tokens_after=1, reason="asked"))
    session.append(MessageEvent(text="On with it."))
    session.append(Prompt(text="And now?"))
    session.close()
    return session.folder


def _damaged(data: bytes) -> bytes:
    at = data.index(b"lib0")
    return data[:at] + b"lib1" + data[at + 4 :]


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "torn": lambda data: data[: len(data) // 2],
    "damaged": _damaged,
    "of another version": lambda data: data.replace(f'"format": "{NUMBER}'.encode(), b'"format": "0', 1),
    "not JSON": lambda data: b"\xff" * 300,
    "nested": lambda data: b"[" * 100_000,
    "of a longer log": lambda data: data.replace(b'"at": ', b'"at": 9', 1),
}


@pytest.mark.slow
def test_what_is_no_checkpoint_of_this_log_is_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (folder / NAME).read_bytes()
    good = Taken(folder, monkeypatch)
    assert good.checkpoints._saved == good.session.replayed.count
    good.session.close()
    spoiled = {how: spoil(content) for how, spoil in SPOILED.items()}
    spoiled["of another session"] = (never_summed_up(tmp_path) / NAME).read_bytes()
    for how, data in spoiled.items():
        (folder / NAME).write_bytes(data)
        again = Taken(folder, monkeypatch)
        assert again.checkpoints._saved == 0, how
        assert again.state() == good.state()
        again.session.close()


@pytest.mark.slow
def test_a_checkpoint_is_private_and_leads_nowhere_else(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes((folder / NAME).read_bytes())
    before = elsewhere.read_bytes()
    (folder / NAME).unlink()
    for name in (NAME, NAME.replace("json", "new")):
        (folder / name).symlink_to(elsewhere)
    again = Taken(folder, monkeypatch)
    assert again.checkpoints._saved == 0
    again.checkpoints.save()
    again.session.close()
    assert elsewhere.read_bytes() == before
    assert not (folder / NAME).is_symlink()
    assert Taken(folder, monkeypatch).checkpoints._saved == again.session.replayed.count


def test_a_folder_that_cannot_be_written_keeps_nobody_from_working(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / NAME).unlink()
    (folder / NAME).mkdir()
    again = Taken(folder, monkeypatch)
    again.session.append(Prompt(text="Go on."))
    again.checkpoints.save()
    again.session.close()
    assert (folder / NAME).is_dir()
