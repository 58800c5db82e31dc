"""Line-by-line lexing with pygments' tables: the state is kept between lines, so a line costs only its own length.

pygments tries the rules of a state one by one: a name in Python code is the 56th attempt. Here only those rules are
tried that can begin with the next character.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.token import Error, Whitespace, _TokenType

from cli.output.markdown.rule_table import get_table


class LineLexer:
    """Lexer for the lines of one piece of code, in order. `stack`: pygments' states at the end of the last line"""

    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self.stack = ["root"]

    def lex_line(self, line: str) -> list[tuple[Any, str]]:
        """Return (token type, text) of each token of a line that ends in a newline."""
        lexer = self._lexer
        if not isinstance(lexer, RegexLexer):
            return list(lexer.get_tokens(line))
        stack = list(self.stack)
        try:
            if isinstance(lexer, ExtendedRegexLexer):  # its callbacks change the context
                context = LexerContext(line, 0, stack=stack)
                found = [(kind, text) for _, kind, text in lexer.get_tokens_unprocessed(context=context)]
                stack = context.stack
            else:
                found = _lex_by_rules(lexer, line, stack)
        except Exception:  # a lexer that needs more context: leave the line uncoloured
            return [(None, line)]
        self.stack = stack or ["root"]
        return found


def _lex_by_rules(lexer: RegexLexer, line: str, stack: list[str]) -> list[tuple[Any, str]]:
    """Return the tokens of a line as `RegexLexer` finds them; `stack` is changed in place."""
    table = get_table(type(lexer))
    rules, place, end = table.find_rules(stack[-1]), 0, len(line)
    found: list[tuple[Any, str]] = []
    while place < end:
        for rule in rules[line[place]]:
            if (match := rule[0](line, place)) is not None:
                break
        else:
            if line[place] == "\n":
                stack[:] = ["root"]
                rules = table.find_rules("root")
            found.append((Whitespace if line[place] == "\n" else Error, line[place]))
            place += 1
            continue
        _, action, new_state = rule
        if type(action) is _TokenType:
            found.append((action, match[0]))
        elif action is not None:
            found += [(kind, text) for _, kind, text in action(lexer, match)]
        place = match.end()
        if new_state is not None:
            _change_state(stack, new_state)
            rules = table.find_rules(stack[-1])
    return found


def _change_state(stack: list[str], new_state: int | str | Sequence[str]) -> None:
    """Push and pop states as `RegexLexer` does; the first one stays."""
    if isinstance(new_state, int):
        del stack[max(len(stack) + new_state, 1) :]
        return
    for state in (new_state,) if isinstance(new_state, str) else new_state:
        if state == "#pop":
            del stack[max(len(stack) - 1, 1) :]
        else:
            stack.append(stack[-1] if state == "#push" else state)
