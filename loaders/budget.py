"""A bound on what is under way at once, shared by threads."""

from __future__ import annotations

import threading


class Budget:
    """So much may be under way; something larger than all of it may go alone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used = 0
        self._changed = threading.Condition()
        self._closed = False

    def try_take(self, amount: int) -> bool:
        """Take it if there is room."""
        with self._changed:
            if self._used and self._used + amount > self._most:
                return False
            self._used += amount
            return True

    def take(self, amount: int) -> bool:
        """Wait for room and take it; false if the budget was closed meanwhile."""
        while not self.try_take(amount):
            with self._changed:
                if self._closed:
                    return False
                self._changed.wait(timeout=1.0)
        return True

    def give_back(self, amount: int) -> None:
        """It is done with."""
        with self._changed:
            self._used -= amount
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
