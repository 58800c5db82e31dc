"""What `patchwright repair` does with changes that may only fit the tests: they are shown, and written when asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from packages.offline.commands.repair import repair_failing_tests
from packages.offline.repair.engine import repair_engine
from packages.offline.repair.result import LOW, Fix, Outcome, RepairResult

TEXT = "def fee(n):\n    if n:\n        return 1\n    return 2\n"


def fix(old: str, new: str, confidence: float) -> Fix:
    return Fix(
        path="cart.py", line=2, function="fee", old=old, new=new, template="t", why=f"{new.strip()!r} in fee",
        tests=("test_cart.py::test_fee",), confidence=confidence,
    )  # fmt: skip


SURE = fix("    return 2", "    return 3", LOW)
DOUBTFUL = fix("    if n:", "    if True:", LOW - 0.01)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the search finds a change that it is sure of, then one that it is not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text(TEXT)

    async def searched(*_: object, **__: object) -> RepairResult:
        other = fix("    if n:", "    if n or n == 0:", LOW)
        return RepairResult(
            outcome=Outcome.FIXED,
            reason="found",
            fixes=(SURE, DOUBTFUL),
            alternatives=((other,),),
            messages={},
        )

    monkeypatch.setattr(repair_engine, "repair", searched)
    return root


def mend(root: Path, apply: bool | None, *, as_json: bool = False) -> int:
    return repair_failing_tests(root, [], hint="", budget="1s", top=1, apply=apply, as_json=as_json)


def test_only_what_comes_before_the_first_doubtful_change_is_written(
    found: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mend(found, None) == Exit.TESTS_FAIL
    assert (found / "cart.py").read_text() == TEXT.replace("return 2", "return 3")
    said = capsys.readouterr().out
    assert "the first 1 applied" in said
    assert "if n or n == 0" in said, "the others are shown unasked"
    assert "--apply" in said


def test_all_is_written_when_asked_for(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mend(found, True) == Exit.DONE
    assert (found / "cart.py").read_text() == TEXT.replace("return 2", "return 3").replace(
        "if n:", "if True:"
    )
    assert "--apply" not in capsys.readouterr().out


def test_programs_are_told_how_many_changes_were_withheld(
    found: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mend(found, None, as_json=True) == Exit.TESTS_FAIL
    data = json.loads(capsys.readouterr().out)
    assert (data["applied"], data["withheld"]) == (True, 1)
    assert mend(found, False, as_json=True) == Exit.DONE
    data = json.loads(capsys.readouterr().out)
    assert (data["applied"], data["withheld"]) == (False, 0)
