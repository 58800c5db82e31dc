"""Key bindings of the prompt, in addition to those of prompt_toolkit's emacs or vi mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import (
    Condition,
    Filter,
    emacs_insert_mode,
    emacs_mode,
    has_completions,
    has_selection,
    is_searching,
    vi_insert_mode,
    vi_navigation_mode,
)
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import accept_search

from cli.settings.key_actions import ACTIONS
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer

    from cli.tui.input.pastes import Pastes
    from cli.tui.questions.question_prompt import QuestionPrompt

ANSI_SEQUENCES["\x1b[13;2u"] = Keys.ControlJ  # Shift-Enter, if the terminal distinguishes it from Enter
ANSI_SEQUENCES["\x1b[27;2;13~"] = Keys.ControlJ


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCallbacks:
    """Callbacks of the keys.

    submit: Enter, with the text; interrupt: returns whether there was something to stop; leave: end the conversation
    unfold: show the whole session, nothing folded; rewind: go back to an earlier prompt
    recall: remove and return the last queued text, "" if none; asking: the open question; show: print all of it
    cycle: go on to the next of plan, ask and auto
    paste_image: put the clipboard's image into the prompt
    """

    submit: Callable[[str], None]
    interrupt: Callable[[], bool]
    leave: Callable[[], None]
    unfold: Callable[[], None]
    rewind: Callable[[], None]
    recall: Callable[[], str]
    cycle: Callable[[], None]
    asking: Callable[[], QuestionPrompt | None]
    show: Callable[[], None]
    paste_image: Callable[[Buffer], None]


def build_key_bindings(
    deeds: KeyCallbacks, pastes: Pastes, chosen: Mapping[str, Sequence[str]]
) -> KeyBindings:
    """Build all key bindings. `chosen`: the user's own keys by action. Raises UserError for an unknown key."""
    keys = KeyBindings()
    asked = Condition(lambda: deeds.asking() is not None)
    typing = Condition(lambda: (now := deeds.asking()) is not None and now.typing is not None)
    add = _KeyBinder(keys, {**ACTIONS, **chosen})
    _bind_question_keys(keys, deeds, asked & ~typing, typing)
    free = ~asked & ~is_searching  # a search in the history has its own keys: Enter accepts the match
    _bind_search_keys(keys)
    _bind_completion_keys(keys, free)
    _bind_send_keys(add, keys, deeds, pastes, free)
    _bind_stop_keys(add, keys, deeds, free)
    _bind_view_keys(add, deeds, free)
    return keys


class _KeyBinder:
    """Binder of actions to their keys, each written like `c-x c-e`."""

    def __init__(self, keys: KeyBindings, table: Mapping[str, Sequence[str]]) -> None:
        self._keys = keys
        self._table = table

    def __call__(self, action: str, when: Filter, do: Callable[[KeyPressEvent], None]) -> None:
        for each in self._table[action]:
            try:
                self._keys.add(*each.split(), filter=when)(do)
            except ValueError:
                raise UserError(
                    Fault.CONFIGURATION,
                    f"setting 'keys.{action}': there is no key {each!r}",
                    "Keys look like: c-o, escape, escape enter, f2, c-x c-e.",
                ) from None


def _bind_question_keys(keys: KeyBindings, deeds: KeyCallbacks, waiting: Filter, typing: Filter) -> None:
    @keys.add("<any>", filter=waiting, eager=True)
    def press(event: KeyPressEvent) -> None:
        asking = deeds.asking()
        if asking is None or asking.begin_line(event.data, event.current_buffer):
            return
        if event.data.lower() == "v":
            deeds.show()
        else:
            asking.press_key(event.data.lower(), event.current_buffer)

    def make_mover(rows: int) -> Callable[[KeyPressEvent], None]:
        def move(event: KeyPressEvent) -> None:
            if (asking := deeds.asking()) is not None:
                asking.move(rows)

        return move

    for key, rows in {"up": -1, "c-p": -1, "s-tab": -1, "down": 1, "c-n": 1, "tab": 1}.items():
        keys.add(key, filter=waiting, eager=True)(make_mover(rows))

    @keys.add("enter", filter=waiting, eager=True)
    def take(event: KeyPressEvent) -> None:
        if (asking := deeds.asking()) is not None:
            asking.take_current(event.current_buffer)

    @keys.add("escape", filter=waiting, eager=True)
    @keys.add("c-c", filter=waiting, eager=True)
    def refuse(event: KeyPressEvent) -> None:
        if (asking := deeds.asking()) is not None:
            asking.refuse()

    @keys.add("enter", filter=typing, eager=True)
    def accept_line(event: KeyPressEvent) -> None:
        if (asking := deeds.asking()) is not None:
            asking.accept_line(event.current_buffer)

    @keys.add("escape", filter=typing, eager=True)
    @keys.add("c-c", filter=typing, eager=True)
    def leave_line(event: KeyPressEvent) -> None:
        if (asking := deeds.asking()) is not None:
            asking.leave_line(event.current_buffer)


def _bind_send_keys(
    add: _KeyBinder, keys: KeyBindings, deeds: KeyCallbacks, pastes: Pastes, free: Filter
) -> None:
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None  # the first Enter accepts the completion, the next one sends
            return
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.newline(copy_margin=False)
            return
        text = buffer.text
        if text.strip():
            buffer.append_to_history()
        _reset_prompt(event)
        whole = pastes.unfold_prompt(text)
        pastes.forget()
        deeds.submit(whole)

    def insert_newline(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    def open_editor(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()

    def paste_image(event: KeyPressEvent) -> None:
        deeds.paste_image(event.current_buffer)

    def expand_pastes(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        whole = pastes.unfold_prompt(buffer.text)
        if whole != buffer.text:
            buffer.document = Document(whole)

    add("image", free, paste_image)
    add("expand", free, expand_pastes)
    add("send", free & ~has_selection, enter)
    add("newline", free, insert_newline)
    add("editor", free, open_editor)

    @keys.add(Keys.BracketedPaste)
    def insert_paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.fold_paste(event.data))

    @keys.add("up", filter=free & Condition(lambda: not get_app().current_buffer.text))
    def recall_previous(event: KeyPressEvent) -> None:
        if queued := deeds.recall():
            event.current_buffer.insert_text(queued)
        else:
            event.current_buffer.auto_up()


def _bind_stop_keys(add: _KeyBinder, keys: KeyBindings, deeds: KeyCallbacks, free: Filter) -> None:
    empty = Condition(lambda: not get_app().current_buffer.text)

    def stop(event: KeyPressEvent) -> None:
        if not deeds.interrupt():
            _reset_prompt(event)

    def interrupt_step(event: KeyPressEvent) -> None:
        deeds.interrupt()

    def begin_line(event: KeyPressEvent) -> None:
        deeds.interrupt()
        event.current_buffer.insert_text(event.key_sequence[-1].data)

    def leave(event: KeyPressEvent) -> None:
        deeds.leave()

    def rewind(event: KeyPressEvent) -> None:
        deeds.rewind()

    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    add("stop", free, stop)
    keys.add("<sigint>")(stop)
    add("interrupt", free & ~has_completions & ~vi_insert_mode, interrupt_step)
    # Fast typing and Alt send the same: a line that begins right after Escape is likelier than Alt and its first key.
    for sign in "/#":
        keys.add("escape", sign, filter=free & ~has_completions & ~vi_insert_mode)(begin_line)
    for sign in ascii_letters + digits:
        keys.add("escape", sign, filter=free & empty & ~has_completions & emacs_insert_mode)(begin_line)
    add("rewind", free & ~has_completions & empty, rewind)
    add("leave", free & empty, leave)
    add("suspend", free, suspend)


def _bind_completion_keys(keys: KeyBindings, free: Filter) -> None:
    tab = TabCompletion()

    def dismiss(event: KeyPressEvent) -> None:
        tab.forget()
        event.current_buffer.cancel_completion()

    keys.add("tab", filter=free & (emacs_insert_mode | vi_insert_mode))(tab.press)
    keys.add("escape", filter=has_completions, eager=True)(dismiss)


def _bind_search_keys(keys: KeyBindings) -> None:
    """Leave the cursor at the end of an accepted match: amid it, Ctrl-U would keep a tail for the next line."""

    def accept(event: KeyPressEvent) -> None:
        accept_search()
        buffer = event.app.current_buffer
        buffer.cursor_position = len(buffer.text)

    keys.add("enter", filter=is_searching, eager=True)(accept)
    keys.add("escape", filter=is_searching & emacs_mode, eager=True)(accept)


def _reset_prompt(event: KeyPressEvent) -> None:
    """Empty the prompt and return to insert mode, whatever vi's mode was."""
    event.current_buffer.text = ""  # a reset alone does not tell who follows the text that it has gone
    event.current_buffer.reset()
    event.app.vi_state.reset()


def _bind_view_keys(add: _KeyBinder, deeds: KeyCallbacks, free: Filter) -> None:
    def show_transcript(event: KeyPressEvent) -> None:
        deeds.unfold()

    def cycle_access(event: KeyPressEvent) -> None:
        deeds.cycle()

    def show_shortcuts(event: KeyPressEvent) -> None:
        deeds.submit("/help keys")

    empty = Condition(lambda: not get_app().current_buffer.text)
    add("unfold", free, show_transcript)
    add("shortcuts", free & empty & ~has_completions & ~vi_navigation_mode, show_shortcuts)
    add("plan", free & ~has_completions, cycle_access)


class TabCompletion:
    """A Tab key that is not lost while completions are being gathered. prompt_toolkit's own would be: it starts a new
    completion, which is ignored while one is running."""

    def __init__(self) -> None:
        self._wanted: Document | None = None
        self._known: Buffer | None = None

    def press(self, event: KeyPressEvent) -> None:
        """Select the next completion, now or when it is available."""
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.completions:
            buffer.complete_next()
            return
        if self._known is not buffer:
            self._known = buffer
            buffer.on_completions_changed += self._take_first_completion
        self._wanted = buffer.document
        buffer.start_completion()

    def forget(self) -> None:
        """Cancel a pending Tab."""
        self._wanted = None

    def _take_first_completion(self, buffer: Buffer) -> None:
        if self._wanted is None:
            return
        state = buffer.complete_state
        if buffer.document != self._wanted:
            self._wanted = None
        elif state is not None and state.completions:
            self._wanted = None
            if state.complete_index is None:
                buffer.complete_next()
