"""The command `vtc`: `command.py` reads the command line, and each verb is a module beside it."""

from vtc.cli.command import main

__all__ = ["main"]
