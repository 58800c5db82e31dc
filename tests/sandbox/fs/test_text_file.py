"""Text files come back byte for byte, and lines that were not touched keep their bytes."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fs.text_file import BinaryFile, NotInEncoding, decode_text, encode_text

ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
MARKS = st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])
CONTENT = st.one_of(
    st.binary(),
    st.builds(lambda mark, body: mark + body, MARKS, st.binary()),
    st.builds(lambda mark, text: mark + text.encode("utf-16-le"), MARKS, st.text()),
    st.text(alphabet="a\r\n\0é\ufeff").map(str.encode),
    st.text(alphabet="a\r\n").map(lambda text: text.encode("utf-16-be")),
)


@pytest.mark.slow
@given(CONTENT)
def test_every_content_comes_back_unchanged_or_is_refused(content: bytes) -> None:
    try:
        file = decode_text(content)
    except BinaryFile:
        return
    assert encode_text(file.text, file) == content


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.text("xyz", min_size=1, max_size=3), ENDINGS), min_size=1, max_size=12), st.data()
)
def test_lines_that_stay_keep_their_bytes_when_one_is_put_between(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    content = "".join(line + ending for line, ending in lines).encode()
    file = decode_text(content)
    old = file.text.split("\n")
    at = data.draw(st.integers(0, len(old) - 1))
    new = [*old[:at], "NEW", *old[at:]]
    written = encode_text("\n".join(new), file)
    assert written.replace(b"NEW" + file.newline.encode(), b"") == content


@pytest.mark.slow
@given(st.lists(st.sampled_from(["a\n", "b\r\n", "c\n", "d\r\n"]), min_size=2, max_size=10), st.data())
def test_lines_that_stay_keep_their_bytes_when_one_is_taken_out(
    lines: list[str], data: st.DataObject
) -> None:
    file = decode_text("".join(lines).encode())
    at = data.draw(st.integers(0, len(lines) - 1))
    new = file.text.split("\n")
    del new[at]
    assert encode_text("\n".join(new), file) == "".join(lines[:at] + lines[at + 1 :]).encode()


@pytest.mark.slow
@given(st.lists(st.tuples(st.text("xyz", max_size=3), ENDINGS), min_size=1, max_size=12), st.data())
def test_lines_that_are_replaced_keep_their_endings(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    content = "".join(line + ending for line, ending in lines).encode()
    file = decode_text(content)
    old = file.text.split("\n")
    first = data.draw(st.integers(0, len(old) - 1))
    end = data.draw(st.integers(first + 1, len(old)))
    changed = ["NEW" if first <= number < end else line for number, line in enumerate(old)]
    written = decode_text(encode_text("\n".join(changed), file))
    assert written.text == "\n".join(changed)
    if len(old) > 1:
        assert (written.newline, written.exceptions) == (file.newline, file.exceptions)


def test_text_has_one_kind_of_line_ending() -> None:
    file = decode_text(b"a\r\nb\nc\r\n")
    assert (file.text, file.newline, dict(file.exceptions)) == ("a\nb\nc\n", "\r\n", {1: "\n"})


def test_new_lines_take_the_usual_ending() -> None:
    file = decode_text(b"a\r\nb\r\nc\n")
    assert encode_text("a\nnew\nb\nc\nlast\n", file) == b"a\r\nnew\r\nb\r\nc\nlast\r\n"


def test_of_several_lines_in_the_place_of_one_the_first_takes_its_ending() -> None:
    file = decode_text(b"a\r\nb\nc\r\nd\r\n")
    assert encode_text("a\nx\nc\nd\n", file) == b"a\r\nx\nc\r\nd\r\n"
    assert encode_text("a\nx\ny\nc\nd\n", file) == b"a\r\nx\ny\r\nc\r\nd\r\n"


def test_an_ending_spelled_out_in_new_text_is_not_doubled() -> None:
    assert encode_text("a\nnew\r\nb\n", decode_text(b"a\r\nb\r\n")) == b"a\r\nnew\r\nb\r\n"
    assert encode_text("a\nnew\r\nb\nc\n", decode_text(b"a\r\nb\r\nc\n")) == b"a\r\nnew\r\nb\r\nc\n"


@pytest.mark.parametrize(
    ("content", "encoding", "text"),
    [
        ("é\n".encode(), "utf-8", "é\n"),
        ("é\n".encode("latin-1"), "cp1252", "é\n"),
        (codecs.BOM_UTF8 + "é\n".encode(), "utf-8", "é\n"),
        (codecs.BOM_UTF16_LE + "é\r\n".encode("utf-16-le"), "utf-16-le", "é\n"),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "utf-16-be", "é\n"),
        (codecs.BOM_UTF32_LE + "é\n".encode("utf-32-le"), "utf-32-le", "é\n"),
        ("plain\n".encode("utf-16-le"), "utf-16-le", "plain\n"),
        ("plain\n".encode("utf-16-be"), "utf-16-be", "plain\n"),
        (b"old\rmac\r", "utf-8", "old\nmac\n"),
        (b"", "utf-8", ""),
    ],
)
def test_encodings_are_recognised(content: bytes, encoding: str, text: str) -> None:
    file = decode_text(content)
    assert (file.encoding, file.text) == (encoding, text)
    assert encode_text(file.text, file) == content


@pytest.mark.parametrize(
    "content", [b"\0", b"\x7fELF\0\0\1\1", codecs.BOM_UTF16_LE + b"x", b"a\0b", b"GIF89a\0\0"]
)
def test_binary_files_are_refused(content: bytes) -> None:
    with pytest.raises(BinaryFile, match="not text"):
        decode_text(content)


def test_characters_that_the_encoding_lacks_are_refused() -> None:
    with pytest.raises(NotInEncoding, match="iso8859-1, which has no '→'"):
        encode_text("a → b", decode_text(b"# coding: latin-1\n\xe9"))
    with pytest.raises(NotInEncoding):
        encode_text("\ud800", None)


def test_a_new_file_is_plain_utf_8() -> None:
    assert encode_text("é\n", None) == "é\n".encode()
    assert encode_text("a\r\n", None) == b"a\r\n"
