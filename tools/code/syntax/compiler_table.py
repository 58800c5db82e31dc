"""Table of compilers and interpreters that check a text on their input, and run none of it."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A program that only parses. Its exit code is 0 if it accepts the text.

    language: name in `tools.code.languages`
    program: its name on the PATH; "python" is found as for the tests
    forms: arguments for each form that a file may have; a text is right if it is in one of them
    complaint: pattern of its first error, with the groups line and message
    version: command that prints its version; empty if the complaint comes with it
    declared: files of the project → pattern of the version that it asks for
    foreign: pattern of texts that are in another dialect
    wrapper: command that takes the program and its arguments, for one that reads files only
    """

    language: str
    program: str
    forms: tuple[tuple[str, ...], ...]
    complaint: str
    version: tuple[str, ...] = ()
    declared: Mapping[str, str]
    suffixes: tuple[str, ...] = ()
    foreign: str = ""
    wrapper: tuple[str, ...] = ()


_PYTHON = """
import sys
print("version %d.%d" % sys.version_info[:2])
try:
    compile(sys.stdin.buffer.read(), "<edit>", "exec", 0x400, True)
except SyntaxError as error:
    print("line %d: %s" % (error.lineno or 1, error.msg))
    sys.exit(1)
"""
"""0x400 (PyCF_ONLY_AST), a text of bytes: no module is imported for it."""

_RUBY = """
begin
  RubyVM::InstructionSequence.compile(STDIN.read.force_encoding("UTF-8"))
rescue SyntaxError => error
  puts error.message
  exit 1
end
"""
"""Not `ruby -c`: that obeys a first line such as `#!ruby -r./file`, and loads the file."""

_FILE = ("sh", "-c", 'cd "$(mktemp -d)" && cat >A.java && exec "$0" "$@" A.java')
"""The private /tmp of a command in the sandbox ends with it."""

_SCRIPT, _MODULE = ("--check", "-"), ("--check", "--input-type=module", "-")
_NODE = r"\[stdin\]:(?P<line>\d+)\n(?:.*\n)*?\w*Error: (?P<message>.*)"
_NODE_VERSIONS = {
    ".nvmrc": r"^v?(\d+)",
    ".node-version": r"^v?(\d+)",
    ".tool-versions": r"^node(?:js)?\s+(\d+)",
    "package.json": r'"node"\s*:\s*"\D*(\d+(?:\.\d+)?)',
}


def _list_node(suffix: str, *forms: tuple[str, ...]) -> Compiler:
    return Compiler(
        language="javascript", program="node", suffixes=(suffix,), forms=forms, complaint=_NODE,
        version=("node", "--version"), declared=_NODE_VERSIONS, foreign=r"@flow\b|@jsx|</\w|/>|<>",
    )  # fmt: skip


COMPILERS = (
    Compiler(
        language="python", program="python", forms=(("-I", "-S", "-W", "ignore", "-c", _PYTHON),),
        complaint=r"line (?P<line>\d+): (?P<message>.*)",
        declared={
            ".python-version": r"(\d+\.\d+)",
            ".tool-versions": r"^python\s+(\d+\.\d+)",
            "pyproject.toml": r"""^requires-python\s*=\s*["']\D*(\d+\.\d+)""",
        },
    ),
    _list_node(".mjs", _MODULE),
    _list_node(".cjs", _SCRIPT),
    _list_node(".js", _SCRIPT, _MODULE),
    Compiler(
        language="php", program="php", forms=(("-n", "-d", "display_errors=1", "-d", "log_errors=0", "-l"),),
        complaint=r"Parse error:\s+(?P<message>.*) in .* on line (?P<line>\d+)",
        version=("php", "-n", "--version"),
        declared={
            "composer.json": r'"php"\s*:\s*"\D*(\d+\.\d+)',
            ".tool-versions": r"^php\s+(\d+\.\d+)",
        },
    ),
    Compiler(  # the second form of complaint is that of Ruby 3.4's parser
        language="ruby", program="ruby", forms=(("--disable-all", "-W0", "-e", _RUBY),),
        complaint=r"<compiled>:(?P<line>\d+): (?:syntax errors? found.*\n(?:.*\n)*?.*\^+~* )?(?P<message>.*)",
        version=("ruby", "--disable-all", "--version"),
        declared={
            ".ruby-version": r"(\d+\.\d+)",
            ".tool-versions": r"^ruby\s+(\d+\.\d+)",
            "Gemfile": r"""^\s*ruby\s*\(?["']\D*(\d+\.\d+)""",
        },
    ),
    Compiler(
        language="bash", program="bash", forms=(("--norc", "-O", "extglob", "-n", "/dev/stdin"),),
        complaint=r"line (?P<line>\d+): (?P<message>.*)",
        version=("bash", "--version"), declared={}, foreign=r"\A#!(?!.*\b(?:ba|da)?sh\b)",
    ),
    Compiler(
        language="go", program="gofmt", forms=(("-e",),),
        complaint=r"<standard input>:(?P<line>\d+):\d+: (?P<message>.*)",
        version=("go", "version"),
        declared={"go.mod": r"^go\s+(\d+\.\d+)", "go.work": r"^go\s+(\d+\.\d+)"},
    ),
    Compiler(  # an older edition has fewer keywords
        language="rust", program="rustfmt",
        forms=tuple(("--quiet", "--emit", "stdout", "--edition", each) for each in ("2024", "2015")),
        complaint=r"error: (?P<message>.*)\n\s*--> <stdin>:(?P<line>\d+)",
        version=("rustc", "--version"),
        declared={
            "Cargo.toml": r'^rust-version\s*=\s*"(\d+\.\d+)',
            "rust-toolchain.toml": r'^channel\s*=\s*"(\d+\.\d+)',
            "rust-toolchain": r"^(\d+\.\d+)",
        },
    ),
    Compiler(  # it ends after parsing, by its name for that since Java 9, and by that of Java 8
        language="java", program="javac", wrapper=_FILE,
        forms=(("-proc:none", "-encoding", "UTF-8", "-XDrawDiagnostics", "-XDshould-stop.ifNoError=PARSE",
                "-XDshouldStopPolicyIfNoError=PARSE"),),
        complaint=r"A\.java:(?P<line>\d+):\d+: compiler\.err\.(?P<message>(?!feature|preview)[^\n]*)",
        version=("javac", "-version"),
        declared={
            ".java-version": r"(\d+)",
            ".tool-versions": r"^java\s+\D*(\d+)",
            "pom.xml": r"<(?:maven\.compiler\.)?(?:release|source|java\.version)>(?:1\.)?(\d+)",
            "build.gradle": r"(?:JavaLanguageVersion\.of\(|sourceCompatibility\D*?)(?:1\.)?(\d+)",
            "build.gradle.kts": r"(?:JavaLanguageVersion\.of\(|sourceCompatibility\D*?)(?:1\.)?(\d+)",
        },
    ),
    Compiler(
        language="lua", program="luac", forms=(("-p", "-"),),
        complaint=r"luac[^:]*: stdin:(?P<line>\d+): (?P<message>.*)",
        version=("luac", "-v"), declared={".tool-versions": r"^lua\s+(\d+\.\d+)"},
    ),
)  # fmt: skip
"""The first one whose language and suffix a file has is asked. `perl -c` runs blocks of the text, `tsc` is a
package of the project, and C compilers need the options of each file."""

ENVIRONMENT = {"NODE_OPTIONS": "", "RUBYOPT": "", "BASH_ENV": "", "ENV": "", "PHP_INI_SCAN_DIR": ""}
"""Variables by which such programs load other files, set to nothing."""
