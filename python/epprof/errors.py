"""Errors of the library."""
import enum


class Code(enum.IntEnum):
    """The reason of an error: `epp_code` of epprof/status.h."""

    INVALID_ARGUMENT = 1
    OUT_OF_MEMORY = 2
    IO = 3
    NOT_FOUND = 4
    INCOMPATIBLE = 5
    CORRUPT = 6
    UNAVAILABLE = 7
    BUSY = 8
    TIMEOUT = 9
    PLUGIN = 10
    LOSSY = 11
    EXISTS = 12
    CANCELLED = 13
    LIMIT = 14
    WRONG_STATE = 15


class Error(Exception):
    """A call of the library failed; `code` is the reason, and the text names the object."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = Code(code)
