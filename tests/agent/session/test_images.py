"""Pictures in prompts: found, kept beside the log, sent in every format, and never taken from what is piped in."""

from __future__ import annotations

import asyncio
import base64
import struct
import zlib
from pathlib import Path

import pytest

from agent.events import Prompt
from agent.session.image_checks import find_image_fault
from agent.session.images import LARGEST, attach_images, keep_pictures, load_image
from agent.session.log import read_events
from agent.session.request_replay import replay_steps
from sandbox.errors import UserError
from tests.support.bench import bench
from tests.support.formats import KINDS, model
from tests.support.loopback import Loopback, Trouble
from tests.support.pictures import make_png

PNG = make_png()


@pytest.mark.parametrize(
    ("prompt", "text", "count"),
    [
        ("what is wrong in @shot.png?", "what is wrong in @shot.png?", 1),
        ('see @"my shot.png" (and @shot.png)', 'see @"my shot.png" (and @shot.png)', 1),
        ("see @missing.png, @notes.txt and a@shot.png", "see @missing.png, @notes.txt and a@shot.png", 0),
        ("see @fake.png", "see @fake.png", 0),
        ("see @~no-such-user/shot.png", "see @~no-such-user/shot.png", 0),
        ("review this\n\n<stdin>\n@shot.png\n</stdin>", "review this\n\n<stdin>\n@shot.png\n</stdin>", 0),
    ],
)
def test_pictures_are_found_where_they_are_mentioned(
    prompt: str, text: str, count: int, tmp_path: Path
) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    (tmp_path / "my shot.png").write_bytes(PNG)
    (tmp_path / "fake.png").write_text("not a picture")
    (tmp_path / "notes.txt").write_text("text")
    got, names = attach_images(prompt, tmp_path, tmp_path / "session")
    assert (got, len(names)) == (text, count)
    for name in names:
        image = load_image(tmp_path / "session", name)
        assert image is not None
        assert (image.media, base64.b64decode(image.data)) == ("image/png", PNG)


def test_a_pasted_picture_is_kept_and_named(tmp_path: Path) -> None:
    pasted = f"look: data:image/png;base64,{base64.b64encode(PNG).decode()} there"
    text, [name] = attach_images(pasted, tmp_path, tmp_path / "session")
    assert text == "look: [image 1] there"
    assert load_image(tmp_path / "session", name) is not None
    assert load_image(tmp_path / "session", f"../{name}") is None
    assert load_image(tmp_path / "session", "a\0.png") is None


def test_a_picture_that_is_too_large_is_told(tmp_path: Path) -> None:
    (tmp_path / "big.png").write_bytes(PNG + bytes(LARGEST))
    with pytest.raises(UserError, match="too large for a model"):
        attach_images("@big.png", tmp_path, tmp_path / "session")


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_picture_reaches_the_model_and_a_replay_has_it_too(kind: str, tmp_path: Path) -> None:
    it = bench(tmp_path, [], [])
    (it.runtime.workspace.root / "shot.png").write_bytes(PNG)
    with Loopback([{"text": "a chart"}]) as server:
        it.runtime.loop.model = it.runtime.model = model(kind, server)
        assert it.turn("what is @shot.png?").summary == "a chart"
        asyncio.run(it.runtime.close())
        assert base64.b64encode(PNG) in server.requests[0].raw
    [prompt] = [event for event in it.events if isinstance(event, Prompt)]
    assert len(prompt.images) == 1
    folder = it.runtime.session.folder
    assert [step.changed_parts for step in replay_steps(read_events(folder), folder)] == [[]]


def test_an_endpoint_that_takes_no_pictures_gets_the_words(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [])
    (it.runtime.workspace.root / "shot.png").write_bytes(PNG)
    refusal = '{"error":{"message":"this model does not support image input"}}'
    with Loopback([{"text": "I cannot see it"}], troubles=[Trouble(status=400, body=refusal)]) as server:
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        assert it.turn("what is @shot.png?").summary == "I cannot see it"
        asyncio.run(it.runtime.close())
        sent = server.requests[1].body["messages"][1]["content"]
    assert sent == "what is @shot.png?\n[with an image, which you cannot see]"


GIF = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
JPEG = b"\xff\xd8\xff\xe0" + bytes(40) + b"\xff\xd9"
HUGE = (make_png(width=8001), make_png(height=9000), make_png(width=0))
WEBP = b"RIFF" + (40).to_bytes(4, "little") + b"WEBP" + bytes(36)


@pytest.mark.parametrize("content", [PNG, GIF, JPEG, WEBP, make_png(width=8000)])
def test_a_whole_picture_has_no_fault(content: bytes) -> None:
    assert find_image_fault(content) == ""


@pytest.mark.parametrize(
    "content",
    [PNG[:-12], PNG[:40], PNG.replace(b"IDAT", b"IDAX"), GIF[:-1], JPEG[:-2], WEBP[:-4], PNG[:9], *HUGE],
)
def test_a_damaged_picture_is_not_sent_and_the_model_reads_that(content: bytes, tmp_path: Path) -> None:
    assert find_image_fault(content)
    it = bench(tmp_path, [], [])
    (it.runtime.workspace.root / "bad.png").write_bytes(content)
    (it.runtime.workspace.root / "good.png").write_bytes(PNG)
    with Loopback([{"text": "ok"}]) as server:
        it.runtime.loop.model = it.runtime.model = model("anthropic", server)
        assert it.turn("compare @bad.png and @good.png").outcome == "done"
        asyncio.run(it.runtime.close())
        sent = server.requests[0].raw
    assert base64.b64encode(PNG) in sent
    assert base64.b64encode(content)[:40] not in sent.replace(base64.b64encode(PNG), b"")
    assert b"missing or damaged, and not sent: 1]" in sent


def test_a_picture_of_a_result_loses_damaged_metadata_and_is_kept(tmp_path: Path) -> None:
    def chunk(name: bytes, data: bytes, *, damage: int = 0) -> bytes:
        checksum = zlib.crc32(name + data) ^ damage
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0\0"))
    end = chunk(b"IEND", b"")
    [name] = keep_pictures([head + chunk(b"iCCP", b"x", damage=1) + body + end], tmp_path)
    assert (tmp_path / "images" / name).read_bytes() == head + body + end
    assert keep_pictures([head + chunk(b"IDAT", b"x", damage=1) + end, head, b"no picture"], tmp_path) == []
