"""Documents beyond the window: a bank of compacted pages, of which each question gets the few that it is about."""
