"""Guards of a workspace: files that act by themselves, git folders, hard links, denied files under other names."""
