"""The keys of a settings file are the fields of the sections, no matter on which floor a section is defined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from cli.output.json_schemas import SCHEMAS
from cli.settings.settings_types import KEYS, Settings, get_setting, list_setting_names, replace_setting

DERIVED = {"flags", "notices", "session.rules", "session.access.rules"}
"""Fields that no file sets: options of the command line, notices, and what `rules` and `permissions` become."""


def places(section: Any, above: str = "") -> Iterator[str]:
    """The dotted places of all fields, down to the tables that a file has as such."""
    for each in fields(section):
        place, value = f"{above}{each.name}", getattr(section, each.name)
        if place in KEYS.values() or not is_dataclass(value):
            yield place
        elif place not in DERIVED:
            yield from places(value, f"{place}.")


def test_every_field_of_a_section_has_a_key_or_is_derived() -> None:
    assert sorted(places(Settings())) == sorted({*KEYS.values(), "flags", "notices", "session.rules"})


def test_the_schema_offers_what_a_file_may_set_and_nothing_else() -> None:
    schema = SCHEMAS["settings"]()
    assert list(schema["properties"]) == list(KEYS)
    assert schema["additionalProperties"] is False


def test_a_replaced_setting_leaves_the_other_sections_as_they_are() -> None:
    before = Settings()
    after = replace_setting(before, "tests.command", "make check")
    assert get_setting(after, "tests.command") == "make check"
    assert after.session.tools.tests.timeout == before.session.tools.tests.timeout
    assert after.session.tools.edit is before.session.tools.edit
    assert after.session.access is before.session.access
    assert get_setting(before, "tests.command") == ""
    changed = [name for name in list_setting_names() if get_setting(after, name) != get_setting(before, name)]
    assert changed == ["tests.command"]
