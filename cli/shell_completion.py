"""Completion scripts for shells, which ask the program itself for candidates (through typer's machinery).

typer's own scripts are not used: its zsh script completes nothing at the first Tab after it was autoloaded,
loses apostrophes, and its fish script starts the program twice for each Tab.
"""

from __future__ import annotations

HOW = {
    "bash": "patchwright completion bash > ~/.local/share/bash-completion/completions/patchwright   (for pw: a link to"
    " it beside it, named pw; without bash-completion: source it in ~/.bashrc)",
    "zsh": "patchwright completion zsh > ~/.zfunc/_patchwright   (with fpath+=~/.zfunc before compinit in ~/.zshrc)",
    "fish": "patchwright completion fish > ~/.config/fish/completions/patchwright.fish   (for pw: a link to it beside"
    " it, named pw.fish)",
}
"""Installation of each script for its shell."""

COMPLETING = "_PATCHWRIGHT_COMPLETE"
"""Variable by which a shell requests completions."""

SCRIPTS = {
    "bash": """\
_patchwright_completion() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _PATCHWRIGHT_COMPLETE=complete_bash "$1"))
}
complete -o default -F _patchwright_completion patchwright pw
""",
    # The file is the body of an autoloaded function: at its first call it has to complete as well as to
    # define. Evaluated text writes an apostrophe as two: an option of zsh reads it so.
    "zsh": """\
_patchwright() {
    setopt local_options rc_quotes
    local program=${words[1]}
    eval "$(_TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _PATCHWRIGHT_COMPLETE=complete_zsh ${~program})"
}
if [ "${funcstack[1]}" = _patchwright ]; then
    _patchwright "$@"
else
    compdef _patchwright patchwright pw
fi
""",
    "fish": """\
function __patchwright_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -lx _PATCHWRIGHT_COMPLETE complete_fish
    set -lx _TYPER_COMPLETE_FISH_ACTION get-args
    set -lx _TYPER_COMPLETE_ARGS (commandline --cut-at-cursor --current-process | string collect)
    set -l found ($words[1])
    if test -n "$found"  # nothing to offer is an empty line
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline --current-token)
    end
end
complete --command patchwright --no-files --arguments '(__patchwright_complete)'
complete --command pw --no-files --arguments '(__patchwright_complete)'
""",
}


def build_completion_script(shell: str) -> str:
    """Return the script for a shell, for both names of the program."""
    # The file of an autoloaded function begins with the names that it completes.
    first = "#compdef patchwright pw\n" if shell == "zsh" else ""
    return f"{first}# {HOW[shell]}\n{SCRIPTS[shell]}"
