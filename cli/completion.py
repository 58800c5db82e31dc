"""Completion for shells, by typer's own machinery."""

from __future__ import annotations

HOW = {
    "bash": "patchwright completion bash > ~/.local/share/bash-completion/completions/patchwright",
    "zsh": "patchwright completion zsh > ~/.zfunc/_patchwright   (with fpath+=~/.zfunc before compinit in ~/.zshrc)",
    "fish": "patchwright completion fish > ~/.config/fish/completions/patchwright.fish",
}
"""How each script gets to where its shell looks."""

COMPLETING = "_PATCHWRIGHT_COMPLETE"
"""The variable in which a shell asks for completions."""

PROGRAMS = ("patchwright", "pw")


def source(shell: str) -> str:
    """The script for a shell, for both names of the program."""
    from typer._completion_shared import get_completion_script  # the public one only prints

    scripts = [
        get_completion_script(prog_name=name, complete_var=COMPLETING, shell=shell) for name in PROGRAMS
    ]
    first = f"# {HOW[shell]}"
    if shell == "zsh":  # the file of an autoloaded function begins with what it completes
        lines = [
            line for script in scripts for line in script.splitlines() if not line.startswith("#compdef")
        ]
        return "\n".join([f"#compdef {' '.join(PROGRAMS)}", first, *lines]) + "\n"
    return "\n".join([first, *scripts]) + "\n"
