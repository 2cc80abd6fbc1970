"""See the weights: typed views of what an index and a model know, the same for every engine.

Each function takes an open `Index` and gives a frozen dataclass of plain values; `to_json(view)` is its JSON twin.

    passage_view(index, passage_id, *, token=None, phrase="", span=None, sides=("start", "end"), sizes=None,
                 threshold=0.0) -> PassageView
        A passage's tokens with their largest weights; the weights of one token or phrase (`token` is a number,
        `phrase` text of the passage, `span` a pair of character offsets), stored or encoded on the spot; tf-idf
        beside them. `sizes` are those of the n-grams; all that the model weighs if not given.
    text_view(index, text, *, token=None, …) -> PassageView
        The same for any text, encoded just now; nothing of it is stored.
    question_view(index, question) -> QuestionView
        N-gram weights of a question for start and end, its terms with idf.
    answer_view(index, question, *, rank=1, against=None, k=None, strategy=None, where=None, …) -> AnswerView
        Explained answers; the one of `rank` beside its runner-up (or rank `against`), part by part, n-gram by n-gram.
    why_view(index, question, one=Choice(answer=1), other=None, *, k=None, read=None, also=None, …) -> WhyView
        Any two phrases side by side: answers, spans that were no answers or filtered out, other passages, tf-idf, a
        second index. What pays for each and where it stands, the difference, a verdict (see `inspection.why`).
    score_view(index, question, passage_id, start, end) -> ScoredPhrase
        The exact score of any span, and its parts.
    feature_view(index, name, *, k=20, bins=20, where=None) -> FeatureView
        An n-gram's document frequency, histogram of its weights and top passages, by field.
    index_view(index, *, sample=200, frequent=20, bins=20) -> IndexView
        Counts, sizes, histograms, share of tokens kept, most frequent features, model card, ingests, rejects.
    discover_passages(index, listing) -> PassagesPage
    discover_documents(index, listing) -> DocumentsPage
        Documents and passages by page; `stored.Listing` says which (text, metadata and features, for and out).
    suggest(index, text, *, k=10) -> Suggestions
        While someone types: features, metadata and titles that fit.
    to_csv(rows) -> str
        Rows of a view (any of its tuples) as CSV.
    question_query(index, question, *, size=50, where=None) -> dict
    listing_query(listing) -> dict
        The same as a query for OpenSearch, ready to be pasted.

What an index cannot tell (a store or an encoder without the protocol it takes) is a `UsageError`, an unknown passage a
`NotThere`.
"""

from .answer import AnswerView, Comparison, Difference, ExplainedAnswer, answer_view
from .csv_text import to_csv
from .discover import (
    DocumentsPage,
    PassagesPage,
    Suggestion,
    Suggestions,
    discover_documents,
    discover_passages,
    suggest,
)
from .feature import FeatureView, FieldView, TopPassage, feature_view
from .histogram import Histogram
from .overview import IndexView, index_view
from .passage import Boundary, PassageView, Selection, passage_view, text_view
from .plain import to_json
from .question import QuestionPiece, QuestionTerm, QuestionView, question_view
from .scored_phrase import Mark, Piece, ScoredPhrase, Standing
from .server_query import listing_query, question_query
from .summaries import PassageFacts
from .tables import NgramRow, TermRow
from .tokens import Token
from .verdict import Verdict
from .why import Choice, Contrast, Cure, ReturnedAnswer, WhyView, score_view, why_view

__all__ = [
    "AnswerView",
    "Boundary",
    "Choice",
    "Comparison",
    "Contrast",
    "Cure",
    "Difference",
    "DocumentsPage",
    "ExplainedAnswer",
    "FeatureView",
    "FieldView",
    "Histogram",
    "IndexView",
    "Mark",
    "NgramRow",
    "PassageFacts",
    "PassageView",
    "PassagesPage",
    "Piece",
    "QuestionPiece",
    "QuestionTerm",
    "QuestionView",
    "ReturnedAnswer",
    "ScoredPhrase",
    "Selection",
    "Standing",
    "Suggestion",
    "Suggestions",
    "TermRow",
    "Token",
    "TopPassage",
    "Verdict",
    "WhyView",
    "answer_view",
    "discover_documents",
    "discover_passages",
    "feature_view",
    "index_view",
    "listing_query",
    "passage_view",
    "question_query",
    "question_view",
    "score_view",
    "suggest",
    "text_view",
    "to_csv",
    "to_json",
    "why_view",
]
