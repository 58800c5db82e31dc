#!/usr/bin/env bash
# best-effort-json-parser 1.5.1 (npm), parse() of prefixes of valid JSON, for which it is made:
# 1. A finished number with an exponent is divided: [1e3, 2 is [1, "e3", 2], which has one element more than the
#    document, and {"a": -2.5e+3, "b" has -2.5. The same documents when complete are read as JSON.parse reads them.
# 2. A prefix that ends in a \u escape raises a SyntaxError; one that ends in any other escape gives the text before
#    it. Expected: the text before it.
# 3. A lone minus is 0, a value that no continuation other than -0 has; [1,- has two elements, the second 0.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with node 20.20.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent best-effort-json-parser@1.5.1 >/dev/null 2>&1
cat >look.cjs <<'J'
const { parse } = require('best-effort-json-parser');
let same = true;
function look(text, then) {
  let seen;
  try { seen = JSON.stringify(parse(text)); } catch (error) { seen = error.name; }
  console.log(text, '->', seen);
  same &&= seen === then;
}
look('[1e3, 2', '[1,"e3",2]');
look('[1e3, 2]', '[1000,2]');
look('{"a": -2.5e+3, "b"', '{"a":-2.5}');
look('{"a": -2.5e+3, "b": 1}', '{"a":-2500,"b":1}');
look('["x\\u00', 'SyntaxError');
look('["x\\', '["x"]');
look('[1,-', '[1,0]');
process.exit(same ? 0 : 1);
J
node look.cjs 2>/dev/null
