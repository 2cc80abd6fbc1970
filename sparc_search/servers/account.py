"""Who a server runs as: the user, or, because servers refuse to run as root, `nobody`."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from ..errors import ServerError

NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """A user and a group of this machine."""

    user: int
    group: int


def other_account() -> Account | None:
    """The account that servers run as when we are root; none if we are not."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(NOBODY)
    except KeyError:
        raise ServerError(
            f"a server must not run as root, and there is no user {NOBODY!r} to run it", "run this as another user"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def own(folder: Path) -> Path:
    """Make `folder` and give it to the account that servers run as; its path is checked to be open to it."""
    if not reachable(folder):
        raise ServerError(
            f"{folder} lies inside a folder that only root may enter, and a server runs as {NOBODY!r}",
            "name another folder with --data, or run this as another user",
        )
    folder.mkdir(parents=True, exist_ok=True)
    account = other_account()
    if account:
        os.chown(folder, account.user, account.group)
    return folder


def reachable(path: Path) -> bool:
    """Whether the server's account may enter every folder above `path`."""
    account = other_account()
    above = [folder for folder in path.resolve().parents if folder.exists()]  # what is not there yet will be open
    return account is None or all(_may_enter(folder, account) for folder in above)


def _may_enter(folder: Path, account: Account) -> bool:
    status = folder.stat()
    if status.st_uid == account.user:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.group:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
