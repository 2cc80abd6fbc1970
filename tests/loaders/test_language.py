from __future__ import annotations

from pathlib import Path

import pytest

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.loaders.language import language_of
from sparc_search.settings import Settings

TEXTS = {
    "English": "The hut stands at the foot of the mountain, and it is open from June to October. Those who want "
    "to stay "
    "for a night must write to the warden, which is best done by letter.",
    "German": "Die Hütte steht am Fuß des Berges und ist von Juni bis Oktober geöffnet. Wer eine Nacht bleiben "
    "will, muss "
    "dem Hüttenwart schreiben, und das geht am besten mit einem Brief. Sie ist nicht geheizt.",
    "French": "La cabane se trouve au pied de la montagne et elle est ouverte de juin à octobre. Pour passer "
    "une nuit dans "
    "la cabane, il faut écrire au gardien, ce qui est plus facile par lettre.",
    "Spanish": "La cabaña está al pie de la montaña y se abre en los meses de junio a octubre. Para pasar una "
    "noche hay que "
    "escribir al guarda, y lo mejor es hacerlo por carta con las señas.",
    "Italian": "Il rifugio si trova ai piedi della montagna ed è aperto da giugno a ottobre. Per passare una "
    "notte si deve "
    "scrivere al custode, che è più facile con una lettera. Non sono ammessi i cani nel rifugio.",
    "Dutch": "De hut staat aan de voet van de berg en is open van juni tot oktober. Wie een nacht wil blijven moet de "
    "huttenwaard schrijven, en dat gaat het best met een brief. Het is niet voor honden.",
    "Cyrillic script": "Хижина стоит у подножия горы и открыта с июня по октябрь. Кто хочет остаться на ночь, пишет.",
    "Chinese": "小屋位于山脚下，从六月到十月开放。想要过夜的人必须写信给管理员，最好用信件联系。",
    "Japanese": "山小屋は山のふもとにあり、六月から十月まで開いています。泊まりたい人は管理人に手紙を書いてください。",
    "": "x = 1; y = f(x); return y + 2 * z if a else b while c for d 17 18 19 foo bar baz qux quux corge grault",
}


@pytest.mark.parametrize("name", TEXTS)
def test_languages_are_told_apart(name: str) -> None:
    assert language_of(TEXTS[name]) == name


@pytest.mark.parametrize("text", ["", "Bern", "1 2 3 " * 100, "\ud800" * 50, "a" * 100_000])
def test_what_says_nothing_has_no_language(text: str) -> None:
    assert language_of(text) == ""


def test_an_ingest_tells_of_languages_that_the_model_does_not_know(
    tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name or 'none'}.txt").write_text(text)
    settings = Settings()
    with Index.create(tmp_path / "any", settings=settings, encoder=toy_encoder) as index:
        assert index.ingest(tmp_path, include=["*.txt"]).languages == {}
    monkeypatch.setattr(toy_encoder, "card", {**toy_encoder.card, "language": "English"})
    with Index.create(tmp_path / "index", settings=settings, encoder=toy_encoder) as index:
        assert index.ingest(tmp_path, include=["*.txt"]).languages == {
            name: 1 for name in TEXTS if name not in ("", "English")
        }
