"""Servers do not run as root: another account does, and it must be able to get at its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparc_search.errors import ServerError
from sparc_search.servers import account
from sparc_search.servers.account import Account, other_account, own, reachable

STRANGER = Account(54321, 54321)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root sees it: the server's account is another one."""
    monkeypatch.setattr(account, "other_account", lambda: STRANGER)


def test_only_root_needs_another_account() -> None:
    found = other_account()
    assert (found is not None) == (os.geteuid() == 0)
    assert found is None or found.user != 0


@pytest.mark.usefixtures("root")
def test_a_folder_that_only_its_owner_may_enter_is_refused_and_not_made(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ServerError, match="only root may enter") as caught:
        own(closed / "data")
    assert "--data" in caught.value.remedy
    assert not (closed / "data").exists()


def test_what_decides_is_the_owner_then_the_group_then_the_others(tmp_path: Path) -> None:
    mine = Account(tmp_path.stat().st_uid, -1)
    ours = Account(-1, tmp_path.stat().st_gid)
    for mode, expected in ((0o100, (True, False, False)), (0o010, (False, True, False)), (0o001, (False, False, True))):
        tmp_path.chmod(mode)
        assert tuple(account._may_enter(tmp_path, one) for one in (mine, ours, STRANGER)) == expected
    tmp_path.chmod(0o700)


def test_a_folder_of_ones_own_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "other_account", lambda: None)
    assert reachable(tmp_path / "a" / "b")
    assert own(tmp_path / "a" / "b").is_dir()
