"""The interface's events agree with those of the log, and read what a newer program writes."""

from __future__ import annotations

from dataclasses import fields

import pytest

from agent.events.parsing import KINDS as LOGGED
from patchwright.api.events import KINDS, End, Event, Message, parse_event

STREAMED = {"delta"}
"""Kinds of lines that are no events of the log."""


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - STREAMED))
def test_typed_events_have_fields_of_the_log(kind: str) -> None:
    logged = {each.name: each for each in fields(LOGGED[kind])}
    for each in fields(KINDS[kind]):
        assert each.name == "raw" or each.name in logged, each.name


def test_all_kinds_are_known_to_the_log() -> None:
    assert KINDS.keys() - STREAMED <= LOGGED.keys()


def test_an_event_has_its_fields_and_keeps_those_that_are_new() -> None:
    event = parse_event({"kind": "message", "text": "hi", "mood": "good"})
    assert isinstance(event, Message)
    assert event.text == "hi"
    assert event.raw["mood"] == "good"
    assert parse_event({"kind": "rubric"}) == Event(kind="rubric")
    end = parse_event({"kind": "end", "outcome": "done", "files": ["a"], "usage": {"cost": 0.5}})
    assert isinstance(end, End)
    assert end.files == ["a"]
