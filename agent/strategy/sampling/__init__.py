"""`sample`: several attempts that differ, as many as are worth their price."""
