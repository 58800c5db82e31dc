"""Streams that turn into junk are stopped; texts in any language, and in several, are not."""

from __future__ import annotations

import pytest

from agent.turn.reply.junk_detector import SPAN, JunkDetector
from tests.support.weak_model import draw_junk


def feed(text: str, asked: str = "") -> int | None:
    detector = JunkDetector(asked)
    for at in range(0, len(text), 7):
        if (kept := detector.feed(text[at : at + 7])) is not None:
            return kept
    return None


@pytest.mark.parametrize("seed", range(5))
def test_junk_is_found_soon_and_what_came_before_is_kept(seed: int) -> None:
    before = "I look at the function first. It adds the prices of the cart.\n"
    kept = feed(before + draw_junk(seed))
    assert kept is not None
    assert 0 <= kept - len(before) < 60
    detector, fed = JunkDetector(), 0
    for word in draw_junk(seed).split():
        fed += len(word) + 1
        if detector.feed(f"{word} ") is not None:
            break
    assert fed <= SPAN


def test_broken_characters_are_junk() -> None:
    assert feed("Here: " + "\N{REPLACEMENT CHARACTER}a " * 200) == len("Here: ")


@pytest.mark.parametrize(
    "text",
    [
        "Функция total складывает цены API-ключом; git'ом её не меняли, см. cart.py. ",
        "関数totalは価格をcart.pyで合計します。テストはpytestで実行し、結果をJSONに書きます。",
        "函数total在cart.py中求和，然后用pytest运行测试。",
        "함수total은 cart.py에서 값을 더합니다. pytest로 테스트합니다. ",
        "English: Hello. Русский: Привет. 中文: 你好. العربية: مرحبا. עברית: שלום. ไทย: สวัสดี. ",
        "Δx is 3 µs, αβ-pruning, naïve café, Straße, Øre, pâté. ",
        "{'ru': 'Привет', 'he': 'שלום', 'th': 'สวัสดี', 'ka': 'გამარჯობა'} ",
        "for x in range(10):\n    print(x)\n",
    ],
)
def test_real_text_is_never_junk(text: str) -> None:
    assert feed(text * 40) is None


def test_words_like_those_that_the_user_wrote_are_no_junk() -> None:
    assert feed(draw_junk(1), asked="What is wrong with the word abвгд?") is None
