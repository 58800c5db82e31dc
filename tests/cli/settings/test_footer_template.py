"""The template of the footer: fields are filled in only if they are named, empty parts are left out."""

from __future__ import annotations

import pytest

from cli.settings.footer_template import FIELDS, check_template, format_template
from sandbox.errors import UserError


def test_a_part_without_values_is_left_out_and_no_other_field_is_computed() -> None:
    asked: list[str] = []

    def give(name: str, value: str) -> str:
        asked.append(name)
        return value

    values = {"model": "m", "branch": "", "context": "context 3 %", "cost": ""}
    fields = {
        name: lambda name=name: give(name, values.get(name, "never"))  # type: ignore[misc]
        for name in FIELDS
    }
    line = format_template("pw · {model} on {branch} · {branch} · {context} · {cost}", fields)
    assert line == "pw · m on  · context 3 %"
    assert set(asked) == set(values)


@pytest.mark.parametrize("template", ["", "plain", *(f"{{{name}}}" for name in FIELDS), "{model} · {cost}"])
def test_known_fields_are_accepted(template: str) -> None:
    check_template(template)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{modle}", "there is no field {modle}"),
        ("{}", "there is no field {}"),
        ("{model", "a brace without its other one"),
        ("model}", "a brace without its other one"),
        ("{{model}}", "a brace without its other one"),
        ("{model!r}", "there is no field {model!r}"),
        ("{model.__class__}", "there is no field {model.__class__}"),
    ],
)
def test_what_is_no_field_is_told_with_those_that_there_are(template: str, said: str) -> None:
    with pytest.raises(UserError) as told:
        check_template(template)
    assert said in told.value.message
    assert "{model}" in told.value.hint
