"""A model's file tells its size; what is no model's file is refused in one line, whatever is in it."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest

from agent.model.gguf.gguf_file import GgufFacts, read_gguf
from agent.model.gguf.memory_plan import KEPT_FREE, WORKING, choose_window
from sandbox.errors import UserError
from tests.support.gguf_files import TOY, write_gguf


def test_window_and_cache_are_read(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "toy.gguf")
    assert read_gguf(file) == GgufFacts(bytes=file.stat().st_size, window=32_768, cache=2 * 4 * 2 * (16 + 16))
    lengths = {"toy.attention.key_length": 96, "toy.attention.value_length": 32}
    by_layer = {**lengths, **TOY, "toy.attention.head_count_kv": [1, 2, 2, 1]}
    assert read_gguf(write_gguf(tmp_path / "other.gguf", by_layer)).cache == 2 * 4 * 2 * (96 + 32)
    last = {**dict(reversed(TOY.items()))}  # vocabularies first
    assert read_gguf(write_gguf(tmp_path / "last.gguf", last)).window == 32_768


def test_what_is_no_model_is_refused_in_a_line(tmp_path: Path) -> None:
    pipe, cut = tmp_path / "pipe.gguf", tmp_path / "cut.gguf"
    os.mkfifo(pipe)
    cut.write_bytes(write_gguf(tmp_path / "toy.gguf").read_bytes()[:60])
    (tmp_path / "text.gguf").write_text("not a model")
    (tmp_path / "old.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 1, 0, 0))
    (tmp_path / "huge.gguf").write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62))
    write_gguf(tmp_path / "vision.gguf", {"general.architecture": "clip"})
    told = {
        "none.gguf": "cannot be read: No such file", "pipe.gguf": "is no file", "cut.gguf": "is a damaged GGUF file",
        "text.gguf": "is not a GGUF file", "old.gguf": "is a damaged GGUF file", "huge.gguf": "is a damaged GGUF file",
        "vision.gguf": "holds no language model", ".": "cannot be read",
    }  # fmt: skip
    for name, words in told.items():
        with pytest.raises(UserError, match=words) as caught:
            read_gguf(tmp_path / name)
        assert "\n" not in caught.value.message
        assert "gguf:" in caught.value.hint


def test_a_damaged_header_is_an_error_of_its_own(tmp_path: Path) -> None:
    content = bytearray(write_gguf(tmp_path / "toy.gguf").read_bytes())
    dice = random.Random(7)
    for number in range(400):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[dice.randrange(4, len(damaged))] = dice.randrange(256)
        file = tmp_path / "damaged.gguf"
        file.write_bytes(damaged)
        try:
            assert read_gguf(file).bytes == len(damaged), number
        except UserError:
            continue


def test_the_window_is_the_largest_that_the_memory_has_room_for(tmp_path: Path) -> None:
    facts = GgufFacts(bytes=1 << 30, window=32_768, cache=32 << 10)
    fixed = facts.bytes + WORKING + KEPT_FREE
    assert choose_window(facts, tmp_path, free=fixed + 16_384 * facts.cache) == 16_384
    assert choose_window(facts, tmp_path, free=fixed + 16_384 * facts.cache - 1) == 8_192
    assert choose_window(facts, tmp_path, free=fixed + 5_000 * facts.cache) == 4_096
    assert choose_window(facts, tmp_path, 32_768, free=64 << 30) == 32_768
    assert choose_window(GgufFacts(bytes=1, window=2_048, cache=1), tmp_path, free=64 << 30) == 2_048
    with pytest.raises(
        UserError, match=r"'big.gguf' needs 2\.\d GB of memory, and 1\.0 GB are free"
    ) as caught:
        choose_window(facts, tmp_path / "big.gguf", free=1 << 30)
    assert "model stop" in caught.value.hint
