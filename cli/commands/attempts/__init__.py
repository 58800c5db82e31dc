"""`patchwright attempts`: the attempts of a turn, for the person to look at, compare and take."""
