"""Saved objects for OpenSearch Dashboards (and Kibana): an index pattern, a saved search, Vega views, one dashboard.

Dashboards shows `rank_features` as a field of unknown type and cannot chart it. The views read the weights from
`_source` instead: a script turns `{"gold dome": 1.5, …}` into rows, because Vega cannot list the keys of an object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
_COLOURS: Final = {"domain": ["start", "end", "lex"], "range": ["#0891b2", "#c026d3", "#ca8a04"]}

# Objects are written as this version of the format knows them; newer servers bring them up to date.
_VERSIONS: Final = {"index-pattern": "7.6.0", "search": "7.9.3", "visualization": "7.10.0", "dashboard": "7.9.3"}

# The heaviest features of a passage, as rows. `params` are ours, so a server compiles it once.
ROWS: Final = """
def rows = [];
for (field in params.fields) {
  def features = params._source[field];
  if (features == null) { continue; }
  for (entry in features.entrySet()) {
    rows.add(['field': field, 'name': entry.getKey(), 'weight': entry.getValue()]);
  }
}
rows.sort((a, b) -> Double.compare(((Number) b.weight).doubleValue(), ((Number) a.weight).doubleValue()));
return rows.subList(0, (int) Math.min(rows.size(), params.most));
"""

SavedObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Panel:
    """A view of the dashboard: its id, title, Vega-Lite specification, and its place (48 columns wide)."""

    id: str
    title: str
    spec: Mapping[str, Any]
    x: int
    y: int
    width: int
    height: int


def saved_objects(index_name: str) -> list[SavedObject]:
    """All saved objects, each after those it refers to."""
    pattern = f"{index_name}-pattern"
    reference = {"id": pattern, "type": "index-pattern", "name": "kibanaSavedObjectMeta.searchSourceJSON.index"}
    panels = _panels(index_name)
    search = _object("search", f"{index_name}-passages", _search_attributes(), [reference])
    return [
        _object("index-pattern", pattern, {"title": index_name}, []),
        search,
        *(_object("visualization", panel.id, _vega_attributes(panel), []) for panel in panels),
        _dashboard(index_name, search["id"], panels),
    ]


def as_ndjson(objects: Sequence[SavedObject]) -> str:
    """One object a line, as Dashboards imports them."""
    return "".join(json.dumps(one, ensure_ascii=True, sort_keys=True) + "\n" for one in objects)


def _object(kind: str, id: str, attributes: Mapping[str, Any], references: Sequence[Mapping[str, str]]) -> SavedObject:
    return {
        "type": kind,
        "id": id,
        "attributes": dict(attributes),
        "references": list(references),
        "migrationVersion": {kind: _VERSIONS[kind]},
    }


def _search_attributes() -> dict[str, Any]:
    source = {
        "query": {"query": "", "language": "kuery"},
        "filter": [],
        "highlightAll": True,
        "version": True,
        "indexRefName": "kibanaSavedObjectMeta.searchSourceJSON.index",
    }
    return {
        "title": "Passages",
        "description": "Every passage with its title, text and source.",
        "columns": ["title", "text", "source"],
        "sort": [],
        "hits": 0,
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(source)},
    }


def _vega_attributes(panel: Panel) -> dict[str, Any]:
    spec = json.dumps(panel.spec, indent=2)
    source = {"query": {"query": "", "language": "kuery"}, "filter": []}
    state = {"title": panel.title, "type": "vega", "aggs": [], "params": {"spec": spec}}
    return {
        "title": panel.title,
        "description": "",
        "uiStateJSON": "{}",
        "version": 1,
        "visState": json.dumps(state),
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(source)},
    }


def _dashboard(index_name: str, search: str, panels: Sequence[Panel]) -> SavedObject:
    below = max(panel.y + panel.height for panel in panels)
    places = [(panel.x, panel.y, panel.width, panel.height) for panel in panels] + [(0, below, 48, 18)]
    kinds = [("visualization", panel.id) for panel in panels] + [("search", search)]
    shown = [
        {
            "version": "7.10.0",
            "panelIndex": str(number),
            "gridData": {"x": x, "y": y, "w": w, "h": h, "i": str(number)},
            "embeddableConfig": {},
            "panelRefName": f"panel_{number}",
        }
        for number, (x, y, w, h) in enumerate(places)
    ]
    source = {"query": {"query": "", "language": "kuery"}, "filter": []}
    attributes = {
        "title": f"Weights of {index_name}",
        "description": "What the model gives the n-grams of the passages that the query lets through.",
        "hits": 0,
        "version": 1,
        "timeRestore": False,
        "optionsJSON": json.dumps({"hidePanelTitles": False, "useMargins": True}),
        "panelsJSON": json.dumps(shown),
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(source)},
    }
    references = [{"id": id, "type": kind, "name": f"panel_{number}"} for number, (kind, id) in enumerate(kinds)]
    return _object("dashboard", f"{index_name}-weights", attributes, references)


# --- the views -------------------------------------------------------------------------------------------------------


def _panels(index_name: str) -> list[Panel]:
    return [
        Panel(f"{index_name}-heaviest", "Heaviest n-grams", _heaviest(index_name), 0, 0, 24, 20),
        Panel(f"{index_name}-by-passage", "N-grams by passage", _by_passage(index_name), 24, 0, 24, 20),
        Panel(f"{index_name}-spread", "Weights, how they are spread", _spread(index_name), 0, 20, 24, 14),
        Panel(f"{index_name}-documents", "Passages of a document", _documents(index_name), 24, 20, 24, 14),
    ]


def _hits(index_name: str, fields: Sequence[str], passages: int, most: int) -> dict[str, Any]:
    """Passages that the dashboard's query lets through, each with its heaviest features as rows."""
    script = {"lang": "painless", "source": ROWS, "params": {"fields": list(fields), "most": most}}
    body = {"size": passages, "_source": ["id", "title"], "script_fields": {"weights": {"script": script}}}
    url = {"%context%": True, "index": index_name, "body": body}
    return {"url": url, "format": {"property": "hits.hits"}}


_ROWS_OF_HITS: Final = [
    # Where the index keeps no features in `_source` there are no rows.
    {"calculate": "datum.fields && datum.fields.weights ? datum.fields.weights : []", "as": "feature"},
    {"flatten": ["feature"]},
    {"calculate": "datum.feature.field", "as": "field"},
    {"calculate": "datum.feature.name", "as": "name"},
    {"calculate": "datum.feature.weight", "as": "weight"},
]


def _heaviest(index_name: str) -> dict[str, Any]:
    return {
        "$schema": _SCHEMA,
        "title": "Largest weight of an n-gram in the first 200 passages of the query",
        "data": _hits(index_name, ("start", "end"), passages=200, most=40),
        "transform": [
            *_ROWS_OF_HITS,
            {"aggregate": [{"op": "max", "field": "weight", "as": "weight"}], "groupby": ["field", "name"]},
            {"window": [{"op": "row_number", "as": "place"}], "sort": [{"field": "weight", "order": "descending"}]},
            {"filter": "datum.place <= 40"},
        ],
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": "-x", "title": None},
            "x": {"field": "weight", "type": "quantitative", "stack": None, "title": "weight"},
            "color": {"field": "field", "type": "nominal", "scale": _COLOURS, "title": "for the"},
            "opacity": {"value": 0.75},
        },
    }


def _by_passage(index_name: str) -> dict[str, Any]:
    return {
        "$schema": _SCHEMA,
        "title": "The heaviest n-grams of the first 12 passages of the query",
        "data": _hits(index_name, ("start",), passages=12, most=8),
        "transform": [
            *_ROWS_OF_HITS,
            {"calculate": "datum._source.title + ' · ' + slice(datum._source.id, 0, 6)", "as": "passage"},
        ],
        "mark": {"type": "rect", "tooltip": True},
        "encoding": {
            "x": {"field": "name", "type": "nominal", "title": None, "axis": {"labelAngle": -50}},
            "y": {"field": "passage", "type": "nominal", "title": None},
            "color": {"field": "weight", "type": "quantitative", "scale": {"scheme": "teals"}, "title": "weight"},
        },
    }


def _spread(index_name: str) -> dict[str, Any]:
    return {
        "$schema": _SCHEMA,
        "title": "Features by weight, in the first 100 passages of the query",
        "data": _hits(index_name, ("start", "end", "lex"), passages=100, most=1000),
        "transform": _ROWS_OF_HITS,
        "mark": {"type": "line", "interpolate": "step", "tooltip": True},
        "encoding": {
            "x": {"field": "weight", "type": "quantitative", "bin": {"maxbins": 40}, "title": "weight"},
            "y": {"aggregate": "count", "type": "quantitative", "title": "features"},
            "color": {"field": "field", "type": "nominal", "scale": _COLOURS, "title": "field"},
        },
    }


def _documents(index_name: str) -> dict[str, Any]:
    body = {"size": 0, "aggs": {"documents": {"terms": {"field": "document", "size": 25}}}}
    return {
        "$schema": _SCHEMA,
        "title": "Documents with most passages in the query",
        "data": {
            "url": {"%context%": True, "index": index_name, "body": body},
            "format": {"property": "aggregations.documents.buckets"},
        },
        "mark": {"type": "bar", "tooltip": True, "color": "#0891b2"},
        "encoding": {
            "y": {"field": "key", "type": "nominal", "sort": "-x", "title": None},
            "x": {"field": "doc_count", "type": "quantitative", "title": "passages"},
        },
    }
