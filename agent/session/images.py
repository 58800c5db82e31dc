"""Images of a prompt: extracted from its text, stored with the log, and added to requests."""

from __future__ import annotations

import base64
import binascii
import errno
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent.app_dirs import make_private_folder
from agent.model.protocol import Image
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_pattern import compile_lazily
from tools.core.untrusted_output import mask_foreign_text

FOLDER = "images"
"""Folder next to the log; each file is named by its content."""

LARGEST = 3_700_000
"""Largest image in bytes: five million as base64, the lowest limit of a large provider."""

MOST = 10
"""Images per prompt."""

_KINDS = {
    b"\x89PNG\r\n\x1a\n": ("image/png", "png"),
    b"\xff\xd8\xff": ("image/jpeg", "jpg"),
    b"GIF8": ("image/gif", "gif"),
}
"""First bytes of files of each kind; WebP's name comes later."""

_MENTION = compile_lazily(
    r"(?<![^\s(])@(?:\"([^\"\n]+)\"|'([^'\n]+)'|(\S+?\.(?:png|jpe?g|gif|webp)))(?![\w/.])", re.IGNORECASE
)
_DATA = compile_lazily(r"data:image/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/]{40,}={0,2})")


def attach_images(prompt: str, root: Path, session: Path) -> tuple[str, list[str]]:
    """Return the prompt and the names of its images, which are stored with the session's log.

    An image is mentioned as `@file.png` (from `root`, absolute, or from the home folder with `~`) or
    contained as a data URL, which the text replaces by `[image 1]`. Raises UserError for one too large, or
    too many.
    """
    names: list[str] = []
    own = mask_foreign_text(prompt)  # from texts of others nothing is attached
    for match in _MENTION.finditer(own) if "@" in own else ():
        path = Path(match[1] or match[2] or match[3])
        if (content := _read_image_file(root, path)) is not None:
            names.append(_store_image(content, session, str(path)))

    def replace_data_url(match: re.Match[str]) -> str:
        try:
            content = base64.b64decode(match[1], validate=True)
        except binascii.Error:  # malformed: left unchanged
            return match[0]
        if _detect_image_type(content) is None:
            return match[0]
        names.append(_store_image(content, session, "the pasted image"))
        return f"[image {len(names)}]"

    parts, end = [], 0
    for match in _DATA.finditer(own) if "data:image/" in own else ():
        parts += [prompt[end : match.start()], replace_data_url(match)]
        end = match.end()
    if len(names) > MOST:
        raise UserError(Fault.USAGE, f"{len(names)} images in one prompt", f"Give at most {MOST} at a time.")
    return "".join([*parts, prompt[end:]]), list(dict.fromkeys(names))


def defuse_mentions(text: str) -> str:
    """Return a text of somebody else's in which no image is mentioned any more: a space follows the @."""
    return _MENTION.sub(lambda match: f"@ {match[0][1:]}", text)


def keep_pictures(pictures: Iterable[bytes], session: Path) -> list[str]:
    """Store pictures of results with the session's log; return the names of those that providers take."""
    from agent.session.image_checks import drop_damaged_extras, find_image_fault

    names = []
    for content in map(drop_damaged_extras, pictures):
        if not derive_image_name(content) or find_image_fault(content):
            continue
        with suppress(UserError):  # a full disk: the result goes on without it
            names.append(_store_image(content, session, "a picture of a result"))
    return names


def load_image(session: Path, name: str) -> Image | None:
    """Return an image of the session, None if it is missing, or damaged: providers refuse the whole request then."""
    if "/" in name or name.startswith("."):
        return None
    try:
        content = (session / FOLDER / name).read_bytes()
    except (OSError, ValueError):  # a log that was copied without its images: only the text is sent
        return None
    from agent.session.image_checks import find_image_fault

    kind = _detect_image_type(content) if not find_image_fault(content) else None
    return Image(media=kind[0], data=base64.b64encode(content).decode()) if kind else None


def _read_image_file(root: Path, path: Path) -> bytes | None:
    """Return the file's bytes if it is an image, so that a word that only looks like one attaches nothing."""
    try:
        path = root / path.expanduser()
        if not path.is_file() or path.stat().st_size > 50 * LARGEST:
            return None
        content = path.read_bytes()
    except (OSError, RuntimeError):  # not readable, or `~nobody`, without a home folder
        return None
    return content if _detect_image_type(content) else None


def _detect_image_type(content: bytes) -> tuple[str, str] | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp", "webp"
    return next((kind for head, kind in _KINDS.items() if content.startswith(head)), None)


def derive_image_name(content: bytes) -> str:
    """Return the file name of an image in a session, "" if models do not accept its format."""
    import hashlib

    kind = _detect_image_type(content) if len(content) <= LARGEST else None
    return f"{hashlib.sha256(content).hexdigest()[:16]}.{kind[1]}" if kind else ""


def _store_image(content: bytes, session: Path, called: str) -> str:
    if len(content) > LARGEST:
        size = f"{len(content) / 1e6:.1f} MB"
        raise UserError(
            Fault.USAGE,
            f"{called!r} is too large for a model ({size})",
            f"Make it smaller than {LARGEST / 1e6:.1f} MB.",
        )
    name = derive_image_name(content)
    assert name, "it was looked at"
    path = make_private_folder(session / FOLDER) / name
    if not path.exists() or path.stat().st_size != len(content):
        _write_atomically(path, content)
    return name


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_private_file(draft, content)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):  # it may not exist
            draft.unlink()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise UserError(
            Fault.STORAGE_FULL if full else Fault.READ_ONLY,
            f"the picture could not be kept in {str(path.parent)!r}: {error.strerror}",
        ) from error
