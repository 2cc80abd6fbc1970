"""Models of the ablations: trained without SPARC, or with trigrams. Both go the whole way, from training to answers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from engines import open_local
from small_corpus import encode_all, plain
from tiny_model import tiny_model
from tiny_training import CLS_SEP_PAD, random_passages

from sparc_search.index import Index
from sparc_search.model.encoder_torch import encoder_of
from sparc_search.settings import load
from sparc_search.training.loop import Training, TrainingSettings

TEXTS = ("the gold dome in rome was built in 1882", "the bridge of paris was built by queen mary")


@pytest.mark.parametrize("ngrams", [(), (1, 2, 3)])
def test_from_training_to_answers(ngrams: tuple[int, ...], tmp_path: Path) -> None:
    torch.set_num_threads(1)
    model = tiny_model(ngrams=ngrams)
    losses: list[float] = []
    training = Training(model.network, random_passages(1, 8), [], CLS_SEP_PAD, TrainingSettings(steps=2))
    training.run(lambda news: losses.append(news.losses["total"]))
    assert len(losses) == 2
    assert all(loss == loss for loss in losses)  # not a number is not equal to itself
    encoder = encoder_of(model, "variant")
    documents = [plain(str(number), text) for number, text in enumerate(TEXTS)]
    with open_local(tmp_path, encoder.fingerprint, writable=True) as store:
        store.add(encode_all(documents, encoder))
    for strategy in ("sparse", "dense", "hybrid"):
        with Index.open(tmp_path, settings=load({"strategy": strategy}), encoder=encoder) as index:
            best = index.ask("when was the gold dome built").best
        assert best is not None
        sparse = sum(abs(part.value) for part in best.parts if part.kind.startswith("sparse"))
        assert (sparse > 0) is bool(ngrams)
