"""Events, actions and turns as lines of text."""
