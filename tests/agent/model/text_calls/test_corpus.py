"""The corpus of calls in texts: nearly all read as meant, and nothing run that was not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.text_calls import Outputs, find_calls
from tests.agent.model.text_calls.corpus import CASES, NOTHING, TOOLS, Case

AS_MEANT = 0.95


def got(case: Case) -> list[tuple[str, object]]:
    found = find_calls(case.text, TOOLS, Outputs(case.outputs))
    return [(call.tool, None if call.arguments is None else dict(call.arguments)) for call in found.calls]


def test_the_corpus_is_as_large_as_it_has_to_be_and_names_each_text_once() -> None:
    assert len(CASES) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


def test_nearly_all_texts_are_read_as_meant() -> None:
    wrong = [
        f"{case.name}: {got(case)} instead of {list(case.calls)}"
        for case in CASES
        if got(case) != list(case.calls)
    ]
    assert len(wrong) <= (1 - AS_MEANT) * len(CASES), "\n".join(wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_run_that_was_not_meant(case: Case) -> None:
    for call in got(case):
        assert call in [*case.calls] or call[1] is None, call


@pytest.mark.parametrize("case", NOTHING, ids=lambda case: case.name)
def test_a_text_without_a_call_is_left_as_it_is(case: Case) -> None:
    found = find_calls(case.text, TOOLS, Outputs(case.outputs))
    assert found.calls == ()
    assert found.prose == case.text.strip()


def test_calls_on_lines_of_their_own_are_one_text_of_nothing_but_calls() -> None:
    """A model that can call tools by its server's protocol, too, writes them so all the same."""
    lines = [f'{{"name": "read", "arguments": {{"path": "{name}"}}}}' for name in ("a.py", "b.py")]
    found = find_calls("\n".join(lines), TOOLS, sure=True)
    assert [dict(call.arguments or {}) for call in found.calls] == [{"path": "a.py"}, {"path": "b.py"}]
    assert found.prose == ""
    assert find_calls("\n".join([*lines, "It is an example."]), TOOLS, sure=True).calls == ()


@pytest.mark.slow
@given(st.sampled_from([case for case in CASES if case.calls]), st.data())
def test_no_beginning_of_a_text_runs_what_the_whole_does_not(case: Case, data: st.DataObject) -> None:
    """A stream that breaks off: what is run then is one of the calls, whole."""
    end = data.draw(st.integers(0, len(case.text)))
    for call in find_calls(case.text[:end], TOOLS, Outputs(case.outputs), cut=True).calls:
        if call.arguments is not None:
            assert (call.tool, dict(call.arguments)) in case.calls


@pytest.mark.slow
@given(st.sampled_from([case for case in CASES if case.calls]))
def test_what_a_tool_has_returned_is_never_run(case: Case) -> None:
    output = f"before\n{case.text}\nafter"
    found = find_calls(f"I see this:\n\n{case.text}", TOOLS, Outputs([output]))
    assert [call for call in found.calls if call.arguments is not None] == []
