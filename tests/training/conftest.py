"""Training tests run on one thread: tiny matrices are slower on many, and sums keep their order."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
