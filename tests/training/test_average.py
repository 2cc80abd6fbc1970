"""The running average, and the learning rate over a run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sparc_search.training.average import WeightAverage, copy_into, trainable
from sparc_search.training.schedule import Schedule


class Three(nn.Module):
    """Two parameters of one shape whose names do not come in the order of the alphabet, and a frozen one."""

    def __init__(self) -> None:
        super().__init__()
        self.z = nn.Parameter(torch.full((2,), 1.0))
        self.a = nn.Parameter(torch.full((2,), 2.0))
        self.frozen = nn.Parameter(torch.zeros(2), requires_grad=False)


def values(module: nn.Module) -> dict[str, float]:
    return {name: float(parameter.detach()[0]) for name, parameter in module.named_parameters()}


def test_young_it_forgets_fast_and_old_it_keeps() -> None:
    module = Three()
    average = WeightAverage(module, decay=0.5)
    copy_into(module, {"z": torch.full((2,), 11.0), "a": torch.full((2,), 22.0)})
    average.update(module, 0)
    assert float(average.values["z"][0]) == pytest.approx(0.1 * 1 + 0.9 * 11)
    average.update(module, 1000)
    assert float(average.values["a"][0]) == pytest.approx(0.5 * (0.1 * 2 + 0.9 * 22) + 0.5 * 22)
    assert "frozen" not in average.values


def test_values_from_a_file_come_in_any_order() -> None:
    module = Three()
    average = WeightAverage(module, decay=0.5)
    average.values = {"a": torch.full((2,), 200.0), "z": torch.full((2,), 100.0)}  # files are sorted by name
    average.update(module, 1000)
    assert {name: float(value[0]) for name, value in average.values.items()} == {"z": 50.5, "a": 101.0}


def test_in_place_for_a_while() -> None:
    module = Three()
    average = WeightAverage(module, decay=0.5)
    copy_into(module, {"z": torch.zeros(2), "a": torch.zeros(2)})
    with average.in_place(module):
        assert values(module) == {"z": 1.0, "a": 2.0, "frozen": 0.0}
    assert values(module) == {"z": 0.0, "a": 0.0, "frozen": 0.0}
    with pytest.raises(ZeroDivisionError), average.in_place(module):
        raise ZeroDivisionError
    assert values(module)["z"] == 0.0
    assert list(trainable(module)) == ["z", "a"]


def test_warm_up_stay_cool_down() -> None:
    schedule = Schedule(total=100, warm_up=10, cool_down=20)
    rates = [schedule(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == 1.0
    assert set(rates[9:81]) == {1.0}
    assert rates[90] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(0.05)
    assert schedule(100) == 0.02  # the floor
    assert rates[:81] == [Schedule(200, 10, 20)(step) for step in range(81)]  # a longer run began the same


def test_a_schedule_without_ramps() -> None:
    assert [Schedule(total=3, warm_up=0, cool_down=0)(step) for step in range(3)] == [1.0, 1.0, 1.0]
