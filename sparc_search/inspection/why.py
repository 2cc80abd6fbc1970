"""Why this, and why not that: two phrases and one question, their scores taken apart and put beside each other.

    score_view(index, question, passage_id, start, end) -> ScoredPhrase
        The exact score of any span of a passage, and what pays for it. A span that the filter left out of the index is
        encoded on the spot, and says so.
    why_view(index, question, Choice(…), Choice(…)) -> WhyView
        Two of these, and the difference between them.

A **choice** says which phrase is meant: an answer by its rank; a passage, which stands for its best phrase; a span or a
text of a passage; the same phrase by tf-idf; or any of these in a second index.

A **scored phrase** is a span with its score, the parts of that score, and its **marks**: where in the passage an n-gram
of the question stands that pays for this very phrase, with the points it gives to the start and to the end.

A **comparison** of A and B is, for every part (and for every n-gram and term of a part), what it gives to A, what it gives
to B, and the difference of the two. The differences sum to the difference of the scores.

A **verdict** is one sentence on why the one that lost has lost, from a table of causes, each with what can be done about
it. A **cure** is a factor for one part of the scores with which it would have been first among the answers.
"""
