#!/usr/bin/env bash
# llguidance 1.9.1, JSON schemas:
# 1. A pattern that excludes the quote or the backslash accepts them in their escaped form: under ^[^"]$ the JSON text
#    "\"" is accepted, though its value is the one character that the pattern excludes; likewise "\\" under ^[^\\]$.
#    Other characters are treated by their value: ^[^\n]$ refuses "\n", ^[^/]$ refuses "/" and ^[a-z]$ refuses "\"".
# 2. With {"a": integer} and other properties open, {"\u0061": "s"} is accepted, which is {"a": "s"}; written plainly
#    it is refused. In values no \u escape of a letter is accepted at all.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib llguidance==1.9.1 2>/dev/null
cat >look.py <<'P'
import json, sys
from llguidance import LLMatcher, LLTokenizer
tokens = LLTokenizer("byte")
same = True
def look(schema, text, then):
    global same
    matcher = LLMatcher(tokens, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    assert not matcher.get_error(), matcher.get_error()
    wanted = tokens.tokenize_str(text)
    seen = matcher.try_consume_tokens(wanted) == len(wanted) and matcher.is_accepting()
    print(json.dumps(schema), text, "accepted" if seen else "refused")
    same &= seen == then
def string(pattern):
    return {"type": "string", "pattern": pattern}
look(string('^[^"]$'), r'"\""', True)
look(string('^[^"]*$'), r'"a\"b"', True)
look(string(r"^[^\\]$"), r'"\\"', True)
look(string(r"^[^\n]$"), r'"\n"', False)
look(string("^[^/]$"), '"/"', False)
look(string("^[a-z]$"), r'"\""', False)
object_ = {"type": "object", "properties": {"a": {"type": "integer"}}}
look(object_, r'{"\u0061": "s"}', True)
look(object_, '{"a": "s"}', False)
look(object_, r'{"b": "\u0061"}', False)
sys.exit(not same)
P
PYTHONPATH=lib python3 look.py
