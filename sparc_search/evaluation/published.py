"""Numbers from the paper's tables (Lee et al., ACL 2020), to stand beside ours, marked as the paper's.

They were measured on all of Wikipedia (5 million documents) or a tenth or hundredth of it, with BERT-large and all of
SQuAD's training set. Ours are not, so the columns can be read beside each other, not against each other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenSystem:
    """A row of table 1; None where the paper has a dash."""

    name: str
    trec_em: float | None
    squad_em: float
    squad_f1: float | None
    seconds: float | None


TABLE_1 = (
    OpenSystem("DrQA", 25.4, 29.8, None, 35),
    OpenSystem("R³", 28.4, 29.1, 37.5, None),
    OpenSystem("Paragraph Ranker", 35.4, 30.2, None, 161),
    OpenSystem("Multi-Step-Reasoner", None, 31.9, 39.2, None),
    OpenSystem("BERTserini", None, 38.6, 46.1, 115),
    OpenSystem("Multi-passage BERT", None, 53.0, 60.9, 84),
    OpenSystem("ORQA", 30.1, 20.2, None, 8.0),
    OpenSystem("DenSPI", 31.6, 36.2, 44.4, 0.71),
    OpenSystem("DenSPI + SPARC", 35.7, 40.7, 49.0, 0.78),
)


@dataclass(frozen=True, slots=True)
class Ablation:
    """A row of table 2: exact match on a hundredth and on a tenth of Wikipedia."""

    name: str
    hundredth: float
    tenth: float


TABLE_2 = (
    Ablation("Ours", 60.0, 51.6),
    Ablation("- SPARC", 55.9, 48.4),
    Ablation("- Doc./Para. tf-idf", 58.1, 50.9),
    Ablation("+ Trigram SPARC", 58.0, 49.8),
)


@dataclass(frozen=True, slots=True)
class ClosedSystem:
    """A row of table 3."""

    name: str
    em: float
    f1: float
    query_agnostic: bool


TABLE_3 = (
    ClosedSystem("DrQA", 69.5, 78.8, False),
    ClosedSystem("BERT", 84.1, 90.9, False),
    ClosedSystem("LSTM + SA + ELMo", 52.7, 62.7, True),
    ClosedSystem("DenSPI", 73.6, 81.7, True),
    ClosedSystem("DenSPI + SPARC", 76.4, 84.8, True),
)


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A row of table 5: exact match on SQuAD-Open and CuratedTREC, without and with SPARC."""

    name: str
    strategy: str
    squad: tuple[float, float]
    trec: tuple[float, float]


TABLE_5 = (
    StrategyRow("SFS", "sparse", (33.3, 36.9), (28.8, 30.0)),
    StrategyRow("DFS", "dense", (28.5, 34.4), (29.5, 34.3)),
    StrategyRow("Hybrid", "hybrid", (36.2, 40.7), (31.6, 35.7)),
)
