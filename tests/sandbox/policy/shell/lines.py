"""Make shell lines: honest ones and tricky ones, from a grammar, from known attacks, from random bytes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_NAMES = """
    cat head tail sort uniq wc cut tr sed awk grep find xargs env timeout nice nohup setsid stdbuf tee cp mv
    ln rm mkdir rmdir touch truncate split dd tar zip unzip gzip shuf seq ls stat diff comm paste nl od tac
    basename dirname realpath readlink mktemp install date sha256sum base64 xxd iconv printenv uname id true
    false expr unlink bash sh git rg fd jq curl python make echo printf test [ cd read eval exec command
    builtin time trap source set export unset declare local shift type hash pwd wait tree less man yq chmod
    patch mkfifo unheard-of
"""
NAMES = _NAMES.split()

_ARGUMENTS = r"""
a.txt b.txt src src/c.py . .. ~ ~/x ../outside/x ./run.sh link/x away * *.txt -* ./* src/*.py {a,b}.txt
{a,b} {1..3} $x "$x" $HOME/x "$HOME" ${x:-a.txt} ${x:--o} $(echo a.txt) `echo -o` $((1+1)) $? -- - + =
x=1 n=~/x 'a b' "a b" '' "" 5 1 0 -1 +1 {} ; \; ! ( ) \( [ ] $'\x2do' $'a\tb' a\ b \- -\o --'output'=x
"-"o id sh 'id' p 1p s/a/b/ s/a/b/e 'w ../outside/x' '1e id' 's/a/b/w ../outside/x' '{print}'
'{print>"../outside/x"}' 'BEGIN{system("id")}' 1,2d '$d' '/a/p' -name -exec -delete -fprint -print -type
f -ok -execdir of=b.txt of=../outside/x if=a.txt xf cf tf czf x.tar x.tgz HEAD main status log diff
branch -D show -c -e -n -i -o -t -T -k -r -f -rf -p -x -v -d -I{} -I -0 -L -s -u -z -S -C -O -P -l -a
--output=x --output=../outside/x --outp=../outside/x --compress-program=id --comp=id --in-place
--expression=p --files0-from=a.txt --target-directory=../outside -t../outside --to-command=id --help
--version --checkpoint=1 --checkpoint-action=exec=id -oL -s9 '-n 1' "ls" 'ls; id' 'id > ../outside/x'
'cat a.txt' LANG=C PATH=.
"""


def _split(text: str) -> list[str]:
    """At blanks that aren't quoted: each piece is a piece of source."""
    pieces, piece, quote = [], "", ""
    for char in text:
        if char in "'\"" and quote in ("", char) and not piece.endswith("\\"):
            quote = "" if quote else char
        if char in " \n" and not quote and not piece.endswith("\\"):
            pieces.append(piece)
            piece = ""
        else:
            piece += char
    return [each for each in [*pieces, piece] if each]


ARGUMENTS = [*_split(_ARGUMENTS), "'a\\\nx'"]
REDIRECTS = (
    "> out.txt", ">> out.txt", "> ../outside/x", "> ~/x", "< a.txt", "2>&1", "&> out.txt", ">| out.txt",
    "<> out.txt", "> $x", "> away", "> link/x", "3> out.txt", ">& out.txt", "2> /dev/null", "<<< x",
    '<<< "$x"', '> "a b"', "> {a,b}", "> *.txt", "<<E\n$x a\nE", "<<'E'\nid\nE", "<<-E\n\tid\n\tE",
    "{fd}> out.txt", "> /tmp/x", "> src/../../outside/x",
)  # fmt: skip
JOINTS = (
    " ; ", " && ", " || ", " | ", " |& ", "\n", " & ", ";", "|", "&&", " \\\n",
)  # fmt: skip
WRAPPERS = (
    "env", "env -i", "env LANG=C", "env -u X", "timeout 1", "timeout -s KILL 1", "nice", "nice -n 1",
    "nohup", "stdbuf -oL", "command", "builtin", "exec", "eval", "time", "!", "xargs", "xargs -n 1",
    "xargs -I{}", "find . -exec", "bash -c", "sh -c", "setsid", "LANG=C", "x=1", "PATH=.", "IFS=x",
    "env --", "nice -5", "timeout -k1 1", "command -p", "time -p",
)  # fmt: skip
FRAMES = (
    "({})", "{{ {}; }}", "$({})", "`{}`", "echo $({})", 'echo "$({})"', "cat <({})", "if {}; then {}; fi",
    "f() {{ {}; }}; f", "for i in a b; do {}; done", "while {}; do break; done", "case x in x) {};; esac",
    "cd src && {}", "cd ..; {}", "{} > out.txt", "! {}", "time {}", "x=$({})", "[[ -n $({}) ]]", "{} &",
    "trap '{}' EXIT", "function ls {{ {}; }}; ls", "tee >({})", "cd link; {}",
)  # fmt: skip
CHARACTERS = " \t\n;&|<>(){}[]$`'\"\\*?~#!=-/.,:%@^+0123456789abioxeswpnr"


def line(random: Random, attacks: Sequence[str]) -> str:
    """One line."""
    choice = random.random()
    if choice < 0.55:
        return _composed(random)
    if choice < 0.9:
        return _mutated(random, random.choice(attacks))
    if choice < 0.97:
        return "".join(random.choices(CHARACTERS, k=random.randint(1, 40)))
    return random.randbytes(random.randint(1, 40)).decode(
        "utf-8", random.choice(("replace", "surrogateescape"))
    )


def _composed(random: Random) -> str:
    text = _command(random)
    while random.random() < 0.35:
        text += random.choice(JOINTS) + _command(random)
    while random.random() < 0.25:
        frame = random.choice(FRAMES)
        text = frame.format(*[text] * frame.count("{}"))
    return _mutated(random, text) if random.random() < 0.25 else text


def _command(random: Random) -> str:
    words = [_disguised(random, random.choice(NAMES))]
    for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4))):
        words.append(_argument(random))
    while random.random() < 0.15:
        words.insert(random.randint(0, len(words)), random.choice(REDIRECTS))
    while random.random() < 0.2:
        words.insert(0, random.choice(WRAPPERS))
    return " ".join(words)


def _argument(random: Random) -> str:
    if random.random() < 0.15:
        letters = "".join(random.choices("abcdefghijklmnopqrstuvwxyzTOPCIS0", k=random.randint(1, 3)))
        return f"-{letters}"
    return _disguised(random, random.choice(ARGUMENTS))


def _disguised(random: Random, word: str) -> str:
    """The same word (or nearly) in another spelling."""
    if random.random() > 0.12 or not word.isalnum():
        return word
    place = random.randint(0, len(word))
    return random.choice(
        (
            f"'{word}'",
            f'"{word}"',
            f"{word[:place]}''{word[place:]}",
            f"\\{word}",
            f"$'{word}'",
            f"{word[:place]}\\\n{word[place:]}",
            f"{{{word},}}",
            f"/bin/{word}",
            f"./{word}",
            f"{word[:place]}$x{word[place:]}",
            f"{word[:place]}?{word[place + 1 :]}",
        )
    )


def _mutated(random: Random, text: str) -> str:
    for _ in range(random.randint(1, 3)):
        place = random.randint(0, len(text))
        what = random.random()
        if what < 0.35:
            text = text[:place] + random.choice(CHARACTERS) + text[place:]
        elif what < 0.6:
            text = text[:place] + text[place + 1 :]
        elif what < 0.75:
            text = text[:place] + random.choice(CHARACTERS) + text[place + 1 :]
        elif what < 0.9:
            text = text[:place] + " " + random.choice(ARGUMENTS) + " " + text[place:]
        else:
            other = random.randint(0, len(text))
            text = text[: min(place, other)] + text[max(place, other) :]
    return text
