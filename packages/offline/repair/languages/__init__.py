"""Repair in languages other than Python: changes of tree-sitter trees, validated by the project's own tests."""
