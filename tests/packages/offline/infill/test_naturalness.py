"""Of changes that pass the same tests, the model's own word on the new lines decides, and on what is written at all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.model.infill.fill_forms import FORMS, Filling, Gap
from agent.model.infill.filler import Filler
from packages.offline.infill.filler import FILLER
from packages.offline.infill.naturalness import LONGEST, find_line_change, measure_texts
from packages.offline.repair.engine import validator
from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.result import RepairResult
from tests.tools.workspaces import workspace

TEXT = "def f(x):\n    y = x\n    return y\n"


class Judge(Filler):
    """A model that knows what some lines are worth, and fills in nothing else than one text."""

    def __init__(self, worth: Mapping[str, float], text: str = "", form: str = "infill") -> None:
        super().__init__("http://127.0.0.1:1/v1", form=FORMS[form])
        self.worth, self.text = worth, text
        self.asked: list[Gap] = []

    async def fill(self, gap: Gap) -> Filling | None:
        self.asked.append(gap)
        return Filling(text=self.text) if self.text else None

    async def measure_probability(self, gap: Gap) -> tuple[float, int] | None:
        self.asked.append(gap)
        return self.worth.get(gap.forced, -20.0), self.count_tokens(gap.forced)

    def count_tokens(self, text: str) -> int:
        return 1


@pytest.mark.parametrize(
    ("changed", "old", "new"),
    [
        (TEXT.replace("y = x", "y = -x"), "y = x", "y = -x"),
        (TEXT.replace("    return", "    y += 1\n    return"), "return y", "y += 1\n    return y"),
        (TEXT.replace("    y = x\n", ""), "y = x\n    return y", "return y"),
        (TEXT.replace("    return y", "    if y:\n        return y"), "return y", "if y:\n        return y"),
        (TEXT, None, None),
        (TEXT.replace("y = x", f"y = {'x' * LONGEST}"), None, None),
    ],
)
def test_whole_lines_are_compared(changed: str, old: str | None, new: str | None) -> None:
    change = find_line_change(TEXT, changed)
    assert (change.old if change else None, change.new if change else None) == (old, new)
    if change is not None:
        assert change.before + change.old + change.after == TEXT
        assert change.before + change.new + change.after == changed


def test_the_old_lines_count_against_the_new() -> None:
    judge = Judge({"y = x": -4.0, "y = -x": -1.0})
    changed = TEXT.replace("y = x", "y = -x")
    assert asyncio.run(measure_texts(judge, TEXT, changed)) == 3.0
    assert {(each.prefix, each.suffix) for each in judge.asked} == {("def f(x):\n    ", "\n    return y\n")}
    assert asyncio.run(measure_texts(judge, changed, TEXT)) == -3.0


class WordJudge(Judge):
    """A model to which each word is a token."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def test_lines_are_not_likelier_because_they_are_fewer() -> None:
    judge = WordJudge({"y = x\n    return y": -10.0, "return y": -4.0, "y = -x": -6.0, "y = x": -3.0})
    assert asyncio.run(measure_texts(judge, TEXT, TEXT.replace("    y = x\n", ""))) == 0.0
    assert asyncio.run(measure_texts(judge, TEXT, TEXT.replace("y = x", "y = -x"))) == -3.0


@pytest.mark.parametrize(("text", "sign"), [("y = -x", 1), ("y = x", -1), ("y = 0", 0), ("", None)])
def test_samples_that_agree_count_where_no_probability_is_told(text: str, sign: int | None) -> None:
    judge = Judge({}, text, form="mistral")
    told = asyncio.run(measure_texts(judge, TEXT, TEXT.replace("y = x", "y = -x")))
    assert (None if told is None else (told > 0) - (told < 0)) == sign


AGES = {
    "ages.py": "def is_adult(age):\n    return age > 18\n",
    "test_ages.py": (
        "from ages import is_adult\n\n\ndef test_ages():\n    assert is_adult(18)\n    assert not is_adult(9)\n"
    ),
}


def mend(folder: Path, judge: Judge | None) -> RepairResult:
    folder.mkdir(exist_ok=True)
    at = workspace(folder, AGES)
    at.facts[FILLER] = judge
    return asyncio.run(repair(at, budget=60))


@pytest.mark.slow
def test_the_model_decides_among_changes_that_pass(tmp_path: Path) -> None:
    alone = mend(tmp_path / "alone", None)
    [first], [other] = alone.fixes, alone.alternatives[0]
    for number, line in enumerate([first.new.strip(), other.new.strip()]):
        [fix] = mend(tmp_path / str(number), Judge({line: -1.0, "return age > 18": -3.0})).fixes
        assert fix.new.strip() == line
        assert fix.is_sure


@pytest.mark.slow
def test_what_the_model_finds_worse_than_the_fault_is_not_sure(tmp_path: Path) -> None:
    judge = Judge({"return age > 18": -1.0})
    found = mend(tmp_path, judge)
    assert found.fixes
    assert not found.fixes[0].is_sure
    assert any(not each.forced for each in judge.asked)  # it was asked for something better


class Busy(Judge):
    """A model whose processor is busy with other work."""

    async def measure_probability(self, gap: Gap) -> tuple[float, int] | None:
        await asyncio.sleep(600)
        return None


@pytest.mark.slow
def test_a_sure_change_does_not_wait_for_a_busy_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validator, "MEASURING", 0.5)
    found = mend(tmp_path, Busy({}))
    assert [fix.is_sure for fix in found.fixes] == [True]
    assert found.seconds < 60


@pytest.mark.slow
def test_the_time_that_the_model_does_not_use_is_the_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packages.offline.repair.engine.repair_engine.FILLING_SHARE", 1.0)
    judge = Judge({"return age >= 18": -1.0, "return age > 18": -3.0})
    found = mend(tmp_path, judge)
    assert [each.new.strip() for each in found.fixes] == ["return age >= 18"]
    assert any(not each.forced for each in judge.asked), "it was asked first"


class Slow(Judge):
    """A model that uses all the time that it is given for each gap."""

    async def fill(self, gap: Gap) -> Filling | None:
        self.asked.append(gap)
        await asyncio.sleep(gap.seconds)
        return None


@pytest.mark.slow
def test_a_slow_model_leaves_the_engine_time_for_the_changes_that_it_has_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packages.offline.repair.engine.repair_engine.FILLING_SHARE", 1.0)
    slow = Slow({"return age >= 18": -1.0, "return age > 18": -3.0})
    found = mend(tmp_path, slow)
    assert [each.new.strip() for each in found.fixes] == ["return age >= 18"]
    assert [each.forced for each in slow.asked][:1] == [""], "it was asked first"
