"""Bodies that a server compresses unasked: read where they are whole, and an error of one line where they are not."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.model.http.body_decoding import BodyDecoder, DamagedBody
from tests.support.cli import run
from tests.support.raw_endpoint import RawAnswer, RawEndpoint, format_events
from tests.support.repo import Repo

MOST = 1000


def decode(encoding: str, body: bytes, *, size: int = 7) -> bytes:
    decoder = BodyDecoder(encoding, MOST)
    pieces = [
        each for start in range(0, len(body), size) for each in decoder.feed(body[start : start + size])
    ]
    decoder.finish()
    assert all(len(each) <= MOST for each in pieces)
    return b"".join(pieces)


TEXT = b"data: {}\n\n" * 2000
WHOLE = gzip.compress(TEXT)
DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
RAW = DEFLATE.compress(TEXT) + DEFLATE.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", WHOLE),
        ("x-gzip", WHOLE),
        ("gzip", gzip.compress(TEXT[:500]) + gzip.compress(TEXT[500:])),
        ("gzip", WHOLE + b"\0" * 20),
        ("gzip", TEXT),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", RAW),
    ],
    ids=["gzip", "x-gzip", "members", "zeros", "decoded before", "deflate", "raw deflate"],
)
def test_a_whole_body_is_read(encoding: str, body: bytes) -> None:
    assert decode(encoding, body) == TEXT
    assert decode(encoding, body, size=len(body)) == TEXT


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", WHOLE[:-20]),
        ("gzip", WHOLE[:-8]),
        ("gzip", WHOLE[:-8] + b"\0\0\0\0" + WHOLE[-4:]),
        ("gzip", WHOLE + b"more"),
        ("gzip", b"\x1f\x8b\x08" + bytes(range(100))),
        ("gzip", b"\xff" * 50),
        ("deflate", zlib.compress(TEXT)[:-3]),
        ("br", b"\x0b\x02\x80"),
        ("zstd", b"\x28\xb5\x2f\xfd"),
    ],
    ids=["cut", "no checksum", "wrong checksum", "more", "no blocks", "no gzip", "cut deflate", "br", "zstd"],
)
def test_a_damaged_body_is_an_error(encoding: str, body: bytes) -> None:
    with pytest.raises(DamagedBody):
        decode(encoding, body)


def _make_chunk(delta: Mapping[str, str], end: str | None) -> object:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
    }


STREAM = format_events(_make_chunk({"content": "The answer is 42."}, None), _make_chunk({}, "stop"), "[DONE]")
MESSAGE = {"role": "assistant", "content": "The answer is 42."}
OBJECT = json.dumps({"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}).encode()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "body"), [("text/event-stream", STREAM), ("application/json", OBJECT)])
@pytest.mark.parametrize("cut", [0, 8], ids=["whole", "cut"])
def test_a_reply_is_taken_only_if_its_body_is_whole(tmp_path: Path, kind: str, body: bytes, cut: int) -> None:
    packed = gzip.compress(body)
    sent = RawAnswer(
        pieces=[packed[: len(packed) - cut]],
        kind=kind,
        framing="length",
        headers={"Content-Encoding": "gzip"},
    )
    repo = Repo(tmp_path / "r")
    with RawEndpoint(lambda request, before: sent) as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "k"}
        ended = run("run", "what is the answer?", "--model", "openai/gpt-4o", cwd=repo.root, env=env)
    if not cut:
        assert (ended.code, ended.out) == (0, "The answer is 42.\n"), ended.err
        return
    assert ended.code == 7, ended.err
    assert "Traceback" not in ended.err
    assert "its answer is damaged: its gzip data has no end" in " ".join(ended.err.split())
