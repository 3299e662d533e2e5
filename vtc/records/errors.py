"""Errors that a user sees: one line that names the file and the mend, and the exit status it ends with."""

from __future__ import annotations


class VtcError(Exception):
    """Something could not be done. The message is one line: what, which file, how to mend it. Exit status 1."""

    status = 1


class UsageError(VtcError):
    """The request itself is wrong (an unknown name, an impossible number). Exit status 2."""

    status = 2


class VerificationError(VtcError):
    """Data came back different from what its checksum promises. Exit status 3."""

    status = 3
