"""Paths as links: only files of the workspace, hostile names escaped, only where terminals open them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.output.style.path_links import PathLinks, can_link, can_link_lines
from cli.output.style.theme import choose_theme
from tests.support.cli import call
from tests.support.talking import ask, at_rest, leave, make_shop, talk

LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "cart.py").touch()
    (tmp_path / "tests/test_cart.py").touch()
    return tmp_path


def targets(line: str) -> list[str]:
    return [each for each in LINK.findall(line) if each]


def test_files_of_the_workspace_are_linked_and_nothing_else(root: Path) -> None:
    link = PathLinks(root, lines=True).link
    line = (
        "\x1b[32m●\x1b[0m edit cart.py:12: +1, tests/test_cart.py::test_x, none.py /etc/passwd ../cart.py 1.5"
    )
    linked = link(line)
    assert targets(linked) == [f"file://{root}/cart.py#12", f"file://{root}/tests/test_cart.py"]
    assert LINK.sub("", linked) == line  # what is seen is the same
    assert targets(PathLinks(root, lines=False).link("cart.py:12")) == [f"file://{root}/cart.py"]


def test_a_link_that_leads_outside_is_none(root: Path) -> None:
    (root / "out.py").symlink_to("/etc/passwd")
    (root / "loop.py").symlink_to("loop.py")
    assert PathLinks(root, lines=True).link("out.py loop.py") == "out.py loop.py"


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    root = tmp_path / "a\x1b]0;x\x07\\ b?#é"
    root.mkdir()
    (root / "x.py").touch()
    [target] = targets(PathLinks(root, lines=True).link("x.py"))
    assert re.fullmatch(r"file://[A-Za-z0-9/._%~-]+", target)
    assert os.fsencode(target.encode()).count(b"%1B") == 1
    already = "\x1b]8;;http://x\x1b\\x.py\x1b]8;;\x1b\\"
    assert PathLinks(root, lines=True).link(already) == already


@pytest.fixture
def mono() -> Iterator[None]:
    choose_theme("mono")
    yield
    choose_theme("terminal")


@pytest.mark.usefixtures("mono")
def test_without_colours_there_are_no_links(root: Path) -> None:
    assert PathLinks(root, lines=True).link("cart.py") == "cart.py"


@pytest.mark.parametrize(
    ("env", "links", "lines"),
    [
        ({"TERM_PROGRAM": "vscode"}, True, True),
        ({"TERM_PROGRAM": "vscode", "SSH_CONNECTION": "1"}, True, True),
        ({"TERM_PROGRAM": "WezTerm"}, True, False),
        ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, True, True),
        ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "TMUX": "x"}, False, True),
        ({"TERM": "foot"}, True, False),
        ({"VTE_VERSION": "7600"}, True, False),
        ({"VTE_VERSION": "4000"}, False, False),
        ({"VTE_VERSION": "7600", "SSH_TTY": "/dev/pts/1"}, False, False),
        ({"TERM": "xterm-256color"}, False, False),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False, False),
    ],
)
def test_terminals_are_known(env: dict[str, str], links: bool, lines: bool) -> None:
    assert (can_link(env), can_link_lines(env)) == (links, lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "links"),
    [
        ({"TERM_PROGRAM": "vscode"}, True),
        ({}, False),
        ({"TERM_PROGRAM": "vscode", "NO_COLOR": "1"}, False),
        ({"TERM_PROGRAM": "vscode", "PATCHWRIGHT_TERMINAL__LINKS": "false"}, False),
    ],
)
def test_edited_files_are_links_in_a_terminal_that_opens_them(
    env: dict[str, str], links: bool, tmp_path: Path
) -> None:
    shop = make_shop(tmp_path / "shop")
    turns = [
        {"calls": [call("read", path="order.py"), call("edit", path="cart.py", old=" - 1", new="")]},
        {"text": "Mended."},
    ]
    with talk(shop, turns, "--tests", "true", **env) as terminal:
        at_rest(terminal)
        ask(terminal, "mend it", "Mended.")
        begin = len(terminal.raw)
        ask(terminal, "/diff", "@@" if "@@" in terminal.everything else "cart.py")
        assert bool(targets(terminal.raw[begin:].decode())) is links
        leave(terminal)
        found = set(targets(terminal.raw.decode()))
        assert "● edit cart.py" in terminal.everything
    assert found == ({f"file://{shop}/{name}" for name in ("order.py", "cart.py")} if links else set())
