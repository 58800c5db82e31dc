"""The keys of the prompt, beside those of any line editor (prompt_toolkit's emacs set)."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition, Filter, has_completions, has_selection
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from cli.repl.front import Answer


def bindings(
    *,
    submit: Callable[[str], None],
    interrupt: Callable[[], bool],
    leave: Callable[[], None],
    asked: Callable[[], bool],
    answer: Callable[[Answer], None],
    view: Callable[[], None],
) -> KeyBindings:
    """What the keys do.

    submit: Enter, with the text
    interrupt: Ctrl-C; says whether there was something to stop
    leave: Ctrl-D on an empty line
    asked: a question stands; answer: what the key said to it; view: show all of it
    """
    keys = KeyBindings()
    question = Condition(asked)

    @keys.add("y", filter=question, eager=True)
    @keys.add("Y", filter=question, eager=True)
    def yes(event: KeyPressEvent) -> None:
        answer("once")

    @keys.add("n", filter=question, eager=True)
    @keys.add("N", filter=question, eager=True)
    @keys.add("c-c", filter=question, eager=True)
    def no(event: KeyPressEvent) -> None:
        answer("no")

    @keys.add("a", filter=question, eager=True)
    @keys.add("A", filter=question, eager=True)
    def always(event: KeyPressEvent) -> None:
        answer("always")

    @keys.add("v", filter=question, eager=True)
    @keys.add("V", filter=question, eager=True)
    def show(event: KeyPressEvent) -> None:
        view()

    @keys.add("<any>", filter=question, eager=True)
    @keys.add("enter", filter=question, eager=True)
    def ignore(event: KeyPressEvent) -> None:
        """A line begun before the question came up must not answer it."""

    _editing(keys, ~question, submit)

    @keys.add("c-c", filter=~question)
    @keys.add("<sigint>")
    def stop(event: KeyPressEvent) -> None:
        if not interrupt():
            event.current_buffer.reset()

    @keys.add("c-d", filter=~question & Condition(lambda: not get_app().current_buffer.text))
    def end(event: KeyPressEvent) -> None:
        leave()

    @keys.add("c-z", filter=~question)
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    return keys


def _editing(keys: KeyBindings, free: Filter, submit: Callable[[str], None]) -> None:
    @keys.add("enter", filter=free & ~has_selection)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None  # the first Enter takes the completion, the next one sends
            return
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.newline(copy_margin=False)
            return
        text = buffer.text
        if text.strip():
            buffer.append_to_history()
        buffer.reset()
        submit(text)

    @keys.add("escape", "enter", filter=free)
    @keys.add("c-j", filter=free)
    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("escape", filter=has_completions, eager=True)
    def dismiss(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()
