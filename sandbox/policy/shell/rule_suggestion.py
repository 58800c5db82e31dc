"""Patterns that "always allow" stores for a segment: never a whole interpreter or wrapper, nor an unknown command."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.shell.parsing.syntax import parse_word_set

BANNED = parse_word_set("""
    bash sh dash ash zsh ksh fish csh tcsh pwsh powershell cmd busybox toybox
    python python2 python3 pypy pypy3 node nodejs deno bun ruby perl php lua luajit java groovy julia R Rscript
    tclsh guile racket elixir erl swift osascript sqlite3 ts-node tsx irb
    env sudo doas su nohup nice ionice setsid stdbuf timeout time xargs watch parallel command builtin exec eval source
    . find fd awk gawk mawk sed git docker podman kubectl ssh scp rsync
    npm npx pnpm pnpx yarn bunx pip pip3 pipx uv uvx poetry cargo go gem bundle composer make cmake ninja just task
    curl wget nc socat gdb strace vim vi nano emacs less man tmux screen
    """)
"""Never stored alone, as `NAME *`: each runs arbitrary code given by its arguments."""

BANNED_PAIRS = frozenset(
    """
    npm run|npm exec|npm x|npm explore|npm start|pnpm run|pnpm exec|pnpm dlx|yarn run|yarn exec|yarn dlx|bun run|bun x
    uv run|uv tool|poetry run|pipx run|cargo run|cargo install|go run|go generate|go tool|bundle exec|composer exec
    deno run|deno eval|deno task|docker run|docker exec|podman run|podman exec|kubectl exec|git config|git submodule
    git bisect|git rebase|git filter-branch|git clone|python -m|python3 -m|python -c|python3 -c|node -e|node -p
    perl -e|ruby -e|php -r|bash -c|sh -c|dotnet run|mvn exec|gradle run|swift run|hatch run|tox exec|mise exec
    """.replace("\n", "|")
    .strip()
    .split("|")
)
"""Likewise never stored as `NAME WORD *`."""

_BANNED_PAIRS = frozenset(pair.strip() for pair in BANNED_PAIRS)

_NEVER = frozenset(("unknown", "destructive"))
_WORD = compile_lazily(r"[A-Za-z0-9][A-Za-z0-9:_.-]*")

WORDS = {
    "npm": 3,
    "pnpm": 3,
    "yarn": 3,
    "bun": 3,
    "uv": 3,
    "poetry": 3,
    "cargo": 2,
    "go": 2,
    "git": 2,
    "make": 2,
}
"""Number of words that identify the operation; for other commands the first, with the second if it is a verb."""

_VERBS = 3
"""`npm run test`, `uv run pytest`: no command needs more words to be identified."""


def suggest_pattern(words: Sequence[str], effects: Sequence[Effect], *, plain: bool) -> str | None:
    """Return a pattern for this command and similar ones, None if only the exact line may be allowed.

    words: the arguments, if all are known
    plain: there is no wrapper, and no part that is unknown before it runs
    """
    if not words or not plain or any(effect.kind in _NEVER or effect.outside for effect in effects):
        return None
    count = _count_verb_words(words)
    prefix = " ".join(words[:count])
    if prefix in BANNED or prefix in _BANNED_PAIRS:
        return None
    if len(words) == count:
        return prefix
    return f"{prefix} *"


def _count_verb_words(words: Sequence[str]) -> int:
    wanted = WORDS.get(words[0], 1)
    count = 1
    while count < min(wanted, len(words)) and _WORD.fullmatch(words[count]):
        count += 1
        if count == _VERBS - 1 and " ".join(words[:count]) not in _BANNED_PAIRS:
            break
    return count
