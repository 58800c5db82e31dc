"""What a prompt excuses or wants changed is read as its orders are: bans, quotations and code excuse nothing."""

from __future__ import annotations

import pytest

from agent.prompt.excused_changes import read_request
from agent.prompt.prompt_reader import read_intent


@pytest.mark.parametrize(
    ("prompt", "topics"),
    [
        ("lower the coverage threshold to 80", {"threshold"}),
        ("make it pass without lowering the coverage threshold", set()),
        ("exclude the integration folder and its tests", {"selection"}),
        ("fix f, and don't ignore any tests", set()),
        ("update the CI workflow", {"ci"}),
        ("do not touch the CI pipeline, mend f", set()),
        ("change conftest.py so that it finds the data", {"runner"}),
        ("don't edit conftest.py, but fix f", set()),
        ("fix f and leave the Makefile alone", set()),
        ("fix f:\n```\n# change the Makefile\n```", set()),
        ('the log says "lower the coverage threshold": mend f', set()),
    ],
)
def test_a_topic_is_excused_by_an_order_only(prompt: str, topics: set[str]) -> None:
    assert set(read_request([prompt]).topics) == topics


@pytest.mark.parametrize(
    ("prompt", "is_wanted"),
    [
        ("remove the dead code", True),
        ("fix f without removing any code", False),
        ("never delete a test", False),
        ('print "remove everything" at the end', False),
        ("lösche die Funktion f", True),
        ("entferne nichts", False),
        ("supprime la fonction f", True),
        ("elimina la función f", True),
        ("删除函数 f", True),
        ("不要删除 f", False),
        ("f を削除して", True),
    ],
)
def test_a_removal_is_excused_by_an_order_only(prompt: str, is_wanted: bool) -> None:
    assert read_request([prompt]).removal is is_wanted


@pytest.mark.parametrize(
    ("prompt", "paths"),
    [
        ("change a.py and b.py", ("a.py", "b.py")),
        ("fix the bug in src/x.py, src/y.py and z.js", ("src/x.py", "src/y.py", "z.js")),
        ("do not edit a.py, change b.py", ("b.py",)),
        ("read cart.py, then change total", ()),
        ("update the README and docs/x.md", ("README", "docs/x.md")),
        ("Ändere a.py und lass b.py in Ruhe", ("a.py",)),
        ("modifie a.py", ("a.py",)),
        ("把 a.py 里的 f 改成返回 2", ("a.py",)),
        ("a.py の f を変更して", ("a.py",)),
        ("change every file in src/", ()),
    ],
)
def test_the_files_that_an_order_names_are_to_be_changed(prompt: str, paths: tuple[str, ...]) -> None:
    assert read_intent(prompt).changed_paths == paths
