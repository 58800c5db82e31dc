"""What a terminal shows: live region, events, picker, pager."""
