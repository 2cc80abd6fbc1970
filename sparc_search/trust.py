"""Folders that the user trusts: a `sparc-search.toml` in one of them may say where secrets go and which code runs.

The list is a file in the user's configuration folder: each folder by its real path, with the hash of its file, so that
a file that has changed must be trusted again. SECURITY.md says what is refused without.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .errors import ConfigError

LIST_NAME: Final = "trusted.json"


def digest(content: bytes) -> str:
    """The hash of a file's content."""
    import hashlib

    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Trusted:
    """The list at `path`: real paths of folders with the hash of their file."""

    path: Path
    folders: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, user_folder: Path) -> Trusted:
        """The list of a user; empty if there is none."""
        import json

        path = user_folder / LIST_NAME
        try:
            folders = json.loads(path.read_text(encoding="utf-8"))["folders"]
            return cls(path, {str(folder): str(hash) for folder, hash in folders.items()})
        except (FileNotFoundError, NotADirectoryError):
            return cls(path)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ConfigError(f"cannot read the list of trusted folders {path}", "correct or remove it") from error

    def holds(self, folder: Path, hash: str) -> bool:
        """Whether the folder is trusted with this very file."""
        return self.folders.get(_real(folder)) == hash

    def knows(self, folder: Path) -> bool:
        """Whether the folder was trusted, whatever has become of its file."""
        return _real(folder) in self.folders

    def add(self, folder: Path, hash: str) -> Trusted:
        """Trust a folder with this file."""
        return self._write({**self.folders, _real(folder): hash})

    def remove(self, folder: Path) -> Trusted:
        """Trust it no longer."""
        return self._write({known: hash for known, hash in self.folders.items() if known != _real(folder)})

    def _write(self, folders: dict[str, str]) -> Trusted:
        import json

        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps({"folders": folders}, indent=2) + "\n", encoding="utf-8")
            os.replace(part, self.path)
        except OSError as error:
            raise ConfigError(f"cannot write {self.path}: {error.strerror}", "make its folder writable") from error
        return Trusted(self.path, folders)


def _real(folder: Path) -> str:
    return str(folder.resolve())
