"""The frame of a question: nothing of a command is cut, answers stand below each other, and it fits its rows."""

from __future__ import annotations

import asyncio

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from cli.output.style.terminal import Terminal
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
        assert any("more lines" in row for row in shown)
        assert format_whole_question(frame.question, 80).count("日") == 60


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
    assert answer(["z"], "") is None
