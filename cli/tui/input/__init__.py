"""The prompt line: keys, completion, history, pastes."""
