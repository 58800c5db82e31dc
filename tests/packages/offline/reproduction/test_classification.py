"""Classification of runs, without running anything."""

from __future__ import annotations

import pytest

from packages.offline.reproduction.classification import Check, Failure, Rejection, classify_run
from packages.offline.reproduction.drafts import build_drafts, find_undefined_names
from packages.offline.reproduction.observation import ErrorSeen, RunSeen, StepSeen
from packages.offline.reproduction.report.extract import extract_report
from packages.offline.reproduction.script_text import render_script

CALL = ("shop/cart.py", 3, "total")
TWO_RESULTS = """\
Symbols have a dict

>>> a.slots
('name',)
>>> a.dict
Traceback (most recent call last):
AttributeError: no attribute 'dict'
"""


def show(text: str) -> StepSeen:
    return StepSeen(shows={"repr": text, "str": text}, calls=[CALL])


def fail(type_: str, message: str, *, inside: bool = True) -> StepSeen:
    frames = [("shop/cart.py", 4, "total", inside)]
    return StepSeen(error=ErrorSeen(type=type_, types=[type_], message=message, frames=frames), calls=[CALL])


def classify(text: str, *steps: StepSeen) -> Failure | Rejection:
    report = extract_report(text)
    draft = build_drafts(report)[0]
    return classify_run(draft, draft.exchanges, report, RunSeen(steps=list(steps)))


def test_an_output_does_not_count_beside_a_told_error_that_is_not_seen() -> None:
    assert classify(TWO_RESULTS, show("('name',)"), show("{}")) == Rejection(reason="not seen")
    found = classify(TWO_RESULTS, show("('name',)"), fail("AttributeError", "no attribute 'dict'"))
    assert isinstance(found, Failure)
    assert found.kind == "exception"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (fail("KeyError", "'a'"), "not seen"),
        (fail("ModuleNotFoundError", "No module named 'x'"), "import"),
        (fail("PermissionError", "no"), "environment"),
        (fail("ZeroDivisionError", "division by zero", inside=False), "not seen"),
    ],
)
def test_another_failure_than_the_told_one_is_rejected(step: StepSeen, reason: str) -> None:
    told = (
        ">>> total()\nTraceback (most recent call last):\n"
        '  File "a.py", line 3, in total\nZeroDivisionError: division by zero\n'
    )
    found = classify(told, step)
    assert isinstance(found, Rejection)
    assert found.reason == reason


def test_all_told_outputs_together_are_the_failure() -> None:
    text = ">>> f(1)\n2\n>>> f(2)\n3\n"
    found = classify(text, show("2"), show("3"))
    assert isinstance(found, Failure)
    assert [each.text for each in found.checks] == ["2", "3"]
    assert isinstance(classify(text, show("2"), show("4")), Rejection)


def test_names_that_code_lacks_are_found_in_order() -> None:
    assert find_undefined_names("from a import b\nx = b(y)\nfor i in range(z): print(i, x)") == ["y", "z"]
    assert find_undefined_names("var('p q')\np + q") == ["var"]
    assert find_undefined_names("x = x + 1") == ["x"]


@pytest.mark.parametrize(
    ("text", "step", "is_seen"),
    [
        ("It raises a parsing error:\n\n    total(1)\n", fail("ParseError", "no"), True),
        ("It raises a parsing error:\n\n    total(1)\n", fail("NameError", "name 'total'"), False),
        ("It raises a parsing error:\n\n    total(1)\n", fail("ParseError", "no", inside=False), False),
        ("`total(1)` gives ParsingException", fail("ParseException", "no"), True),
        ("`total(1)` gives a KeyError", fail("IndexError", "no"), False),
        (
            "    total(1)\n\nraises `ValueError: Invalid expression / Unexpected token`\n",
            fail("ParseError", "Invalid expression / Unexpected token. Line 1"),
            True,
        ),
        ("    total(1)\n\nraises `ValueError: bad`\n", fail("ParseError", "bad"), False),
    ],
)
def test_an_exception_is_told_in_the_words_of_people(text: str, step: StepSeen, is_seen: bool) -> None:
    assert isinstance(classify(text, step), Failure) is is_seen


def test_a_bare_assertion_counts_only_if_its_failure_is_told() -> None:
    failing = fail("AssertionError", "(2, 3)")
    assert isinstance(classify("So it is now:\n\n    assert total() == 3\n", failing), Rejection)
    told = "    assert total() == 3\n\nfails with an AssertionError\n"
    assert isinstance(classify(told, failing), Failure)
    test = "    def test_total():\n        assert total() == 3\n\n    test_total()\n"
    assert isinstance(classify(test, StepSeen(), failing), Failure)


def test_texts_of_several_lines_are_the_same_in_the_script() -> None:
    script = render_script(
        "t", [], [], ['sql = """a\n b"""', "f(sql)"], Failure(kind="output", step=1, detail="")
    )
    assert "sql = 'a\\n b'" in script


def test_another_exception_may_be_right_if_the_report_asks_for_one() -> None:
    text = "`f(1)` fails with `KeyError: 1`. It should be handled more gracefully."
    report = extract_report(text)
    failure = Failure(kind="exception", step=0, detail="", error_type="KeyError")
    wanted = render_script("t", [], [], ["f(1)"], failure, lets_pass=report.wants_error)
    assert "type(error).__name__ == 'KeyError'" in wanted
    assert not extract_report("`f(1)` fails with `KeyError: 1`.").wants_error
    assert extract_report("`f(1)` fails with `KeyError: 1` and should raise ValueError").wants_error


def test_an_exception_may_be_right_where_a_result_is_seen() -> None:
    check = Check(step=0, way="repr", text="3")
    failure = Failure(kind="output", step=0, detail="", checks=(check,))
    script = render_script(
        "t", [], [], ["f(1)"], failure, lets_pass=extract_report("f(1) should fail").wants_error
    )
    for source, passes in (
        ("def f(x): return 3", False),
        ("def f(x): return 4", True),
        ("def f(x): 1 / 0", True),
    ):
        names: dict[str, object] = {}
        exec(f"{source}\n{script}", names)  # the script is made of the literals above
        test = names["test_reproduction"]
        assert callable(test)
        if passes:
            test()
        else:
            with pytest.raises(AssertionError):
                test()
