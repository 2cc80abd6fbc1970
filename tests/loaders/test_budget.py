from __future__ import annotations

import threading

from sparc_search.loaders.budget import Budget


def test_it_gives_what_it_has() -> None:
    budget = Budget(10)
    assert budget.try_take(6)
    assert not budget.try_take(5)
    assert budget.try_take(4)
    budget.give_back(6)
    assert budget.try_take(5)


def test_something_too_large_goes_alone() -> None:
    budget = Budget(10)
    assert budget.try_take(100)
    assert not budget.try_take(1)
    budget.give_back(100)
    assert budget.try_take(1)
    assert not budget.try_take(100)


def test_who_waits_is_woken_by_room_and_by_the_end() -> None:
    budget = Budget(10)
    budget.take(10)
    got: list[bool] = []
    waiting = threading.Thread(target=lambda: got.append(budget.take(5)))
    waiting.start()
    budget.give_back(10)
    waiting.join(timeout=30)
    assert got == [True]
    hopeless = threading.Thread(target=lambda: got.append(budget.take(8)))
    hopeless.start()
    budget.close()
    hopeless.join(timeout=30)
    assert got == [True, False]
