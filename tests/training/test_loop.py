"""A run learns, and a run that was killed ends with the same bits as one that was not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tiny_model import tiny_network
from tiny_training import CLS_SEP_PAD, random_passages

from sparc_search.errors import ModelDamaged
from sparc_search.training.batches import BatchShape
from sparc_search.training.held_out import measure
from sparc_search.training.loop import Progress, Training, TrainingSettings
from sparc_search.training.objective import LossWeights

SETTINGS = TrainingSettings(
    steps=9,
    rate=1e-3,
    warm_up=2,
    cool_down=3,
    evaluate_every=4,
    checkpoint_every=2,
    batch=BatchShape(passages=4, group=2, questions_per_passage=2),
)


def training(settings: TrainingSettings = SETTINGS, checkpoint: Path | None = None, count: int = 10) -> Training:
    """Always the same beginning: ten passages are three steps an epoch, so that nine steps see all kinds of mining."""
    return Training(
        tiny_network(), random_passages(0, count, 3), random_passages(1, 4), CLS_SEP_PAD, settings, checkpoint
    )


def quiet(_: Progress) -> None:
    pass


class Killed(BaseException):
    """No code catches this."""


def test_eight_examples_are_learned_by_heart() -> None:
    data = random_passages(7, count=4, questions=2, longest=9)
    settings = TrainingSettings(
        steps=120, rate=2e-3, head_rate=2, warm_up=5, cool_down=40, average=0.9, evaluate_every=1000
    )
    run = Training(tiny_network(), data, data, CLS_SEP_PAD, settings)
    run.run(quiet)
    measures = measure(run.network, data, CLS_SEP_PAD)
    assert (measures["em"], measures["f1"], measures["em_dense_only"]) == (1.0, 1.0, 1.0)
    assert measures["passage_first_vector"] == measures["passage_first_bound"] == 1.0
    assert run.history[-1]["total"] < 0.1 * run.history[0]["total"]


@pytest.mark.parametrize("last", [1, 2, 3, 5, 8])
def test_killed_and_resumed_is_as_if_nothing_had_happened(tmp_path: Path, last: int) -> None:
    whole = training()
    whole.run(quiet)

    def die(news: Progress) -> None:
        if news.step == last:
            raise Killed

    killed = training(checkpoint=tmp_path / "checkpoint")
    with pytest.raises(Killed):
        killed.run(die)
    resumed = training(checkpoint=tmp_path / "checkpoint")
    if last > 2:  # the first checkpoint comes after step 2
        resumed.resume()
        assert resumed.step == (last - 1) // 2 * 2
    resumed.run(quiet)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name]), name
    assert resumed.history == whole.history
    assert resumed.best == whole.best


def test_stopped_and_prolonged(tmp_path: Path) -> None:
    """A stop is asked for between steps and leaves a checkpoint; from it all goes on."""
    asked = training(checkpoint=tmp_path / "checkpoint")
    asked.run(quiet, stop=lambda: asked.step >= 5)
    assert asked.step == 5
    resumed, whole = training(checkpoint=tmp_path / "checkpoint"), training()
    resumed.resume()
    assert resumed.step == 5
    resumed.run(quiet)
    whole.run(quiet)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name]), name


def test_a_checkpoint_of_an_older_version_says_nothing_of_newer_settings(tmp_path: Path) -> None:
    training(checkpoint=tmp_path / "checkpoint").run(quiet, stop=lambda: True)
    file = tmp_path / "checkpoint" / "state.json"
    state = json.loads(file.read_text())
    for name in ("dropout", "freeze_layers", "paths", "quantise"):
        del state["settings"][name]
    del state["settings"]["batch"]["traps_per_passage"]
    file.write_text(json.dumps(state))
    resumed = training(checkpoint=tmp_path / "checkpoint")
    resumed.resume()
    resumed.run(quiet)
    assert resumed.step == SETTINGS.steps


def test_word_embeddings_stay_as_they_are_and_all_else_moves() -> None:
    run = training()
    before = {name: value.detach().clone() for name, value in run.network.named_parameters()}
    run.run(quiet)
    same = {name for name, value in run.network.named_parameters() if torch.equal(value, before[name])}
    assert same == {"body.embeddings.word_embeddings.weight"}


def test_the_seed_decides() -> None:
    def weights(seed: int) -> torch.Tensor:
        run = training(TrainingSettings(steps=3, batch=SETTINGS.batch, seed=seed))
        run.run(quiet)
        return run.network.start.weight.detach()

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_other_data_cannot_resume(tmp_path: Path) -> None:
    training(checkpoint=tmp_path / "checkpoint").run(quiet)
    other = training(checkpoint=tmp_path / "checkpoint", count=9)
    with pytest.raises(ModelDamaged, match="30 questions"):
        other.resume()


def test_early_stop() -> None:
    settings = TrainingSettings(
        steps=50, rate=0.0, evaluate_every=1, patience=3, batch=SETTINGS.batch, losses=LossWeights()
    )
    run = training(settings)
    run.run(quiet)
    assert run.step == 4  # the first measurement is the best, three more are no better
