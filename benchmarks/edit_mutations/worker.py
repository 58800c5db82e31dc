"""Other agents' own matchers, run by the interpreter that has their package: a request a line, an answer a line.

Started as a script, `worker.py NAME`. It imports nothing of ours: that interpreter has none of it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Asked = Mapping[str, str]
Matcher = Callable[[Asked], "str | None"]
"""From what is asked to the file's new content; None or any exception is a refusal."""


def aider() -> Mapping[str, Matcher]:
    """Its three edit formats. It reads any line ending as a newline, and writes newlines."""
    from aider.coders import editblock_coder, udiff_coder  # type: ignore[import-not-found]
    from aider.coders.patch_coder import PatchCoder  # type: ignore[import-not-found]

    fence = ("```", "```")
    existing = __file__  # it asks whether the file exists; the content is given

    def block(asked: Asked) -> str | None:
        content = _read(asked)
        made: str | None = editblock_coder.do_replace(existing, content, asked["old"], asked["new"], fence)
        return made or None

    def udiff(asked: Asked) -> str | None:
        content: str | None = _read(asked)
        for _, hunk in udiff_coder.find_diffs(f"```diff\n{asked['sent']}```\n"):
            content = udiff_coder.do_replace(existing, content, udiff_coder.normalize_hunk(hunk))
            if not content:
                return None
        return content

    def patch(asked: Asked) -> str | None:
        coder = PatchCoder.__new__(PatchCoder)  # without a model
        content, path = _read(asked), asked["path"]
        parsed = coder._parse_patch_text(asked["sent"].splitlines(), 1, {path: content})
        made: str = coder._apply_update(content, parsed.actions[path], path)
        return made

    return {"aider, diff": block, "aider, udiff": udiff, "aider, patch": patch}


def gptme() -> Mapping[str, Matcher]:
    """Its `patch` tool. It reads any line ending as a newline, and writes newlines."""
    from gptme.tools import patch  # type: ignore[import-not-found]

    def block(asked: Asked) -> str | None:
        # The line ending before the divider is the divider's, unless whole lines are to go.
        old, new = asked["old_spliced"], asked["new_spliced"]
        updated = f"{new}{patch.UPDATED}" if new else patch.UPDATED[1:]
        made: str = patch.apply(f"{patch.ORIGINAL}{old}{patch.DIVIDER}{updated}", _read(asked))
        return made

    return {"gptme": block}


def openhands() -> Mapping[str, Matcher]:
    """`str_replace` of its file editor, on a real file."""
    from openhands.tools.file_editor.editor import FileEditor  # type: ignore[import-not-found]

    folder = tempfile.TemporaryDirectory()
    editor = FileEditor(workspace_root=folder.name)

    def block(asked: Asked) -> str | None:
        file = Path(folder.name) / "file.txt"
        file.write_bytes(asked["content"].encode())
        old, new = asked["old_spliced"], asked["new_spliced"]
        said = editor(command="str_replace", path=str(file), old_str=old, new_str=new)
        if said.is_error:
            raise ValueError(said.text)
        return file.read_bytes().decode()

    return {"openhands": block}


AGENTS: Mapping[str, Callable[[], Mapping[str, Matcher]]] = {
    "aider": aider,
    "gptme": gptme,
    "openhands": openhands,
}


def main() -> None:
    """Answer until there are no more requests."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the agent prints is no answer
    agents = AGENTS[sys.argv[1]]()
    for line in sys.stdin:
        asked = json.loads(line)
        made, why = None, ""
        started = time.perf_counter()
        try:
            made = agents[asked["matcher"]](asked)
        except Exception as error:  # whatever it raises is how it refuses
            why = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - started
        answers.write(json.dumps({"content": made, "why": why, "seconds": seconds}) + "\n")
        answers.flush()


def _read(asked: Asked) -> str:
    return asked["content"].replace("\r\n", "\n").replace("\r", "\n")


if __name__ == "__main__":
    main()
