"""Draw the pictures of the documents: run the program on a terminal, bring it into ten states, write each as SVG.

    python docs/screens/make.py [NAME…]

What is seen is what the program wrote: a screen model (pyte) of its output, cell by cell. Each state is drawn at the
size that the documents show (96x30), and at 80x24 and 120x40 as `NAME-80x24.svg` and `NAME-120x40.svg`. On a loaded
machine, what stands on them may be some rows higher or lower: how far they have scrolled depends on what was redrawn.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from html import escape
from itertools import product
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT))

from cli.commands.setup.demo_repository import create_demo_repository
from cli.output.style.terminal import measure_columns
from cli.tui.conversation.header import TIPS
from tests.support import cli
from tests.support import terminal as support
from tests.support.scenes import open_story, open_work, story, work
from tests.support.talking import at_rest, make_shop
from tests.support.terminal import Terminal

HERE = Path(__file__).parent
SIZES = ((96, 30), (80, 24), (120, 40))
"""Columns and rows; the first is that of the documents."""

CELL, LINE, FONT = 8.43, 18, 14
"""Pixels: the width of a character of the usual monospaced fonts at this size, and the height of a row."""

COLOURS = {
    "default": "#d4d7dd", "black": "#4a5261", "red": "#f2777a", "green": "#99cc99", "brown": "#ffcc66",
    "blue": "#6699cc", "magenta": "#cc99cc", "cyan": "#66cccc", "white": "#d4d7dd", "brightblack": "#7f8796",
    "brightred": "#ff9a9c", "brightgreen": "#b5e0b5", "brightbrown": "#ffe0a0", "brightblue": "#8fbbe6",
    "brightmagenta": "#e0b8e0", "brightcyan": "#92e0e0", "brightwhite": "#ffffff",
}  # fmt: skip
BACKGROUND = "#1d2026"

STYLE = f"text {{ font: {FONT}px ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace }}"


def svg(terminal: Terminal, title: str) -> str:
    """The screen of a terminal as a picture of a window."""
    screen = terminal.screen
    rows = [screen.buffer[y] for y in range(screen.lines)]
    width, height = screen.columns * CELL + 24, screen.lines * LINE + 52
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        *(f'<circle cx="{18 + 18 * n}" cy="18" r="5" fill="#4a5261"/>' for n in range(3)),
        f'<text x="{width / 2:.0f}" y="22" text-anchor="middle" fill="#7f8796">{escape(title)}</text>',
    ]
    for y, row in enumerate(rows):
        parts += _row(row, screen.columns, 44 + y * LINE)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(row: dict, columns: int, y: float) -> list[str]:
    """The cells of a row, in runs that look alike."""
    parts, start = [], 0
    while start < columns:
        end, look = start + 1, _look(row[start])
        while end < columns and _look(row[end]) == look:
            end += 1
        text = _steady("".join(row[x].data for x in range(start, end))).rstrip()
        inset = len(text) - len(text.lstrip())
        colour, back, bold, under, slanted = look
        x, width = 12 + start * CELL, (end - start) * CELL
        if back != BACKGROUND:
            parts.append(
                f'<rect x="{x:.1f}" y="{y - 14:.0f}" width="{width:.1f}" height="{LINE}" fill="{back}"/>'
            )
        if text:  # without the spaces around it, and with hard ones in it: what draws it may fold others
            words = escape(text.lstrip()).replace(" ", "&#160;")
            more = ' font-weight="bold"' if bold else ""
            more += ' text-decoration="underline"' if under else ""
            more += ' font-style="italic"' if slanted else ""
            length = (measure_columns(text) - inset) * CELL
            parts.append(
                f'<text x="{x + inset * CELL:.1f}" y="{y:.0f}" textLength="{length:.1f}"'
                f' fill="{colour}"{more}>{words}</text>'
            )
        start = end
    return parts


def _steady(text: str) -> str:
    """The text without what differs from run to run: times, spinner, names of commits and sessions, the tip."""
    text = re.sub(r" ?\(\d+\.\d s\)$", "", text)  # of an action that took longer than a second
    text = re.sub(r"\d+\.\d s\b", "1.2 s", text)
    text = re.sub(r"· \d+ s ·", "· 3 s ·", text)
    text = re.sub(r"[◐◓◑◒]", "◐", text)
    text = re.sub(r"\b\d{1,2} [A-Z][a-z]{2} \d\d:\d\d", "30 Nov 12:00", text)
    text = re.sub(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "20261130-120000-1a2b", text)
    text = re.sub(r"(git_commit .*: )[0-9a-f]{7,}", r"\g<1>1a2b3c4", text)
    return re.sub(r"^tip: .*", f"tip: {TIPS[0]}", text)


def _look(cell: object) -> tuple[str, str, bool, bool, bool]:
    colour = _colour(cell.fg, COLOURS["default"])  # type: ignore[attr-defined]
    back = BACKGROUND if cell.bg == "default" else _colour(cell.bg, BACKGROUND)  # type: ignore[attr-defined]
    if cell.reverse:  # type: ignore[attr-defined]
        colour, back = back, colour
    return colour, back, cell.bold, cell.underscore, cell.italics  # type: ignore[attr-defined]


def _colour(name: str, otherwise: str) -> str:
    """A colour by its name, or one of 256, which the screen model gives as six digits."""
    if len(name) == 6 and all(digit in "0123456789abcdef" for digit in name):
        return f"#{name}"
    return COLOURS.get(name, otherwise)


Save = Callable[[str, Terminal, str], None]


def draw_story(root: Path, save: Save, columns: int, rows: int) -> None:
    """An answer, completion, a question, a finished turn; then all of the session, and the sessions to choose from."""
    with open_story(root, columns, rows) as terminal:
        for name in story(terminal):
            save(name, terminal, TITLES[name])


def draw_work(root: Path, save: Save, columns: int, rows: int) -> None:
    """A command runs, and more is typed meanwhile; a plan waits to be agreed to."""
    with open_work(root, columns, rows) as terminal:
        for name in work(terminal):
            if name in ("working", "plan"):
                save(name, terminal, TITLES[name])


def draw_repair(root: Path, save: Save, columns: int, rows: int) -> None:
    """The offline engine repairs an example project: no model."""
    project = create_demo_repository(root.parent / "ledger")
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    with Terminal(argv, cwd=project, env=cli.environment(), columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("make the failing tests pass\r")
        terminal.wait("✔ done")
        at_rest(terminal)
        save("repaired", terminal, TITLES["repaired"])


def draw_help(root: Path, save: Save, columns: int, rows: int) -> None:
    """The list of commands and keys."""
    with open_story(root, columns, 84 if (columns, rows) == SIZES[0] else rows) as terminal:
        at_rest(terminal)
        terminal.type("/help\r")
        terminal.wait("Ctrl-R")
        save("help", terminal, TITLES["help"])


TITLES = {
    "answer": "An answer, as it was written",
    "completion": "Commands are completed",
    "question": "A question: what, why, and what each answer does",
    "done": "A turn, from the prompt to its summary",
    "transcript": "Ctrl-O: nothing folded",
    "sessions": "/resume: sessions to choose from",
    "working": "While it works",
    "plan": "Plan mode",
    "repaired": "Without a model: the offline engine",
    "help": "/help",
}
SCENES = (draw_story, draw_work, draw_repair, draw_help)


def main() -> None:
    """All pictures, or those that are named."""
    support.PATIENCE = 240.0  # the offline engine runs tests
    os.environ["COLORTERM"] = "truecolor"  # wherever they are drawn
    wanted = set(sys.argv[1:]) or set(TITLES)

    for scene, (columns, rows) in product(SCENES, SIZES):
        size = "" if (columns, rows) == SIZES[0] else f"-{columns}x{rows}"

        def save(name: str, terminal: Terminal, title: str, size: str = size) -> None:
            if name in wanted:
                (HERE / f"{name}{size}.svg").write_text(svg(terminal, title), "utf-8")
                print(f"docs/screens/{name}{size}.svg")

        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            config = home / "own/config/settings.toml"
            config.parent.mkdir(parents=True)
            config.write_text('[terminal]\ntheme = "dark"\n')  # the screen model knows no faint text
            identity = "[user]\nname = A Person\nemail = person@example.org\n[init]\ndefaultBranch = main\n"
            (home / "gitconfig").write_text(identity)
            os.environ.update(
                HOME=str(home), PATCHWRIGHT_HOME=str(home / "own"), GIT_CONFIG_GLOBAL=str(home / "gitconfig")
            )
            scene(make_shop(Path(folder) / "shop"), save, columns, rows)


if __name__ == "__main__":
    main()
