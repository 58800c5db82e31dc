#!/usr/bin/env bash
# litellm 1.110.2:
# 1. stream_chunk_builder() gives finish_reason "stop" to chunks of which none had a finish_reason, that is to a stream
#    that broke off before its end, also in the middle of a tool call's arguments. Expected: None, which the chunks
#    themselves have, or an error; a caller that asks finish_reason whether an answer is complete is told so.
# 2. token_counter(tools=...) counts the descriptions of plain properties, also nested ones, but nothing behind anyOf
#    or $ref: 400 words cost some 400 tokens on a property, none inside anyOf (what pydantic makes of Optional) or in
#    $defs (what it makes of a nested model), though all are sent to the model.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# The packages that the import needs, without a search for versions of some sixty others.
python3 -m pip install -q --disable-pip-version-check --target lib --no-deps \
  litellm==1.110.2 aiohappyeyeballs==2.7.1 aiohttp==3.14.5 aiosignal==1.4.0 annotated-types==0.8.0 anyio==4.16.0 \
  attrs==26.1.0 certifi==2026.10.19.post1 charset-normalizer==3.5.3 click==8.5.1 distro==1.9.0 fastuuid==0.14.0 \
  frozenlist==1.8.0 h11==0.16.0 h2==4.4.1 hpack==4.2.0 httpcore==1.0.9 httpx==0.28.1 hyperframe==6.1.0 idna==3.20 \
  importlib-metadata==8.9.0 jinja2==3.1.6 \
  jiter==0.19.0 markupsafe==3.0.4 multidict==7.2.1 openai==2.54.0 propcache==0.5.4 pydantic==2.14.4 \
  pydantic-core==2.50.5 python-dotenv==1.2.4 pyyaml==6.0.4 regex==2026.7.19 requests==2.34.2 sniffio==1.3.1 \
  tiktoken==0.14.0 tqdm==4.70.1 typing-extensions==4.16.0 typing-inspection==0.4.5 urllib3==2.8.0 yarl==1.25.1 \
  zipp==4.1.2 2>/dev/null
cat >look.py <<'P'
import json, sys
from litellm import ModelResponseStream, stream_chunk_builder, token_counter
user = [{"role": "user", "content": "x"}]
def chunk(**delta):
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return ModelResponseStream(id="1", created=1, model="gpt-4o", object="chat.completion.chunk", choices=[choice])
function = {"name": "write", "arguments": '{"path": "a'}
call = {"index": 0, "id": "c1", "type": "function", "function": function}
same = True
for name, delta in [("text", {"content": "The first step is"}), ("call", {"tool_calls": [call]})]:
    chunks = [chunk(role="assistant", **delta)]
    choice = stream_chunk_builder(chunks, messages=user).choices[0]
    tools = [made.function.arguments for made in choice.message.tool_calls or []]
    print(name, [part.choices[0].finish_reason for part in chunks], "->", repr(choice.finish_reason), tools)
    same &= choice.finish_reason == "stop"
words = "hello " * 400
def count(schema, **extra):
    parameters = {"type": "object", "properties": {"a": schema}, **extra}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    return token_counter(model="gpt-4o", messages=user, tools=[tool]), len(json.dumps(tool))
counts = {
    "no description": count({"type": "string"}),
    "on the property": count({"type": "string", "description": words}),
    "on a nested property": count({"type": "object", "properties": {"b": {"type": "string", "description": words}}}),
    "in anyOf": count({"anyOf": [{"type": "string", "description": words}, {"type": "null"}]}),
    "in $defs": count({"$ref": "#/$defs/D"}, **{"$defs": {"D": {"type": "object", "description": words}}}),
}
for name, (tokens, characters) in counts.items():
    print(f"{name}: {tokens} tokens, {characters} characters sent")
small = counts["no description"][0] + 20
same &= counts["on the property"][0] > small + 300 and counts["on a nested property"][0] > small + 300
sys.exit(not (same and counts["in anyOf"][0] < small and counts["in $defs"][0] < small))
P
LITELLM_LOCAL_MODEL_COST_MAP=True PYTHONPATH=lib python3 look.py 2>&1 | grep -v -e '^$' -e 'Provider List'
