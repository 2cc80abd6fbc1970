"""What a page or its JSON twin is asked for: parsed from an address, and written back into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from starlette.datastructures import QueryParams

from sparc_search.records import FIELDS, SIDES, STRATEGIES, Side, Strategy
from sparc_search.stored import Listing

from .limits import Limits
from .parameters import Pairs, Parameters
from .problems import conflicting, invalid
from .rendering import with_query

Query = list[tuple[str, object]]


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

    KNOWN = ("q", "k", "strategy", "where", "explain", "rank", "against")

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        own = replace(self, **changes)
        pairs: Query = [("q", own.question), ("k", own.k), ("strategy", own.strategy)]
        pairs += [("where", f"{key}={value}") for key, value in own.where]
        pairs += [("explain", "true" if own.explain else ""), ("rank", own.rank if own.rank > 1 else "")]
        return [*pairs, ("against", own.against)]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        return with_query("/", self.query(explain=False, **changes))

    def twin(self) -> str:
        """The address of the same as JSON."""
        return with_query("/api/ask", self.query(explain=True))


def ask_of(query: QueryParams, limits: Limits, *, k: int, strategy: str, strict: bool) -> Ask:
    """What an address asks; `k` and `strategy` are the defaults of the server."""
    known = Parameters(query, limits, Ask.KNOWN if strict else None)
    where = known.pairs("where")
    for key, value in where:
        if dict(where)[key] != value:
            raise conflicting("where", f"two values of {key!r} are asked for", "a passage has one: ask once for each")
    return Ask(
        known.text("q"),
        known.integer("k", min(k, limits.answers), 1, limits.answers),
        cast(Strategy, known.choice("strategy", STRATEGIES, strategy)),
        where,
        known.flag("explain"),
        known.integer("rank", 1, 1, limits.answers),
        known.optional_integer("against", 1, limits.answers),
    )


@dataclass(frozen=True, slots=True)
class PassageRequest:
    """A passage, one phrase of it, and which weights to show."""

    id: str
    token: int | None = None
    phrase: str = ""
    span: tuple[int, int] | None = None
    sides: tuple[Side, ...] = SIDES
    sizes: tuple[int, ...] = (1, 2)
    threshold: float = 0.0
    tab: str = "table"

    KNOWN = ("token", "phrase", "span", "side", "n", "min")

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        own = replace(self, **changes)
        return [
            ("token", own.token),
            ("phrase", own.phrase),
            ("span", f"{own.span[0]}-{own.span[1]}" if own.span else ""),
            ("side", own.sides[0] if len(own.sides) == 1 else ""),
            ("n", own.sizes[0] if len(own.sizes) == 1 else ""),
            ("min", f"{own.threshold:g}" if own.threshold else ""),
        ]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        own = replace(self, **changes)
        pairs = [*own.query(), ("tab", "json" if own.tab == "json" else "")]
        return with_query(passage_address("/passages/", self.id), pairs)

    def twin(self) -> str:
        """The address of the same as JSON."""
        return with_query(passage_address("/api/passages/", self.id), self.query())

    def choosing(self, **choice: Any) -> str:
        """The page with another phrase chosen."""
        return self.page(**{"token": None, "phrase": "", "span": None, **choice})


def passage_address(prefix: str, passage_id: str) -> str:
    """A path with a passage's id in it."""
    from urllib.parse import quote

    return prefix + quote(passage_id, safe="", errors="replace")


def passage_of(passage_id: str, query: QueryParams, limits: Limits, *, strict: bool) -> PassageRequest:
    """What an address asks of a passage."""
    known = Parameters(query, limits, PassageRequest.KNOWN if strict else None)
    if sum(bool(query.get(name)) for name in ("token", "phrase", "span")) > 1:
        raise conflicting("phrase", "a token, a phrase and a span exclude each other", "give one of them")
    side, n = known.choice("side", ("both", *SIDES), "both"), known.choice("n", ("both", "1", "2"), "both")
    return PassageRequest(
        known.short("passage_id", passage_id),
        known.optional_integer("token", 0, 999_999),
        known.text("phrase"),
        _span(known.text("span")),
        SIDES if side == "both" else (cast(Side, side),),
        (1, 2) if n == "both" else (int(n),),
        known.number("min", 0.0, 1000),
        "table" if strict else known.choice("tab", ("table", "json"), "table"),
    )


def _span(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not dash or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in (first, last)):
        raise invalid("span", f"'span' is {text[:40]!r}", "give two character offsets, such as 12-17")
    return int(first), int(last)


_ALL: Final = Listing()


@dataclass(frozen=True, slots=True)
class Discover:
    """A listing of passages or documents, and how it is shown."""

    of: str = "passages"
    listing: Listing = _ALL
    columns: tuple[str, ...] = ()
    open: str = ""
    """The row that is expanded."""

    KNOWN = ("of", "text", "where", "without", "feature", "without_feature", "document", "offset", "size", "column")

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        own = replace(self, **changes)
        listing = own.listing
        pairs: Query = [("of", own.of if own.of != "passages" else ""), ("text", listing.text)]
        pairs += [("where", f"{key}={value}") for key, value in listing.where]
        pairs += [("without", f"{key}={value}") for key, value in listing.without]
        pairs += [("feature", f"{field}:{name}") for field, name in listing.features]
        pairs += [("without_feature", f"{field}:{name}") for field, name in listing.without_features]
        pairs += [("document", listing.document_id), ("offset", listing.offset or "")]
        pairs += [("size", listing.size if listing.size != _ALL.size else "")]
        return [*pairs, *(("column", column) for column in own.columns)]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        own = replace(self, **changes)
        return with_query("/discover", [*own.query(), ("open", own.open)])

    def listing_page(self, **changes: Any) -> str:
        """The page of another listing, from its first row."""
        return self.page(listing=replace(self.listing, **{"offset": 0, **changes}), open="")

    def with_pair(self, name: str, pair: tuple[str, str]) -> str:
        """The page with one more filter."""
        pairs = getattr(self.listing, name)
        return self.listing_page(**{name: pairs if pair in pairs else (*pairs, pair)})

    def without_pair(self, name: str, pair: tuple[str, str]) -> str:
        """The page with one filter less."""
        return self.listing_page(**{name: tuple(other for other in getattr(self.listing, name) if other != pair)})

    def twin(self, form: str = "") -> str:
        """The address of the same as JSON, or (`csv`, `json`) as a file of all rows."""
        path = f"/api/discover/download.{form}" if form else "/api/discover"
        return with_query(path, self.query())


def discover_of(query: QueryParams, limits: Limits, *, strict: bool) -> Discover:
    """What an address lists."""
    known = Parameters(query, limits, Discover.KNOWN if strict else None)
    listing = Listing(
        text=known.text("text"),
        where=known.pairs("where"),
        without=known.pairs("without"),
        features=_features(known, "feature"),
        without_features=_features(known, "without_feature"),
        document_id=known.text("document"),
        offset=known.integer("offset", 0, 0, 1_000_000),
        size=known.integer("size", _ALL.size, 1, limits.rows),
    )
    of = known.choice("of", ("passages", "documents"), "passages")
    return Discover(of, listing, known.texts("column"), "" if strict else known.text("open"))


def _features(known: Parameters, name: str) -> Pairs:
    pairs = known.pairs(name, ":")
    for field, _ in pairs:
        if field not in FIELDS:
            raise invalid(name, f"there is no field {field[:40]!r}", f"write field:name, with one of {_listed(FIELDS)}")
    return pairs


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
