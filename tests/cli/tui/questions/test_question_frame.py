"""The frame of a question: nothing of a command is cut, answers stand below each other, and it fits its rows."""

from __future__ import annotations

import asyncio
import re

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from cli.output.style.terminal import Terminal
from cli.output.style.theme import choose_theme
from cli.tui.frontend import Answer, Option, Question
from cli.tui.questions.question_frame import Frame, format_whole_question
from cli.tui.questions.question_prompt import QuestionPrompt

OPTIONS = (
    Option(name="once", key="y", label="Yes, once"),
    Option(name="rule", key="r", label="Yes, always", line="rule to store:", text="shell(ls *)"),
    Option(name="no", key="n", label="No"),
)


def make_frame(columns: int, rows: int, what: str, *, unicode: bool = True) -> Frame:
    terminal = Terminal(tty=True, dumb=False, colour=True, unicode=unicode, columns=columns, rows=rows)
    question = Question(title="Allow shell?", what=what, why="it runs code", options=OPTIONS, otherwise="no")
    return Frame(question=question, terminal=terminal, rows=rows)


def read_rows(frame: Frame) -> list[str]:
    return ["".join(text for _, text in row) for row in frame.format_rows()]


@pytest.mark.parametrize("columns", [40, 80, 160])
@pytest.mark.parametrize("rows", [8, 15, 30])
def test_it_keeps_to_its_rows_and_columns(columns: int, rows: int) -> None:
    frame = make_frame(columns, rows, "echo " + "日本語 " * 60)
    shown = read_rows(frame)
    assert len({len(row) + sum(each in "日本語" for each in row) for row in shown}) == 1
    assert len(shown) <= max(rows, 9)
    if not frame.fits:
        assert any(" lines: " in row for row in shown)
        assert format_whole_question(frame.question, frame.terminal).count("日") == 60


def test_every_part_of_a_command_is_shown_where_there_is_room() -> None:
    shown = read_rows(make_frame(60, 40, "x" * 300))
    assert "".join(shown).count("x") == 300
    assert [row[4] for row in shown if row[2:4] in ("❯ ", "  ") and row[4:5] in "yrn"] == ["y", "r", "n"]


def test_without_unicode_it_is_drawn_in_ascii() -> None:
    assert "".join(read_rows(make_frame(60, 30, "ls", unicode=False))).isascii()


def answer(keys: list[str], typed: str = "") -> Answer | None:
    """The answer that keys give while a text stands in the prompt; None if there is none yet."""

    async def press() -> Answer | None:
        buffer = Buffer(document=Document(typed))
        asked: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        question = Question(title="Allow?", options=OPTIONS, otherwise="no")
        prompt = QuestionPrompt(question, asked, came=0.0)
        for key in keys:
            match key:
                case "down" | "up":
                    prompt.move(1 if key == "down" else -1)
                case "enter" if prompt.typing is not None:
                    prompt.accept_line(buffer)
                case "enter":
                    prompt.take_current(buffer)
                case "escape":
                    prompt.refuse()
                case _:
                    prompt.press_key(key, buffer)
        assert asked.done() or buffer.text in (typed, "shell(ls *)")
        return asked.result() if asked.done() else None

    return asyncio.run(press())


@pytest.mark.parametrize(
    ("keys", "typed", "name"),
    [
        (["y"], "", "once"),
        (["3"], "", "no"),
        (["enter"], "", "once"),
        (["up", "enter"], "", "no"),
        (["r", "enter"], "", "rule"),
        (["escape"], "half", "no"),
        (["down", "down", "enter"], "half a line", "no"),
    ],
)
def test_letters_digits_and_arrows_answer(keys: list[str], typed: str, name: str) -> None:
    given = answer(keys, typed)
    assert given is not None
    assert given.name == name
    assert given.text == ("shell(ls *)" if name == "rule" else "")


def test_enter_that_was_meant_for_a_text_answers_nothing() -> None:
    assert answer(["enter"], "half a line") is None
    assert answer([*"/model", "enter"], "") is None
    given = answer([*"/model", "up", "enter"], "")
    assert given is not None
    assert given.name == "no"


HIDDEN = "a\u00a0b\u202ec\x1b[8md\te\rf\u200d"
ESCAPED = r"a<U+00A0>b<U+202E>c\x1b[8md\te\x0df<U+200D>"


def make_diff(*lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    return f"--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,{len(lines)} @@\n{body}"


def make_change_frame(
    change: str, columns: int, rows: int, *, colour: bool = True, what: str = "x.py"
) -> Frame:
    terminal = Terminal(tty=True, dumb=False, colour=colour, unicode=True, columns=columns, rows=rows)
    question = Question(title="Allow edit?", what=what, change=change, options=OPTIONS, otherwise="no")
    return Frame(question=question, terminal=terminal, rows=rows)


@pytest.mark.parametrize("theme", ["dark", "light", "mono"])
@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_every_character_of_a_change_is_seen(theme: str, colour: bool, columns: int) -> None:
    choose_theme(theme)
    digits = str.maketrans("0123456789", "abcdefghij")
    long = "".join(f"{number:05}" for number in range(1_800)).translate(digits)  # elsewhere it would be cut
    frame = make_change_frame(make_diff(HIDDEN, long, "    last"), columns, 400, colour=colour)
    assert frame.fits
    whole = re.sub(r"\x1b\[[0-9;]*[mK]", "", format_whole_question(frame.question, frame.terminal))
    for shown in ("".join(read_rows(frame)), whole):
        assert ESCAPED.replace("+", "") in re.sub(r"[│\s+]", "", shown)
        assert long in re.sub(r"[│\s\d+]", "", shown)
    choose_theme("terminal")


def test_a_change_is_a_diff_on_backgrounds_with_its_words_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    choose_theme("dark")
    diff = (
        "--- a/x.py\n+++ b/x.py\n@@ -7,2 +7,2 @@\n def total():\n-    return a + one\n+    return a + two\n"
    )
    frame = make_change_frame(diff, 100, 30)
    rows = frame.format_rows()
    added = next(row for row in rows if any("two" in text for _, text in row))
    assert "".join(text for _, text in added).startswith("│     8 +     return a + two")
    grounds = {style.partition("bg:")[2][:7] for style, text in added if "bg:" in style}
    assert grounds == {"#12301c", "#1f6b3a"}
    assert next(style for style, text in added if text == "two").count("#1f6b3a") == 1
    choose_theme("terminal")


def test_a_change_is_folded_and_the_command_is_not() -> None:
    change = make_diff(*(f"x{number} = {number}" for number in range(300)))
    frame = make_change_frame(change, 80, 20)
    shown = read_rows(frame)
    assert len(shown) <= 20
    assert not frame.fits
    assert frame.has_whole_command
    hidden = next(row for row in shown if "lines: v prints all" in row)
    drawn = sum(" + x" in row for row in shown)
    assert f"+{300 - drawn} lines" in hidden
    assert all(
        f"x{number} = {number}\n" in re.sub(r"\x1b\[[0-9;]*[mK]", "", whole) + "\n"
        for number in (0, 299)
        for whole in [format_whole_question(frame.question, frame.terminal)]
    )
    narrow = make_change_frame(change, 40, 10, what="a/long/path/" * 20)
    assert not narrow.has_whole_command
    assert any("above, and v prints" in row for row in read_rows(narrow))
