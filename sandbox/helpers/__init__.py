"""Our own programs (git, ripgrep, bubblewrap): found outside workspaces, started with bounds."""
