"""`sparc-search inspect`: see the weights of a passage, a question, an answer, a feature, an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .options import Decorator, Group, json_option, open_index, option, settings_options
from .terminal import result, result_json

if TYPE_CHECKING:
    from sparc_search.records import Side

_INDEX = ("index", "engine", "encoder", "model")

csv_option: Decorator = click.option("--csv", "as_csv", is_flag=True, help="Print rows as CSV.")


def _top(default: int, what: str) -> Decorator:
    return option("--top", type=click.IntRange(1), default=default, help=f"Most {what} shown (not with --json).")


@click.group(cls=Group)
def inspect() -> None:
    """See the weights behind the answers.

    What the model gives each n-gram: of a passage, of one phrase in it, of a question; why an answer won; where an
    n-gram weighs most. `--json` and `--csv` print the same as data.
    """


def _show(view: object, rows: Iterable[object], as_json: bool, as_csv: bool, text: Callable[[], None]) -> None:
    """A view in the form that was asked for."""
    from sparc_search.inspection import to_csv, to_json

    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other", "give one of them")
    if as_json:
        result_json(to_json(view))
    elif as_csv:
        result(to_csv(rows).removesuffix("\n"))
    else:
        text()


# --- passage ---------------------------------------------------------------------------------------------------------


@inspect.command()
@click.argument("passage_id", metavar="ID")
@click.option("--phrase", default="", metavar="TEXT", help="The weights of this phrase of the passage.")
@click.option("--token", type=int, metavar="N", help="The weights of the word at this token; --tokens numbers them.")
@click.option("--side", type=click.Choice(("start", "end")), help="Only the start or only the end.")
@click.option("--ngram", type=int, metavar="N", help="Only n-grams of this size: 1 for single word pieces.")
@click.option("--threshold", type=click.FloatRange(0), default=0.0, help="Leave out what weighs less.")
@click.option("--tokens", is_flag=True, help="List the tokens, numbered, with what they weigh at most.")
@_top(15, "n-grams")
@settings_options(*_INDEX)
@json_option
@csv_option
def passage(
    settings: Settings,
    passage_id: str,
    phrase: str,
    token: int | None,
    side: Side | None,
    ngram: int | None,
    threshold: float,
    tokens: bool,
    top: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show a passage, its words shaded by weight.

    ID is a passage's id, or that of its document with the number of the passage: `notes/alps.md#2`. With --phrase or
    --token, the n-grams of the start and the end vector of that phrase, as they are stored; a phrase that the filter
    left out of the index is encoded on the spot and marked as not indexed. tf-idf stands beside.
    """
    from sparc_search.inspection import passage_view
    from sparc_search.records import SIDES

    from .inspect_passage import show_passage

    sides: tuple[Side, ...] = (side,) if side else SIDES
    sizes = None if ngram is None else (ngram,)
    with open_index(settings) as index:
        view = passage_view(
            index, passage_id, token=token, phrase=phrase, sides=sides, sizes=sizes, threshold=threshold
        )
    rows = view.tokens if tokens else (view.selection or view).ngrams
    _show(view, rows, as_json, as_csv, lambda: show_passage(view, top, listed=tokens))


# --- question --------------------------------------------------------------------------------------------------------


@inspect.command()
@click.argument("question", nargs=-1, required=True)
@settings_options(*_INDEX)
@json_option
@csv_option
def question(settings: Settings, question: tuple[str, ...], as_json: bool, as_csv: bool) -> None:
    """Show the n-gram weights of a question, and how rare its terms are in the index."""
    from sparc_search.inspection import question_view

    from .inspect_question import show_question

    with open_index(settings) as index:
        view = question_view(index, " ".join(question))
    _show(view, view.ngrams, as_json, as_csv, lambda: show_question(view))


# --- answer ----------------------------------------------------------------------------------------------------------


@inspect.command()
@click.argument("question", nargs=-1, required=True)
@option("--rank", type=click.IntRange(1), default=1, help="Which answer to explain.")
@click.option("--against", type=click.IntRange(1), metavar="RANK", help="Beside which other.  [default: the next]")
@_top(12, "differences")
@settings_options(*_INDEX, "strategy", "lex_weight")
@json_option
@csv_option
def answer(
    settings: Settings,
    question: tuple[str, ...],
    rank: int,
    against: int | None,
    top: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show why an answer won: its score beside the runner-up's, part by part and n-gram by n-gram."""
    from sparc_search.inspection import answer_view

    from .inspect_answer import show_answer

    with open_index(settings) as index:
        view = answer_view(index, " ".join(question), rank=rank, against=against, unit="phrase")
    names = ("kind", "name", "question_weight", "passage_weight", "value")
    rows = [
        {"rank": explained.rank, "answer": explained.text, **{name: getattr(part, name) for name in names}}
        for explained in view.answers
        for part in explained.parts
    ]
    _show(view, rows, as_json, as_csv, lambda: show_answer(view, rank, top))


# --- why -------------------------------------------------------------------------------------------------------------


@inspect.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--answer", type=click.IntRange(1), metavar="RANK", help="The answer of this rank.  [default: 1]")
@click.option("--phrase", default="", metavar="TEXT", help="This phrase, wherever it stands; with --passage, there.")
@click.option("--passage", "passage_id", default="", metavar="ID", help="The best phrase of this passage.")
@click.option(
    "--against",
    default="",
    metavar="OTHER",
    help="Beside what: a rank (one or two digits), `tfidf`, `passage:ID`, `index:FOLDER[@MODEL]`, or a text.  "
    "[default: the next answer]",
)
@_top(12, "differences")
@settings_options(*_INDEX, "strategy", "lex_weight", "read", "read_with")
@json_option
@csv_option
def why(
    settings: Settings,
    question: tuple[str, ...],
    answer: int | None,
    phrase: str,
    passage_id: str,
    against: str,
    top: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show why this and not that: any two phrases, what the question pays each for, and the verdict.

    Without an option the best answer beside the next one. `--phrase "25 April 1859"` asks why not that: it need not be
    an answer, nor even be indexed.
    """
    from sparc_search.inspection import Choice, why_view

    from .inspect_why import further_index, other_choice, show_why

    one = Choice(answer=answer, phrase=phrase, passage=passage_id)
    with open_index(settings) as index, further_index(settings, against) as also:
        view = why_view(
            index,
            " ".join(question),
            one if one != Choice() else None,
            other_choice(against),
            also=also,
        )
    _show(view, view.contrast.by_name if view.contrast else (), as_json, as_csv, lambda: show_why(view, top))


# --- feature, find, index --------------------------------------------------------------------------------------------


@inspect.command()
@click.argument("name", nargs=-1, required=True)
@click.option("--field", type=click.Choice(("start", "end", "lex")), default="start", help="Whose passages to list.")
@_top(10, "passages")
@settings_options(*_INDEX)
@json_option
@csv_option
def feature(settings: Settings, name: tuple[str, ...], field: str, top: int, as_json: bool, as_csv: bool) -> None:
    """Show an n-gram across the index: how often it stands, how its weights are spread, where it weighs most.

    NAME is a word or more (`gold dome`), or a feature as it is stored (`climb ##ing`).
    """
    from sparc_search.inspection import feature_view

    from .inspect_feature import show_feature

    with open_index(settings) as index:
        view = feature_view(index, " ".join(name), k=top)
    rows = [
        {"field": shown.field, "value": hit.value, "passage": hit.passage.id, "title": hit.passage.title}
        for shown in view.fields
        for hit in shown.top
    ]
    _show(view, rows, as_json, as_csv, lambda: show_feature(view, field))


@inspect.command()
@click.argument("text", nargs=-1)
@click.option(
    "--feature", "features", multiple=True, metavar="NAME", help="Only passages with this n-gram. Repeatable."
)
@option("--page", type=click.IntRange(1), default=1, help="Which page.")
@_top(20, "passages of a page")
@settings_options(*_INDEX)
@json_option
@csv_option
def find(
    settings: Settings,
    text: tuple[str, ...],
    features: tuple[str, ...],
    page: int,
    top: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """List passages with their ids, by words of their text, title or metadata."""
    from sparc_search.inspection import discover_passages
    from sparc_search.stored import Listing

    from .inspect_feature import show_found

    named = tuple(("start", name) for name in features)
    listing = Listing(" ".join(text), features=named, offset=(page - 1) * top, size=top)
    with open_index(settings) as index:
        view = discover_passages(index, listing)
    _show(view, view.passages, as_json, as_csv, lambda: show_found(view))


@inspect.command("index")
@option("--sample", type=click.IntRange(1), default=200, help="Passages the histograms are of.")
@_top(12, "features of a field")
@settings_options(*_INDEX)
@json_option
def index_(settings: Settings, sample: int, top: int, as_json: bool) -> None:
    """Show an index as a whole: counts, histograms of weights, frequent features, model, ingests, rejects."""
    from sparc_search.inspection import index_view

    from .inspect_index import show_index

    with open_index(settings) as index:
        view = index_view(index, sample=sample, frequent=top)
    _show(view, (), as_json, False, lambda: show_index(view))
