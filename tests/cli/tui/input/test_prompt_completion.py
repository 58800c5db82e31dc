"""What is completed: files and symbols after an @, and what slash commands take; and a picture that is dropped."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.tui.commands.command_table import COMMANDS, GROUPS
from cli.tui.input.pastes import Pastes
from cli.tui.input.symbol_names import SymbolNames
from tests.support.cli import git
from tests.support.talking import AT_SIZES, ask, at_rest, leave, log_of, logs, prompted, talk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
TAB, DOWN = "\t", "\x1b[B"


def test_every_command_stands_in_one_group_of_the_help() -> None:
    names = [each.name for each in COMMANDS]
    assert len(names) == len(set(names)) == sum(map(len, GROUPS.values()))
    wanted = (
        "help model mode plan diff undo redo rewind fork resume sessions compact context cost tests commit review"
        " localize repair memory init mcp hooks trace export settings clear quit"
    )
    assert {f"/{name}" for name in wanted.split()} <= set(names)
    assert all(each.help and each.usage.startswith(each.name) for each in COMMANDS)


@pytest.mark.slow
@AT_SIZES
def test_symbols_come_with_where_they_are_and_go_into_the_prompt(columns: int, rows: int, shop: Path) -> None:
    (shop / "basket.py").write_text("class Basket:\n    def total_weight(self):\n        return 0\n")
    with talk(
        shop,
        [{"text": "Seen.", "expect": ["@basket.py:Basket.total_weight"]}],
        columns=columns,
        rows=rows,
    ) as terminal:
        at_rest(terminal)
        terminal.type("look at @total")
        terminal.wait("function · car")
        terminal.wait("Basket.total_weight")
        assert "method · b" in terminal.text  # cut in a narrow window
        terminal.type("_we" + TAB)  # before what fits has been gathered
        terminal.wait(lambda: "❯ look at @basket.py:Basket.total_weight" in terminal.text.replace("\n  ", ""))
        terminal.type("\r\r")
        terminal.wait("Seen.")
        at_rest(terminal)
        leave(terminal)


@pytest.mark.slow
def test_symbols_come_also_where_files_are_shown_already(shop: Path) -> None:
    """The first look at the code takes a while; what fits among the files is there before."""
    (shop / "total.txt").write_text("1\n")
    with talk(shop, [], columns=100) as terminal:
        at_rest(terminal)
        terminal.type("look at @total")
        terminal.wait("total.txt")
        terminal.wait("cart.py:1")
        terminal.type("\x15")
        leave(terminal)


@pytest.mark.slow
@AT_SIZES
def test_models_are_offered_from_settings_use_and_keys(columns: int, rows: int, shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(
        '[models]\nfast = "ollama/quick"\nfallback = ["local/spare"]\n'
    )
    with talk(shop, [], columns=columns, rows=rows, ANTHROPIC_API_KEY="sk-ant-x") as terminal:
        at_rest(terminal)
        terminal.type("/model qui")
        terminal.wait("ollama/quick")
        assert "your settings" in terminal.text
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("\x15/model spa")
        terminal.wait("local/spare")
        terminal.type("\x15/model claude-")
        terminal.wait("anthropic/claude-")
        assert "openai/" not in terminal.text  # there is no key for it
        terminal.type("\x15")
        at_rest(terminal)


@pytest.mark.slow
@AT_SIZES
def test_branches_and_commits_are_offered_for_a_review_and_hooks_are_listed(
    columns: int, rows: int, shop: Path
) -> None:
    git(shop, "branch", "spring-sale")
    short = git(shop, "log", "-1", "--format=%h").strip()
    with talk(shop, [], columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("/review spr")
        terminal.wait("branch: Start")
        terminal.type(f"\x15/review {short[:3]}")
        terminal.wait(f"{short}  ")
        terminal.type("\x15/hooks\r")
        terminal.wait("hook install")
        at_rest(terminal)
        assert re.search(r"pre-commit\s+not installed", terminal.everything)
        leave(terminal)


@pytest.mark.slow
def test_a_picture_that_is_dropped_or_pasted_is_sent(shop: Path, tmp_path: Path) -> None:
    picture = tmp_path / "my shot.png"
    picture.write_bytes(PNG)
    answers = ["A picture.", "The same.", "Another one."]
    with talk(shop, [{"text": each} for each in answers], columns=160) as terminal:
        at_rest(terminal)
        for quoting, answer in zip(("'{}'", '"{}"'), answers, strict=False):
            terminal.type("what is ")
            terminal.paste(quoting.format(picture))
            terminal.wait(lambda: prompted(terminal) == f'what is @"{picture}"')
            ask(terminal, "?", answer)
        terminal.type("what is ")
        large = PNG + bytes(9_000)
        url = f"data:image/png;base64,{b64encode(large).decode()}"
        terminal.paste(url)  # long enough to be folded
        terminal.wait(f"❯ what is [pasted {len(url)} characters]")
        ask(terminal, "?", answers[2])
        *dropped, pasted = [event for event in log_of(shop) if event["kind"] == "prompt"]
        assert [len(each["images"]) for each in dropped] == [1, 1]
        assert pasted["text"] == "what is [image 1]?"
        [name] = pasted["images"]
        [kept] = logs()[0].parent.rglob(name)
        assert kept.read_bytes() == large
        leave(terminal)


def test_only_the_path_of_a_picture_becomes_a_mention(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    (tmp_path / "a.txt").write_text("a")
    pastes = Pastes()
    mention = (
        f'@"{picture}" ' if " " in str(picture) else f"@{picture} "
    )  # as a folder for tests may be called
    assert pastes.fold_paste(picture.as_uri()) == mention
    escaped = str(picture).replace(" ", "\\ ").replace("a.png", "\\a.png")
    assert pastes.fold_paste(escaped) == mention
    for text in (
        f"{picture} {picture}",
        f"see {picture}",
        f"{tmp_path}/none.png",
        f"{tmp_path}/a.txt",
        "it's",
    ):
        assert pastes.fold_paste(text) == text


def test_names_are_looked_up_behind_the_typing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Cart:\n    def total(self): ...\n\ndef tidy(): ...\n")
    arrived = threading.Event()
    names = SymbolNames(tmp_path, tmp_path / "cache", arrived=arrived.set)
    assert names.find_matching("t", 9) == []  # too much would fit
    assert names.find_matching("tot", 9) == []
    assert arrived.wait(60)
    assert [each.name for each in names.find_matching("tot", 9)] == ["Cart.total"]
    assert [each.name for each in names.find_matching("cart.t", 9)] == ["Cart.total"]
    assert [each.line for each in names.find_matching("tidy", 9)] == [4]


@pytest.mark.slow
def test_what_a_completion_is_about_can_be_read(shop: Path) -> None:
    """On the terminal's own background, in a colour that is not the background's."""
    with talk(shop, []) as terminal:
        at_rest(terminal)
        terminal.type("/sess")
        terminal.wait("this project's sessions")
        row = next(y for y, line in enumerate(terminal.screen.display) if "this project's sessions" in line)
        cell = terminal.screen.buffer[row][terminal.screen.display[row].index("this project")]
        assert (cell.bg, cell.reverse) == ("default", False)
        assert cell.fg == "brightblack"
