"""What a page or its JSON twin is asked for: declared, parsed from an address, and written back into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.datastructures import QueryParams

from sparc_search.index import Index
from sparc_search.inspection.discover import typed_listing
from sparc_search.inspection.grammar import GrammarError, Term, terms_of, text_of
from sparc_search.records import FIELDS, SIDES, STRATEGIES, UNITS, Side, Strategy, Unit
from sparc_search.settings import Settings
from sparc_search.stored import ORDERS, Condition, Listing

from .limits import WebLimits
from .parameters import (
    Pairs,
    Parameters,
    Wrong,
    choice,
    features,
    flag,
    integer,
    number,
    offsets,
    pairs,
    question,
    reading,
    short,
    text,
)
from .problems import conflicting, invalid
from .rendering import passage_path, with_query

Query = list[tuple[str, object]]
_ALL: Final = Listing()


class ApiParameters:
    """Every parameter of a server of these limits, whose model weighs n-grams of these sizes."""

    def __init__(self, limits: WebLimits, ngrams: Sequence[int]) -> None:
        self.limits = limits
        self.q = question("q", limits)
        self.k = integer("k", 1, limits.answers, "How many.")
        self.strategy = choice("strategy", {strategy: strategy for strategy in STRATEGIES})
        self.unit = choice("unit", {unit: unit for unit in UNITS}, "How much is an answer.")
        self.all = flag("all", "Equal answers one by one, not as one with all its places.")
        self.only = pairs("where", limits, "Metadata a passage must have, as key=value; each key once.")
        self.explain = flag("explain", "Say why: n-gram by n-gram, and beside the runner-up.")
        self.rank = integer("rank", 1, limits.answers, "The answer that is put beside another one.")
        self.against = integer("against", 1, limits.answers, "The other one; the next if not given.")
        self.read = reading("read", limits.read, "Passages that a reader reads again: never, auto, or how many.")
        several = (self.explain, self.rank, self.against, self.read)
        self.search = (self.q, self.k, self.unit, self.strategy, self.only)
        self.ask = (*self.search, self.all, *several)
        self.batch = {
            "questions": {"type": "array", "items": self.q.schema, "minItems": 1, "maxItems": limits.batch},
            "k": self.k.schema,
            "unit": self.unit.schema,
            "all": self.all.schema,
            "strategy": self.strategy.schema,
            "where": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": limits.filters},
            "explain": self.explain.schema,
            "read": {"anyOf": [self.read.schema, {"type": "integer", "minimum": 1, "maximum": limits.read}]},
        }
        """The fields of a body, by name; all but the questions are optional."""

        both: dict[str, tuple[Side, ...]] = {"both": SIDES}
        self.token = integer("token", 0, 999_999, "Number of a word piece; its word is meant.")
        self.phrase = text("phrase", limits, "Text of the passage.")
        self.span = offsets("span", "Character offsets.")
        self.side = choice("side", both | {side: (side,) for side in SIDES})
        self.n = choice("n", {"both": None} | {str(n): (n,) for n in ngrams}, "N-grams of one size, or all.")
        self.min = number("min", 1000, "Least weight that is listed.")
        self.tab = choice("tab", {"table": "table", "json": "json"})
        self.passage = (self.token, self.phrase, self.span, self.side, self.n, self.min)

        self.any_text = replace(question("text", limits), help="Any text; nothing of it is stored.")
        self.trying = (self.any_text, *self.passage)
        self.start = integer("start", 0, 999_999_999, "The character to begin at.")
        self.length = integer("length", 1, limits.string, "Most characters to give.")
        self.document_text = (self.start, self.length)

        self.of_passage = text("passage", limits, "Id of a passage: the best phrase of it, or a text or span there.")
        self.end = replace(integer("end", 0, 999_999_999, "The character behind the last one."), required=True)
        self.score = (
            self.q,
            replace(self.of_passage, schema={**self.of_passage.schema, "minLength": 1}, required=True),
            replace(self.start, required=True),
            self.end,
        )
        self.answer = integer("answer", 1, limits.answers, "The answer of this rank; the first if nothing is chosen.")
        ranks = {value: value for value in ("tfidf", *map(str, range(1, limits.answers + 1)))}
        self.other = choice("against", ranks, "What to put beside it: the answer of a rank, or `tfidf`.")
        self.other_passage = text("against_passage", limits, "Or this passage, which stands for its best phrase.")
        self.other_phrase = text("against_phrase", limits, "Or this text, of that passage or wherever it stands.")
        self.other_span = offsets("against_span", "Or these characters of that passage.")
        self.other_index = text("against_index", limits, "In a second index: see `serve --also`.")
        self.weights = choice("weights", {"paid": False, "all": True}, "All weights, or those the question pays for.")
        others = (self.other, self.other_passage, self.other_phrase, self.other_span, self.other_index)
        one = (self.answer, self.of_passage, self.phrase, self.span)
        self.why = (self.q, self.k, self.strategy, self.only, self.read, *one, *others, self.weights)

        self.bins = integer("bins", 1, 100)
        self.feature = (self.k, self.bins, self.only)
        self.text = text("text", limits)
        self.suggest = (self.text, self.k)

        self.of = choice("of", {"passages": "passages", "documents": "documents"})
        self.words = text("text", limits, "Words that text, title or metadata must hold.")
        self.where = pairs("where", limits, "Metadata that must be there, as key=value.")
        self.without = pairs("without", limits, "Metadata that must not be there.")
        self.having = features("feature", limits, "Features that must be there, as field:name.", FIELDS)
        self.lacking = features("without_feature", limits, "Features that must not be there.", FIELDS)
        self.document = text("document", limits, "Only passages of this document.")
        self.offset = integer("offset", 0, 1_000_000)
        self.size = integer("size", 1, limits.rows)
        self.column = text("column", limits, "Columns of the table and of the CSV file.", repeated=True)
        orders = {name: name for order in ORDERS for name in (order, f"-{order}") if name}
        self.order = choice("order", orders, "What rows are ordered by; with - in front from the largest down.")
        self.typed = text("q", limits, "What the box of Discover takes: `sea start:sea>0.5 lang:en -title:draft`.")
        filters = (self.typed, self.words, self.where, self.without, self.having, self.lacking, self.document)
        self.listing = (self.of, *filters, self.order, self.offset, self.size, self.column)
        self.open = text("open", limits)
        self.complete = (self.typed, self.k)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, and how to answer it."""

    question: str
    k: int = 5
    strategy: Strategy = "hybrid"
    where: Pairs = ()
    explain: bool = False
    rank: int = 1
    """The answer that is put beside another one."""
    against: int | None = None
    read: str = "never"
    unit: Unit = "phrase"
    all: bool = False
    wrong: Mapping[str, Wrong] = field(default_factory=dict)
    """On a page: what could not be read."""

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        changed = replace(self, **changes)
        pairs: Query = [("q", changed.question), ("k", changed.k), ("strategy", changed.strategy)]
        pairs += [("unit", changed.unit if changed.unit != "phrase" else ""), ("all", "true" if changed.all else "")]
        pairs += [("where", f"{key}={value}") for key, value in changed.where]
        pairs += [("explain", "true" if changed.explain else ""), ("rank", changed.rank if changed.rank > 1 else "")]
        return [*pairs, ("against", changed.against), ("read", changed.read if changed.read != "never" else "")]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        return with_query("/", self.query(explain=False, **changes))

    def twin(self) -> str:
        """The address of the same as JSON."""
        return with_query("/api/ask", self.query(explain=True))


def search_of(query: QueryParams, known: ApiParameters, settings: Settings) -> Ask:
    """What an address searches for: passages, unless it says otherwise."""
    Parameters(query, known.limits, known.search)
    return ask_of(query, known, settings.changed(unit="passage"), strict=True)


def ask_of(query: QueryParams, known: ApiParameters, settings: Settings, *, strict: bool) -> Ask:
    """What an address asks; what it leaves open is as the settings of the server say."""
    given = Parameters(query, known.limits, known.ask if strict else None)
    where = given.each(known.only)
    for key, value in where:
        if dict(where)[key] != value:
            with given.on_a_page("where"):
                raise conflicting(
                    "where", f"two values of {key!r} are asked for", "a passage has one: ask once for each"
                )
    where = tuple(dict(where).items())
    return Ask(
        given.one(known.q, ""),
        given.one(known.k, min(settings.top_k, known.limits.answers)),
        given.one(known.strategy, known.strategy.value(settings.strategy)),
        where,
        given.one(known.explain, False),
        given.one(known.rank, 1),
        given.one(known.against, None),
        given.one(known.read, settings.read),
        given.one(known.unit, known.unit.value(settings.unit)),
        given.one(known.all, False),
        given.wrong,
    )


@dataclass(frozen=True, slots=True)
class PassageRequest:
    """A passage, one phrase of it, and which weights to show."""

    id: str
    token: int | None = None
    phrase: str = ""
    span: tuple[int, int] | None = None
    sides: tuple[Side, ...] = SIDES
    sizes: tuple[int, ...] | None = None
    """Those of the n-grams; all if not given."""
    threshold: float = 0.0
    tab: str = "table"
    text: str = ""
    """Any text, in the place of a passage of the index."""
    question: str = ""
    """What was asked, if an answer led here."""
    wrong: Mapping[str, Wrong] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where its page is. That of any text takes a form, so that the text is in no address."""
        return passage_path(self.id) if self.id else "/try"

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        changed = replace(self, **changes)
        return [
            ("text", changed.text),
            ("token", changed.token),
            ("phrase", changed.phrase),
            ("span", f"{changed.span[0]}-{changed.span[1]}" if changed.span else ""),
            ("side", changed.sides[0] if len(changed.sides) == 1 else ""),
            ("n", changed.sizes[0] if changed.sizes else ""),
            ("min", f"{changed.threshold:g}" if changed.threshold else ""),
        ]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        changed = replace(self, **changes)
        pairs = [*changed.query(), ("tab", "json" if changed.tab == "json" else ""), ("q", changed.question)]
        return with_query(self.path, pairs)

    def twin(self) -> str:
        """The address of the same as JSON."""
        return with_query("/api" + self.path, self.query())

    def choosing(self, **choice: Any) -> str:
        """The page with another phrase chosen."""
        return self.page(**{"token": None, "phrase": "", "span": None, **choice})


def id_in(path: Mapping[str, str]) -> str:
    """The id of an address. The router drops a line end that is all of it, and without an id a text would be meant."""
    return path["id"] or "\n"


def passage_of(passage_id: str, query: QueryParams, known: ApiParameters, *, strict: bool) -> PassageRequest:
    """What an address asks of a passage."""
    strictly = known.passage if passage_id else known.trying
    given = Parameters(query, known.limits, strictly if strict else None)
    several = sum(bool(query.get(name)) for name in ("token", "phrase", "span")) > 1
    if several and strict:
        raise conflicting("phrase", "a token, a phrase and a span exclude each other", "give one of them")
    phrase = given.one(known.phrase, "").strip()
    typed = bool(phrase) and not strict  # what is typed counts more than what was chosen before
    return PassageRequest(
        short("passage_id", passage_id, known.limits),
        None if typed else given.one(known.token, None),
        phrase,
        None if typed else given.one(known.span, None),
        given.one(known.side, SIDES),
        given.one(known.n, None),
        given.one(known.min, 0.0),
        "table" if strict else given.one(known.tab, "table"),
        "" if passage_id else given.one(known.any_text, ""),
        "" if strict else given.one(known.q, ""),
        given.wrong,
    )


@dataclass(frozen=True, slots=True)
class Discover:
    """A listing of passages or documents, and how it is shown."""

    of: str = "passages"
    listing: Listing = _ALL
    columns: tuple[str, ...] = ()
    open: str = ""
    """The row that is expanded."""
    typed: str = ""
    """What stands in the box; `resolved` puts everything that is asked for into it."""
    terms: tuple[Term, ...] = ()
    error: GrammarError | None = None
    """What in the box could not be read."""

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        changed = replace(self, **changes)
        listing = changed.listing
        typed = text_of((*changed.terms, *terms_of(replace(listing, more=()))))
        pairs: Query = [("of", changed.of if changed.of != "passages" else ""), ("q", typed)]
        pairs += [("order", listing.order), ("offset", listing.offset or "")]
        pairs += [("size", listing.size if listing.size != _ALL.size else "")]
        return [*pairs, *(("column", column) for column in changed.columns)]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        changed = replace(self, **changes)
        return with_query("/discover", [*changed.query(), ("open", changed.open)])

    def listing_page(self, **changes: Any) -> str:
        """The page of another listing, from its first row."""
        return self.page(listing=replace(self.listing, **{"offset": 0, **changes}), open="")

    def adding(self, field: str, value: str, *, negated: bool = False) -> str:
        """The page with one more condition, in the place of its opposite."""
        new = Term(Condition(field, value, negated))
        others = tuple(term for term in self.terms if (term.condition.field, term.condition.value) != (field, value))
        return self.page(terms=(*others, new), listing=replace(self.listing, offset=0), open="")

    def leaving(self, term: Term) -> str:
        """The page without one of its conditions."""
        others = tuple(other for other in self.terms if other != term)
        return self.page(terms=others, listing=replace(self.listing, offset=0), open="")

    def ordered(self, name: str) -> str:
        """The page in another order: the largest weight first, else the least; once more turns it around."""
        usual, other = (f"-{name}", name) if name == "weight" else (name, f"-{name}")
        return self.listing_page(order=other if self.listing.order == usual else usual)

    def twin(self, form: str = "") -> str:
        """The address of the same as JSON, or (`csv`, `json`) as a file of all rows."""
        path = f"/api/discover/download.{form}" if form else "/api/discover"
        return with_query(path, self.query())


def discover_of(query: QueryParams, known: ApiParameters, *, strict: bool) -> Discover:
    """What an address lists; `resolved` then reads the box."""
    given = Parameters(query, known.limits, known.listing if strict else None)
    listing = Listing(
        text=given.one(known.words, ""),
        where=given.each(known.where),
        without=given.each(known.without),
        features=given.each(known.having),
        without_features=given.each(known.lacking),
        document_id=given.one(known.document, ""),
        offset=given.one(known.offset, 0),
        size=given.one(known.size, _ALL.size),
        order=given.one(known.order, ""),
    )
    of = given.one(known.of, "passages")
    opened = "" if strict else given.one(known.open, "")
    return Discover(of, listing, given.each(known.column), opened, given.one(known.typed, ""))


def resolved(index: Index, wanted: Discover, *, strict: bool) -> Discover:
    """The same with everything that is asked for as terms of the box; `HttpProblem` for what cannot be read."""
    listing, terms, error = typed_listing(index, wanted.typed, wanted.listing)
    if error and strict:
        raise invalid("q", error.message, error.remedy)
    return replace(wanted, listing=listing, terms=terms, error=error, typed=wanted.typed if error else text_of(terms))
