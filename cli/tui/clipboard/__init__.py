"""The clipboard: text goes out by the terminal or a program of the desktop, images come in."""
