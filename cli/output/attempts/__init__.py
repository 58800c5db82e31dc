"""Views of the attempts of a turn: the tree, one of them, two side by side."""
