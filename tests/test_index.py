from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexMismatch, IndexNotFound, ModelDamaged, UsageError
from sparc_search.index import Index
from sparc_search.records import STRATEGIES, Document, Reply
from sparc_search.settings import Settings

Make = Callable[..., Index]


@pytest.fixture
def make(engine: Engine, toy_encoder: Encoder) -> Iterator[Make]:
    """Opens an index over some documents, on each engine."""
    opened = []

    def opener(*documents: Document, encoder: Any = toy_encoder, **settings: Any) -> Index:
        with engine.open(toy_encoder.fingerprint) as store:
            store.add(encode_all(documents, toy_encoder))
        index = Index.open(settings=engine.settings(**settings), encoder=encoder)
        opened.append(index)
        return index

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def index(make: Make) -> Index:
    return make(*DOCUMENTS)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_road_leads_to_the_answer(index: Index, strategy: Any) -> None:
    reply = index.ask("When was the Eiger climbed?", strategy=strategy)
    assert reply.best is not None
    assert reply.best.text == "1858"
    assert reply.best.passage.text[reply.best.start : reply.best.end] == "1858"
    assert reply.best.passage.title == "Alps"
    assert reply.best.passage.source == "alps.md"
    assert reply.strategy == strategy
    assert reply.best.roads == (("sparse", "dense") if strategy == "hybrid" else (strategy,))


def test_the_score_by_hand(make: Make) -> None:
    best = make(plain("a", "Apes in 1858"), lex_weight=0.0).ask("When apes?").best
    assert best is not None
    # Two dimensions of the passage: apes and in begin with a-f and g-m, 1858 with none; the question: when, apes.
    # start, end and span 1 each; the unigram `apes` two tokens away weighs 2/4 as a start and 1/2 as an end.
    inner = round(127 / 2**0.5) / 127 * 2 / 2**0.5
    assert best.text == "1858"
    assert best.score == pytest.approx(1 + 1 + 1 + inner + 0.5 + 0.5, abs=1e-6)
    assert sum(part.value for part in best.parts) == pytest.approx(best.score, abs=1e-12)


def test_an_explained_answer_adds_up_and_names_its_ngrams(index: Index) -> None:
    reply = index.ask("When was the Eiger first climbed?", explain=True, k=9)
    for answer in reply.answers:
        assert sum(part.value for part in answer.parts) == pytest.approx(answer.score, rel=1e-12, abs=1e-12)
    assert reply.best is not None
    named = {(part.kind, part.name) for part in reply.best.parts if part.name}
    assert ("sparse start", "first climbed") in named
    assert ("lex", "eiger") in named
    for part in reply.best.parts:
        if part.question_weight is not None and part.passage_weight is not None:
            assert part.value == pytest.approx(part.question_weight * part.passage_weight)


def test_explaining_changes_no_score(index: Index) -> None:
    question = "Who climbed the Matterhorn?"
    plainly, explained = index.ask(question), index.ask(question, explain=True)
    assert [answer.score for answer in plainly.answers] == [answer.score for answer in explained.answers]


def test_answers_do_not_overlap(index: Index) -> None:
    taken: dict[str, list[tuple[int, int]]] = {}
    for answer in index.ask("When was the Eiger climbed?", k=100).answers:
        for start, end in taken.setdefault(answer.passage.id, []):
            assert answer.end <= start or answer.start >= end
        taken[answer.passage.id].append((answer.start, answer.end))


def test_where_lets_only_some_passages_through(index: Index) -> None:
    for strategy in STRATEGIES:
        reply = index.ask("When was the Eiger climbed?", strategy=strategy, where={"kind": "water", "lang": "en"})
        assert {answer.passage.document_id for answer in reply.answers} == {"seas"}
        assert not index.ask("When?", strategy=strategy, where={"kind": "deserts"}).answers
        assert not index.ask("When?", strategy=strategy, where={"kind": "water", "lang": "de"}).answers


def test_an_empty_index_has_no_answer(make: Make) -> None:
    reply = make().ask("When was the Eiger climbed?")
    assert reply.answers == ()
    assert reply.best is None
    assert reply.confidence is None
    assert reply.candidates == 0


def test_one_passage_answers_everything(make: Make) -> None:
    best = make(plain("one", "Only 7 dwarfs.")).ask("When was the Eiger climbed?").best
    assert best is not None
    assert best.text == "7"


@pytest.mark.parametrize("text", ["", "...", "\n\n", "?! --"])
def test_passages_without_a_word_are_harmless(make: Make, text: str) -> None:
    index = make(plain("odd", text), *DOCUMENTS)
    best = index.ask("When was the Eiger climbed?").best
    assert best is not None
    assert best.text == "1858"
    assert all(answer.passage.document_id != "odd" for answer in index.ask("?", k=100).answers)


def test_no_ngram_in_common(index: Index) -> None:
    assert index.ask("Quokka zebra", strategy="sparse").answers == ()
    assert index.ask("Quokka zebra", strategy="hybrid").answers


def test_k_larger_than_everything_there_is(index: Index) -> None:
    reply = index.ask("When was the Eiger climbed?", k=10_000)
    assert 10 < len(reply.answers) < 100
    assert index.ask("When was the Eiger climbed?", k=1).answers == reply.answers[:1]


@pytest.mark.parametrize(
    "question",
    [
        "the of in is was",
        "word " * 400,
        "Wann wurde der Eiger erstmals bestiegen?",
        "艾格峰什么时候被首次登顶？",
        "When\x00was\x1b[31m the\tEiger\r\nclimbed\x9f?",
        "\ud800 half a character",
        "🏔️" * 50,
    ],
)
def test_odd_questions_are_answered_or_not_but_never_break(index: Index, question: str) -> None:
    for strategy in STRATEGIES:
        reply = index.ask(question, strategy=strategy)
        assert reply.question == question


def test_control_characters_separate_words(index: Index) -> None:
    assert scores(index.ask("When\x00was the\tEiger\nclimbed?")) == scores(index.ask("When was the Eiger climbed?"))


@pytest.mark.parametrize("question", ["", "  \n", "\x00\x1b"])
def test_an_empty_question_is_refused(index: Index, question: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        index.ask(question)


def test_wrong_arguments_are_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="k is 0"):
        index.ask("When?", k=0)
    with pytest.raises(UsageError, match="hybrid, sparse, dense"):
        index.ask("When?", strategy="sparce")  # type: ignore[arg-type]


def test_many_questions_get_what_each_gets_alone(index: Index) -> None:
    questions = ["When was the Eiger climbed?", "Who climbed the Matterhorn?", "Which sea is shallow?"] * 12
    many = list(index.ask_many(questions))
    assert [reply.question for reply in many] == questions
    assert [scores(reply) for reply in many] == [scores(index.ask(question)) for question in questions]


def test_threads_share_an_index(index: Index) -> None:
    questions = ["When was the Eiger climbed?", "Who climbed the Matterhorn?", "Which sea is shallow?"]
    expected = [scores(index.ask(question)) for question in questions]
    together = threading.Barrier(4)

    def ask(_: int) -> list[Any]:
        together.wait()
        return [scores(index.ask(question)) for question in questions * 5]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [expected * 5] * 4


def test_a_reply_says_what_it_took(index: Index) -> None:
    reply = index.ask("When was the Eiger climbed?")
    assert list(reply.seconds) == ["encode", "sparse", "dense", "fetch", "score"]
    assert all(seconds >= 0 for seconds in reply.seconds.values())
    assert reply.candidates == 3


def test_the_lexical_weight_counts(make: Make) -> None:
    without = make(*DOCUMENTS, lex_weight=0.0).ask("When was the Eiger climbed?").best
    assert without is not None
    assert [part.value for part in without.parts if part.kind == "lex"] == [0.0]


def test_confidence_comes_with_a_calibrated_model(make: Make, toy_encoder: Any) -> None:
    toy_encoder.card = {"confidence": {"bias": -5.0, "score": 1.0, "lead": 0.5, "widest": 10.0}}
    index = make(*DOCUMENTS, encoder=toy_encoder)
    best, *others = index.ask("When was the Eiger climbed?", k=3).answers
    assert best.confidence is not None
    assert 0 < best.confidence < 1
    assert [answer.confidence for answer in others] == [None, None]
    (alone,) = index.ask("When was the Eiger climbed?", k=1).answers
    assert alone.confidence == best.confidence
    toy_encoder.card = {"confidence": {"bias": -5.0}}
    with pytest.raises(ModelDamaged, match="confidence"):
        make(encoder=toy_encoder)


def test_there_is_no_index(tmp_path: Path, toy_encoder: Encoder) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(IndexNotFound, match="ingest"):
            Index.open(place, settings=Settings(), encoder=toy_encoder)
    assert not (tmp_path / "nowhere").exists()


def test_another_model_made_it(engine: Engine, make: Make, toy_encoder: Any) -> None:
    make(*DOCUMENTS)
    toy_encoder.fingerprint = "toy-2"
    with pytest.raises(IndexMismatch, match=r"toy-1.*toy-2.*index upgrade"):
        Index.open(settings=engine.settings(), encoder=toy_encoder)


def test_the_settings_name_the_encoder(engine: Engine, make: Make) -> None:
    make(*DOCUMENTS)
    with Index.open(settings=engine.settings(encoder="toy")) as index:
        assert index.ask("When was the Eiger climbed?").best is not None


def scores(reply: Reply) -> list[tuple[str, str, float]]:
    return [(answer.passage.id, answer.text, answer.score) for answer in reply.answers]
