"""Tools that read, list, write and search files of the workspace."""
