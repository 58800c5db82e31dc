#!/usr/bin/env bash
# isomorphic-git 1.44.19, statusMatrix() in repositories where git status --porcelain prints nothing, or something
# else:
# 1. In a linked worktree (git worktree add) every file has HEAD 0, that is, is newly added: the branch of the worktree
#    is looked up beside its own HEAD and not in the common folder. No error is raised, though log() of the same folder
#    raises.
# 2. A clean file with the attribute "text eol=crlf" or "ident" is modified, so a fresh clone is dirty.
# 3. A file made executable and a submodule with a changed file, both " M" in git, are not in it as changed.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5, node 20.20.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1
npm init -y >/dev/null
npm install --no-audit --no-fund --silent isomorphic-git@1.44.19 >/dev/null 2>&1
git config --global user.name A && git config --global user.email a@example.invalid
git init -q main && (cd main && echo a >f && git add f && git commit -qm first && git worktree add -q ../linked -b side)
git init -q source && (cd source && printf '*.txt text eol=crlf\n*.c ident\n' >.gitattributes &&
  printf 'a\r\n' >a.txt && printf '$%s$\n' Id >b.c && git add . && git commit -qm first)
git clone -q source attributes
git init -q mode && (cd mode && echo a >f && git add f && git commit -qm first && chmod +x f)
git init -q outer && (cd outer && git -c protocol.file.allow=always submodule --quiet add ../main sub &&
  git commit -qm first && echo b >>sub/f)
for name in linked attributes mode outer; do
  echo "git, $name: $(git -C $name status --porcelain)"
done
cat >look.cjs <<'J'
const fs = require('fs'), git = require('isomorphic-git');
(async () => {
  const seen = {};
  for (const dir of ['linked', 'attributes', 'mode', 'outer']) {
    const rows = await git.statusMatrix({ fs, dir });
    seen[dir] = JSON.stringify(rows.filter(row => row.slice(1).join() !== '1,1,1'));
    console.log(dir, seen[dir]);
  }
  let raised = '';
  try { await git.log({ fs, dir: 'linked' }); } catch (error) { raised = error.code; }
  console.log('log in linked:', raised);
  process.exit(seen.linked === '[["f",0,2,2]]' && raised === 'NotFoundError' && seen.mode === '[]'
    && seen.outer === '[]' && seen.attributes === '[["a.txt",1,2,1],["b.c",1,2,1]]' ? 0 : 1);
})();
J
node look.cjs
