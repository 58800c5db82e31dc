"""Loops in a stream are found early; what is repeated on purpose is let through."""

from __future__ import annotations

import random
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.turn.reply.repetition_detector import RepetitionDetector

SENTENCE = "I will look at the file and then I will fix the bug in the function. "
PARAGRAPH = (
    "The test fails because the value is wrong, so I need to find out where it comes from.\n"
    "After that I can change it. Let me think about what the function does with its arguments.\n\n"
)


def feed(text: str, *, asked: str = "", piece: int = 5) -> tuple[int, int] | None:
    """Return (characters read, characters kept) when a loop is found, None if none is."""
    detector = RepetitionDetector(asked)
    for at in range(0, len(text), piece):
        if (kept := detector.feed(text[at : at + piece])) is not None:
            return at + piece, kept
    return None


@pytest.mark.parametrize(
    "passage", [SENTENCE, PARAGRAPH, "- Sorry, I am not able to do it.\n", "Yes we can do it! "]
)
@pytest.mark.parametrize("piece", [1, 5, 64, 10_000])
def test_a_loop_is_found_within_200_tokens_and_kept_once(passage: str, piece: int) -> None:
    before = "First I read the tests, which are in the folder of that name.\n"
    text = before + passage * 200
    found = feed(text, piece=piece)
    assert found is not None
    read, kept = found
    if piece < 1000:
        assert read - len(before) - len(passage) <= 800, "characters, four to a token"
    assert len(before) <= kept <= len(before) + 2 * len(passage)
    assert text[:kept].count(passage.strip()[:12]) <= 2


def test_degenerate_output_and_code_are_given_more_room() -> None:
    for passage in ("!", "0, ", "    total = total + 1\n"):
        found = feed("```\n" + passage * 10_000)
        assert found is not None
        assert 4_000 <= found[0] <= 5_200
    assert feed("| yes | no |\n" * 40) is None
    assert feed("=" * 2_000) is None


def test_what_the_user_asked_to_repeat_is_let_through() -> None:
    asked = "Write a hundred times: I must not talk to my neighbour in class."
    assert feed("I must not talk to my neighbour in class.\n" * 100, asked=asked) is None
    assert feed("I must not talk to my neighbour in class.\n" * 100) is not None


def test_numbered_and_varied_repetition_is_no_loop() -> None:
    assert feed("".join(f"{n}. The test of case {n} passes now, as it should.\n" for n in range(400))) is None
    words = ["red", "green", "blue", "white", "black"]
    draw = random.Random(7)
    rows = "".join(
        f"The lamp in room {draw.choice(words)} is {draw.choice(words)} today.\n" for _ in range(400)
    )
    assert feed(rows) is None


def most_repetitive_files(count: int) -> Iterator[str]:
    """Texts of the installed Python that compress best: tables, fixtures, lists of constants."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes()[:30_000].decode("utf-8", "replace")
        if len(text) > 3_000 and "site-packages" not in path.parts:
            texts.append((len(zlib.compress(text.encode(), 1)) / len(text), text))
    yield from (text for _, text in sorted(texts)[:count])


@pytest.mark.slow
def test_no_legitimate_stream_is_stopped() -> None:
    texts = list(most_repetitive_files(200))
    assert len(texts) == 200
    assert [text[:80] for text in texts if feed(text, piece=40) is not None] == []
