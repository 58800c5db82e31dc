#!/usr/bin/env bash
# jsonrepair 3.15.0 (npm), a doubled comma in an array: jsonrepair('[1,2,,3]') is [[1,2],3], so the elements before it
# become a list in a list, also in [[1,,2]], which is [[1],2]. jsonrepairTransform, the streaming entry point of the
# same package, makes [1,2,3] and [[1,2]] of them; of {"a":[1,2,,3]} the function makes an error, the stream a document.
# Expected: the same repair from both.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with node 20.20.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent jsonrepair@3.15.0 >/dev/null 2>&1
cat >look.mjs <<'J'
import { Readable } from 'stream';
import { jsonrepair } from 'jsonrepair';
import { jsonrepairTransform } from 'jsonrepair/stream';
let same = true;
for (const [text, whole, streamed] of [['[1,2,,3]', '[[1,2],3]', '[1,2,3]'], ['[[1,,2]]', '[[1],2]', '[[1,2]]'],
  ['{"a":[1,2,,3]}', 'error', '{"a":[1,2,3]}']]) {
  let seen = 'error', stream = '';
  try { seen = JSON.stringify(JSON.parse(jsonrepair(text))); } catch { /* stays an error */ }
  for await (const part of Readable.from([text]).pipe(jsonrepairTransform())) stream += part;
  console.log(text, '->', seen, 'streamed', stream);
  same &&= seen === whole && stream === streamed;
}
process.exit(same ? 0 : 1);
J
node look.mjs
