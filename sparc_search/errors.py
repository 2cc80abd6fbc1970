"""Everything this package raises on purpose.

    SparcSearchError            exit code 1
    ├── UsageError              exit code 2   the call itself is wrong
    │   └── Unsupported                       this engine, encoder or dense store does not do that
    ├── ConfigError             exit code 2   a setting is unknown or has a wrong value
    ├── NotThere                              what was asked for by name is not in the index
    ├── PluginError                           a plugin is unknown or does not load
    ├── MissingExtra                          an optional dependency is not installed
    ├── ReaderError                           a source cannot be read at all
    │   └── RejectedDocument                  one document cannot be read; the others can
    ├── IndexFailure                          something about an index
    │   ├── IndexNotFound                     there is none
    │   ├── IndexMismatch                     made by another format or model
    │   ├── IndexLocked                       another process is writing
    │   ├── IndexDamaged                      bytes are missing or changed
    │   └── DiskFull                          no room left to write
    ├── ModelError                            something about model files
    │   ├── ModelNotFound                     there are none
    │   └── ModelDamaged                      a wrong key, shape or hash
    ├── EngineError                           a search server failed or cannot be reached
    │   ├── Incomplete                        it answered, but a part of the index is not there
    │   └── ServerError                       a local server cannot be fetched, started or stopped
    └── Interrupted             exit code 130 stopped by Ctrl-C

Each carries a message (what is wrong) and a remedy (what to do about it). Only the command line turns them into
text and exit codes.
"""

from __future__ import annotations

from typing import ClassVar


class SparcSearchError(Exception):
    """The root: a message, and what to do about it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class UsageError(SparcSearchError):
    """The call itself is wrong: a missing argument, two options that exclude each other."""

    exit_code = 2


class Unsupported(UsageError):
    """A plugin is asked for something optional that it does not do."""


class ConfigError(SparcSearchError):
    """A setting is unknown or has a wrong value."""

    exit_code = 2


class NotThere(SparcSearchError):
    """What was asked for by name is not there: a passage, a phrase of it, an answer of that rank."""


class PluginError(SparcSearchError):
    """A plugin is unknown, does not load, or is not what its group asks for."""


class MissingExtra(SparcSearchError):
    """An optional dependency is not installed: `MissingExtra("train", "torch")` names the extra to install."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the optional dependencies `{extra}`", f"pip install 'sparc-search[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)


class ReaderError(SparcSearchError):
    """A source cannot be read: it is missing, has no rights, or is of no known format."""


class RejectedDocument(ReaderError):
    """One document cannot be read; the run goes on with the others."""


class IndexFailure(SparcSearchError):
    """Something about an index; the root of its kinds."""


class IndexNotFound(IndexFailure):
    """There is no index at this place."""


class IndexMismatch(IndexFailure):
    """The index was made by another format or another model."""


class IndexLocked(IndexFailure):
    """Another process is writing to the index."""


class IndexDamaged(IndexFailure):
    """Files of the index are missing or their bytes have changed."""


class DiskFull(IndexFailure):
    """There is no room left; what was acknowledged is safe."""


class ModelError(SparcSearchError):
    """Something about model files; the root of its kinds."""


class ModelNotFound(ModelError):
    """There is no model at this place."""


class ModelDamaged(ModelError):
    """A model file has a wrong key, shape or hash."""


class EngineError(SparcSearchError):
    """A search server failed or cannot be reached."""


class Incomplete(EngineError):
    """The engine answered, but not from the whole index: a shard is lost, a time limit was reached."""


class ServerError(EngineError):
    """A local server cannot be fetched, started or stopped."""


class Interrupted(SparcSearchError):
    """Stopped by the user; the remedy says how to go on."""

    exit_code = 130

    def __init__(self, message: str = "Interrupted", remedy: str = "") -> None:
        super().__init__(message, remedy)
