"""A process of the user's that has the program loaded and is forked for each start (`patchwright warm`)."""
