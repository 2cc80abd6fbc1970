"""A question's weights in the terminal."""

from __future__ import annotations

from rich.table import Column, Table
from rich.text import Text

from sparc_search.inspection import QuestionView

from .bars import bar
from .inspect_passage import COLOURS, ngram_table, readable
from .terminal import bare_table, counted, numbers, stdout, styled


def show_question(view: QuestionView) -> None:
    """Print the n-grams of a question with their weights, then its terms."""
    console = stdout()
    console.print(styled(view.question, "bold"))
    console.print()
    console.print(ngram_table(view.ngrams, console.width))
    if not view.ngrams:
        console.print(styled("no n-gram of it weighs anything", "yellow"))
    console.print()
    console.print(_terms(view, min(console.width, 120)))
    console.print(
        styled(
            f"idf over {counted(view.passages, 'passage')}; the lexical part counts {view.lex_weight:g} times", "dim"
        )
    )


def _terms(view: QuestionView, width: int) -> Table:
    term_column = Column("term", max_width=max(width // 4, 12), no_wrap=True)
    table = bare_table(term_column, *numbers("in passages"), Column("idf", no_wrap=True))
    largest = max((term.idf for term in view.terms), default=0.0)
    for term in view.terms:
        times = f" x {term.count}" if term.count > 1 else ""
        drawn = bar(term.idf / largest if largest else 0.0, max(width // 3, 10), COLOURS["tfidf"])
        weight = Text.assemble((f"{term.idf:5.2f} ", "yellow"), drawn)
        table.add_row(styled(readable(term.name) + times), f"{term.passages:,}", weight)
    return table
