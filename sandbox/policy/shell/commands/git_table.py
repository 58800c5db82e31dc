"""Table of git's subcommands in the format of `command_table`: which read, write git's data, lose work.

`destructive`: loses uncommitted work or history, or bypasses a check that the user set up.
Subcommands that are not listed may be aliases, and count as unknown code.
"""

from __future__ import annotations

from sandbox.policy.shell.parsing.syntax import parse_word_set

GLOBAL_OPTIONS = r"""
git | none | command | -P --no-pager --no-optional-locks --no-lazy-fetch --no-replace-objects --no-advice
    --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs -v>reading --version>reading
    -h>reading --html-path>reading --man-path>reading --info-path>reading -c:>config -C:>folder --help>unknown
    -p>unknown --paginate>unknown --exec-path=?>unknown --git-dir=>unknown --work-tree=>unknown
    --namespace=>unknown --bare>unknown --config-env=>unknown --super-prefix=>unknown --attr-source=>unknown
    --list-cmds=>unknown
"""
"""Options before the subcommand. "config" and "folder" are judged by code."""

HARMLESS_CONFIG = parse_word_set(
    "advice.detachedhead color.ui core.abbrev core.autocrlf core.quotepath diff.algorithm diff.context diff.renames"
    " init.defaultbranch log.date log.decorate merge.conflictstyle user.email user.name"
)
"""Keys for `git -c` that only affect display or authorship; most others can run a program."""

HARMLESS_SETTINGS = frozenset(("core.pager=cat", "core.pager=", "commit.gpgsign=false", "tag.gpgsign=false"))

SUBCOMMANDS = r"""
status rev-parse ls-files ls-tree describe name-rev merge-base show-ref for-each-ref count-objects
    check-ignore check-attr check-ref-format check-mailmap cherry show-branch get-tar-commit-id patch-id
    stripspace var version whatchanged-none rev-list last-modified | read | text | * --show-signature>execute
    -X:>read --exclude-from=>read
diff show log whatchanged shortlog diff-tree diff-index diff-files range-diff | read | text | *
    --output=>write --ext-diff>execute --textconv>execute --show-signature>execute --output-directory=>write
    -O:>read --no-index>reading
grep | read | text | * --no-index>reading --untracked>reading --no-exclude-standard>reading -f:>read
    -O?>execute --open-files-in-pager=?>execute --textconv>execute --ext-grep>execute
blame annotate | read | read | * --textconv>execute --contents=>read
cat-file | read | text | * --textconv>execute --filters>execute
fsck | read | text | --no-dangling --full --strict --unreachable --connectivity-only --no-progress --verbose
    --lost-found>git
hash-object | read | read | --stdin --no-filters --literally -t: -w>git
ls-remote | network | text | -hqt --heads --tags --refs --quiet --exit-code --get-url --symref --sort=
    --upload-pack=>execute --exec=>execute -o:>unknown --server-option=>unknown
archive | read | text | -l -v --list --verbose --format= --prefix= -o:>write --output=>write --remote=>network
    --exec=>execute --add-file=>read -0123456789
add stage mv init commit-tree mktree mktag write-tree read-tree update-index merge-tree rerere sparse-checkout
    pack-refs pack-objects repack merge-file merge-index notes-add worktree-add unpack-objects index-pack |
    git | text | * --template=>execute --edit>unknown -e>unknown --exec=>execute
commit | git | text | * -n>destructive --no-verify>destructive -e>unknown --edit>unknown --fixup= --squash=
    -m: -F:>read --file=>read --message= -C: -t: --template=>read --author= --date= --trailer= --amend
rm | git | text | -rnqf>destructive -r -n -q -f>destructive --force>destructive --cached --dry-run --quiet
    --ignore-unmatch
merge cherry-pick revert | git | text | * --no-verify>destructive -s:>execute --strategy=>execute -e>unknown
    --edit>unknown --abort>destructive --quit
rebase | git | text | * -x:>execute --exec=>execute -i>unknown --interactive>unknown -s:>execute
    --strategy=>execute --no-verify>destructive --abort>destructive --edit-todo>unknown
am | git | text | * --no-verify>destructive -n>destructive --abort>destructive -i>unknown
apply | git | read | * --check>reading --stat>reading --numstat>reading --summary>reading --apply>git
    --unsafe-paths>unknown --directory=>unknown --build-fake-ancestor=>unknown
format-patch | git | text | * --ext-diff>execute --textconv>execute -o:>write --output-directory=>write
    --output=>write
switch | git | text | -cqdtm --create= --quiet --detach --track=? --guess --no-guess --orphan= --progress
    --no-progress --merge -f>destructive --force>destructive --discard-changes>destructive -C:>destructive
    --force-create=>destructive
checkout | git | own | * -f>destructive --force>destructive -B:>destructive --ours>destructive
    --theirs>destructive -m>destructive --merge>destructive -p>unknown --patch>unknown
    --pathspec-from-file=>destructive --overwrite-ignore>destructive
restore | destructive | own | *
reset | git | text | * --hard>destructive --merge>destructive --keep>destructive -p>unknown --patch>unknown
clean | destructive | text | * -n>reading --dry-run>reading -f>destructive --force>destructive -i>unknown
    --interactive>unknown
stash | git | own | *
branch | git | own | *
tag | git | own | *
remote | git | own | *
config | unknown | own | *
reflog | destructive | own | *
worktree | git | own | *
submodule | unknown | own | *
notes | git | own | *
bisect | git | own | *
push | network git | text | * -f>destructive --force>destructive --force-with-lease=?>destructive
    --force-if-includes>destructive --delete>destructive -d>destructive --mirror>destructive
    --prune>destructive --no-verify>destructive --receive-pack=>execute --exec=>execute -o: --push-option=
    --repo=
fetch pull | network git | text | * --upload-pack=>execute --exec=>execute -f>destructive --force>destructive
    -s:>execute --strategy=>execute -o: --server-option= --prune -p --no-verify>destructive
    --update-head-ok>destructive -u>destructive --refmap=
clone | network git | text | -lnqvsb:o:j: --branch= --origin= --depth= --single-branch --no-single-branch
    --quiet --verbose --no-checkout --bare --mirror --recursive --recurse-submodules=? --shallow-since=
    --shallow-submodules --filter= --no-tags --jobs= --sparse --progress --reference= --dissociate -c:>execute
    --config=>execute -u:>execute --upload-pack=>execute --template=>execute --separate-git-dir=>unknown
gc | git | text | --quiet --auto --aggressive --no-prune -q --prune=?>destructive --force>destructive --cruft
    --no-cruft
prune filter-branch filter-repo update-ref symbolic-ref replace prune-packed | destructive | text | *
verify-commit verify-tag verify-pack lfs hook | execute | text | *
difftool mergetool gui citool instaweb send-email imap-send daemon http-backend http-fetch http-push shell
    credential credential-cache credential-store svn p4 cvsserver cvsimport cvsexportcommit archimport
    request-pull maintenance bugreport diagnose help web--browse interpret-trailers bundle fast-import
    fast-export backfill refs scalar remote-ext remote-fd remote-http remote-https upload-pack upload-archive
    receive-pack send-pack fetch-pack | unknown | text | *
"""

NOUNS = {
    "stash": {
        "read": "list show",
        "destructive": "drop clear",
        "git": " push save pop apply create store branch",
    },
    "remote": {
        "read": " get-url",
        "network": "show update",
        "unknown": "add set-url rename remove rm",
    },
    "reflog": {"read": " show exists list", "destructive": "expire delete drop"},
    "worktree": {"read": "list", "git": "add lock unlock", "destructive": "remove prune move repair"},
    "submodule": {
        "read": " status summary",
        "execute": "foreach",
        "network": "update add",
        "git": "init sync",
    },
    "notes": {"read": " list show get-ref", "git": "add append copy", "destructive": "remove prune merge"},
    "bisect": {"read": "log", "execute": "run", "git": "start good bad new old skip reset terms replay"},
}
"""Subcommands with a second verb, by effect; a leading blank means no verb."""

LISTING = {
    "branch": parse_word_set(
        "-a -r -v -vv -l -i -q --all --remotes --verbose --list --show-current --ignore-case --no-color --no-column"
        " --color --column --quiet -av -avv -rv -va -vva -ra -ar --no-abbrev --omit-empty"
    ),
    "tag": parse_word_set(
        "-l --list -n -i --ignore-case --no-column --column --no-color --color --omit-empty"
    ),
}
"""Options of `git branch` and `git tag` that only list."""

LISTING_WITH_VALUE = parse_word_set(
    "--sort= --format= --contains= --no-contains= --merged= --no-merged= --points-at= --abbrev= --color= --column="
)
"""Listing options with a value."""

LOSING = {
    "branch": parse_word_set("-D -f --force -M -C -d --delete"),
    "tag": parse_word_set("-d --delete -f --force"),
}
"""Options that delete a name, and with it history that no other name refers to."""

CONFIG_READS = parse_word_set(
    "--get --get-all --get-regexp --get-urlmatch --list -l get list --get-color --get-colorbool"
)
CONFIG_SHOWS = parse_word_set(
    "--global --local --system --worktree --show-origin --show-scope --null -z --name-only --all --includes"
    " --no-includes --bool --int --path --type=bool --type=int --type=path --bool-or-int --regexp"
)
