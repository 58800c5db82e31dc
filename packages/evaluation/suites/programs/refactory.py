"""Refactory (Hu et al., ASE 2019): wrong programs that students handed in for five assignments.

Every published test is in the worktree, and the checker runs them again.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath

from packages.evaluation.suites.built_task import (
    BuildRequest,
    BuiltTask,
    MissingTask,
    build_program_task,
    make_task_name,
)
from packages.evaluation.suites.ending_checks import build_tests_check, read_tests_judge
from packages.evaluation.suites.source_folder import read_data_file
from packages.evaluation.tasks.folder_files import list_folder_files
from sandbox.errors import Fault, UserError

SECONDS = 120.0

LARGEST = 64 << 20
"""Bytes that `data.zip` may hold unpacked; the published one has 5 MB."""

PROMPT = """\
`answer.py` is a student's answer to the assignment below. It is wrong: tests in `test_answer.py` fail.

{assignment}

Mend it in `answer.py` with as small a change as you can. Leave the tests as they are.
"""


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the wrong programs in the order of their names' hashes, so that the first ones are of all assignments."""
    files = _read_data(request.source)
    wrong = [path for path in files if path.parent.name == "wrong" and path.suffix == ".py"]
    for path in sorted(wrong, key=lambda each: sha256(each.stem.encode()).hexdigest()):
        question = path.parents[2]
        name = make_task_name(question.name, path.stem)
        if not request.selects(f"{question.name}/{path.stem}", "python") or not request.is_wanted(name):
            continue
        reference = files.get(question / "code/reference/reference.py")
        if reference is None:
            yield MissingTask(name=name, reason="the assignment has no reference")
            continue
        preamble = files.get(question / "code/global.py", b"")
        head = preamble + b"\n" if preamble else b""
        tests = _write_tests(files, question).encode()
        yield build_program_task(
            name,
            prompt=PROMPT.format(assignment=_indent(files.get(question / "description.txt", b""))),
            files={"answer.py": head + files[path], "test_answer.py": tests},
            check=build_tests_check("functions", ["test_answer"]),
            checker_files={"test_answer.py": tests, **read_tests_judge()},
            solution={"answer.py": head + reference},
            language="python",
            tags=["refactory", question.name],
            seconds=SECONDS,
        )


def _read_data(source: Path) -> dict[PurePosixPath, bytes]:
    """Return the data's files by path below `data`, from the folder or the archive in it."""
    if (source / "data").is_dir():
        found = list_folder_files(source / "data")
        return {PurePosixPath(each.path): each.read() for each in found if each.kind != "link"}
    archive = source / "data.zip"
    packed = read_data_file(source, "data.zip")
    if packed is None:
        raise UserError(Fault.USAGE, f"{str(source)!r} has neither data/ nor data.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        entries = [each for each in opened.infolist() if not each.is_dir()]
        if sum(each.file_size for each in entries) > LARGEST:
            raise UserError(Fault.USAGE, f"{str(archive)!r} holds more than {LARGEST >> 20} MB")
        return {PurePosixPath(each.filename).relative_to("data"): opened.read(each) for each in entries
                if each.filename.startswith("data/")}  # fmt: skip


def _indent(text: bytes) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.decode("utf-8", "replace").strip().splitlines())


def _write_tests(files: dict[PurePosixPath, bytes], question: PurePosixPath) -> str:
    tests = ["from answer import *\n"]
    inputs = [each for each in files if each.parent == question / "ans" and each.name.startswith("input_")]
    for path in sorted(inputs):
        number = path.stem.rpartition("_")[2]
        call = files[path].decode().strip()
        expected = files[question / "ans" / f"output_{number}.txt"].decode().strip()
        tests.append(f"\ndef test_{number}():\n    assert ({call}) == ({expected})\n")
    return "\n".join(tests)
