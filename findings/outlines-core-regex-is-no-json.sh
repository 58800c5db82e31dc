#!/usr/bin/env bash
# outlines-core 0.2.14: build_regex_from_schema() makes regular expressions that match what is no JSON, or never the
# JSON that the schema asks for; no error is raised.
# 1. The pattern "^a|b$" is put between quotes without a group, "a|b": it matches the two characters "a and b", and not
#    "a".
# 2. A quote in a pattern or in a property's name is not escaped: the pattern ^"$ becomes three quotes in a row, the
#    name e"f becomes "e"f". In an enum it is escaped.
# 3. allOf is a concatenation: two times integer matches 11 and not 1.
# 4. A name in required that has no entry in properties is left out, so {"a":1} passes where z is required.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib outlines-core==0.2.14 2>/dev/null
cat >look.py <<'P'
import json, re, sys
from outlines_core.json_schema import build_regex_from_schema
same = True
def look(schema, matched, unmatched=()):
    global same
    regex = build_regex_from_schema(json.dumps(schema))
    print(json.dumps(schema), "->", regex)
    for text, then in [(text, True) for text in matched] + [(text, False) for text in unmatched]:
        seen = re.fullmatch(regex, text) is not None
        print("   ", text, "matches" if seen else "does not match")
        same &= seen == then
look({"type": "string", "pattern": "^a|b$"}, ['"a', 'b"'], ['"a"', '"b"'])
look({"type": "string", "pattern": '^"$'}, ['"""'], [r'"\""'])
integer = {"type": "integer"}
look({"type": "object", "properties": {'e"f': integer}, "required": ['e"f']}, ['{"e"f":1}'], [r'{"e\"f":1}'])
look({"enum": ['e"f']}, [r'"e\"f"'], ['"e"f"'])
look({"allOf": [integer, integer]}, ["11"], ["1"])
look({"type": "object", "properties": {"a": integer}, "required": ["a", "z"]}, ['{"a":1}'], ['{"a":1,"z":1}'])
sys.exit(not same)
P
PYTHONPATH=lib python3 look.py
