"""Copies of sessions: fork, export and import."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from agent.app_dirs import make_private_folder
from agent.events import Event, Fork, NewerFormat, encode_line, render_event
from agent.session.foreign_log import MAX_ARTIFACT, filter_line
from agent.session.images import FOLDER as IMAGES
from agent.session.images import derive_image_name
from agent.session.log import Session, read_events
from sandbox.errors import Fault, UserError
from sandbox.parsed_data import parse_json
from sandbox.secrets.child_environment import redact_bytes

EXPORT_FORMAT, WITH_IMAGES = 1, 2
"""Version of the export: a head, the events as in the log, the artifacts; one JSON object per line. The
second also holds images, where there are any."""

MAX_DIGITS = 9
"""Digits of an artifact's number: more would not fit into a file name."""


def create_fork(
    folder: Path,
    at: str = "",
    *,
    title: str = "",
    convert: Callable[[Event], Event] = lambda event: event,
) -> Session:
    """Create a session with the history of the one in `folder` up to event `at` (default: the last one).

    convert: applied to each event, such as `strip_local_state` for a fork that works on other files
    The original is only read, so it may be open. Raises UserError when there is no such session or event.
    """
    lines: list[bytes] = []
    found = False
    for event in _read_session(folder):
        lines.append(render_event(convert(event)))
        if event.id == at:
            found = True
            break
    if not lines or (at and not found):
        raise UserError(
            Fault.USAGE,
            f"session {folder.name!r} has no event {at!r}" if at else f"session {folder.name!r} is empty",
        )
    copy = _write_new_session(folder.parent, lines)
    for shared in ("artifacts", IMAGES):
        _link_files(folder / shared, copy / shared)
    session = Session.open(copy)
    session.append(Fork(origin=folder.name, at=at or f"e{len(lines)}"))
    if title:
        session.rename(title)
    return session


def export_to_stream(folder: Path, to: IO[bytes]) -> None:
    """Write a session with all branches, artifacts and images as JSON lines. Raises UserError if there is none."""
    images = sorted((folder / IMAGES).glob("[!.]*"))
    version = WITH_IMAGES if images else EXPORT_FORMAT
    to.write(encode_line({"patchwright_export": version, "session": folder.name}))
    for event in _read_session(folder):
        to.write(render_event(event))
    for path in sorted((folder / "artifacts").glob("out-*"), key=lambda each: (len(each.name), each.name)):
        content = base64.b64encode(path.read_bytes()).decode("ascii")
        to.write(encode_line({"artifact": path.name.replace("out-", "out:"), "base64": content}))
    for path in images:
        content = base64.b64encode(path.read_bytes()).decode("ascii")
        to.write(encode_line({"image": path.name, "base64": content}))


def import_from_stream(source: IO[bytes], sessions: Path) -> Session:
    """Create a session below `sessions` from an export.

    The export is untrusted: see `foreign_log` for what of it is taken over. Raises UserError if it is no export, or
    one that could not be resumed.
    """
    _check_header(source.readline())
    lines: list[bytes] = []
    artifacts: dict[str, bytes] = {}
    images: dict[str, bytes] = {}
    for number, line in enumerate(source, 2):
        try:
            fields = json.loads(line)
            if "artifact" in fields:
                name, content = _parse_artifact(fields)
                if name in artifacts:
                    raise ValueError(f"artifact {fields['artifact']!r} is there twice")
                artifacts[name] = content
            elif "image" in fields:
                name, content = _parse_image(fields)
                images[name] = content
            else:
                lines.append(filter_line(line, len(lines) + 1))
        except NewerFormat:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                Fault.USAGE, f"line {number} of the export is damaged: {reason}", "Export the session again."
            ) from None
    if not lines:
        raise UserError(Fault.USAGE, "the export holds no events", "Export the session again.")
    copy = _write_new_session(sessions, lines)
    folder = make_private_folder(copy / "artifacts")
    for name, content in artifacts.items():
        _write_file(folder / name, redact_bytes(content))
    for name, content in images.items():
        _write_file(make_private_folder(copy / IMAGES) / name, content)
    return Session.open(copy)


def _read_session(folder: Path) -> Iterator[Event]:
    try:
        yield from read_events(folder)
    except FileNotFoundError:
        raise UserError(
            Fault.USAGE, f"no session {folder.name!r}", "List them: patchwright sessions"
        ) from None


def _write_new_session(sessions: Path, lines: list[bytes]) -> Path:
    """Create the folder of a new session with these lines as its log."""
    session = Session.create(sessions)
    session.close()
    with (session.folder / "log.jsonl").open("ab") as log:
        log.writelines(lines)
    return session.folder


def _link_files(old: Path, new: Path) -> None:
    """Link artifacts and images into the new session; they never change once written."""
    if not old.is_dir():
        return
    make_private_folder(new)
    for path in old.iterdir():
        try:
            os.link(path, new / path.name)
        except OSError:  # a file system without hard links
            with suppress(FileNotFoundError):  # removed since it was listed
                shutil.copy2(path, new / path.name)


def _check_header(line: bytes) -> None:
    try:
        version = parse_json(line)["patchwright_export"]
    except (ValueError, TypeError, KeyError):
        raise UserError(
            Fault.USAGE, "this is not an export of a session", "Make one: patchwright session export ID"
        ) from None
    if version not in (EXPORT_FORMAT, WITH_IMAGES):
        raise UserError(
            Fault.USAGE,
            f"the export has format {version!r}, this program knows {EXPORT_FORMAT} and {WITH_IMAGES}",
            "Import it with the version that made it, or a later one.",
        )


def _parse_artifact(fields: dict[str, Any]) -> tuple[str, bytes]:
    number = str(fields["artifact"]).removeprefix("out:")
    if not (number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS):
        raise ValueError(f"{fields['artifact']!r} names no artifact")
    content = base64.b64decode(fields["base64"], validate=True)
    if len(content) > MAX_ARTIFACT:
        raise ValueError(f"artifact {fields['artifact']!r} is too large")
    return f"out-{int(number)}", content


def _parse_image(fields: dict[str, Any]) -> tuple[str, bytes]:
    name = str(fields["image"])
    content = base64.b64decode(fields["base64"], validate=True)
    if name != derive_image_name(content):
        raise ValueError(f"{name[:60]!r} is no picture")
    return name, content


def _write_file(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
