"""Terminal display: live region, events, picker, pager."""
