"""The changelog: a section for the version, and entries that can be read at a glance."""

from __future__ import annotations

import re

from patchwright.version import VERSION
from tests.packaging.installing import CHECKOUT

TEXT = (CHECKOUT / "CHANGELOG.md").read_text("utf-8")
SECTIONS = dict(
    re.findall(r"^## \[([^\]]+)\](?: - \d{4}-\d{2}-\d{2})?\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.M)
)
MOST_WORDS = 25


def test_the_newest_sections_are_the_unreleased_one_and_the_versions() -> None:
    assert list(SECTIONS)[:2] == ["Unreleased", VERSION]
    assert re.search(rf"^## \[{re.escape(VERSION)}\] - \d{{4}}-\d{{2}}-\d{{2}}$", TEXT, re.M)
    assert SECTIONS[VERSION].strip()


def test_every_entry_has_25_words_or_fewer() -> None:
    entries = [
        " ".join(each.split())
        for section in SECTIONS.values()
        for each in re.findall(r"^- (.*?)(?=^- |^#|^$|\Z)", section, re.DOTALL | re.M)
    ]
    assert len(entries) > 100
    assert [each for each in entries if len(each.split()) > MOST_WORDS] == []
    assert [each for each in entries if not each.endswith(".")] == []


def test_every_entry_is_under_a_heading_of_keep_a_changelog() -> None:
    headings = re.findall(r"^### (.*)$", TEXT, re.M)
    assert set(headings) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
