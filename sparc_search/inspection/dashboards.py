"""Saved objects for OpenSearch Dashboards (and Kibana): an index pattern, a saved search, Vega views, one dashboard.

The views stand in `dashboards.json`, with `INDEX` for the name of the index and their places on a grid of 48 columns.
Where `data` names fields and a number of passages, the query for these is put in its place.

Dashboards shows `rank_features` as a field of unknown type and cannot chart it. The views read the weights from
`_source` instead: a script turns `{"gold dome": 1.5, …}` into rows, because Vega cannot list the keys of an object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

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

_ROWS_OF_HITS: Final = [
    # Where the index keeps no features in `_source` there are no rows.
    {"calculate": "datum.fields && datum.fields.weights ? datum.fields.weights : []", "as": "feature"},
    {"flatten": ["feature"]},
    {"calculate": "datum.feature.field", "as": "field"},
    {"calculate": "datum.feature.name", "as": "name"},
    {"calculate": "datum.feature.weight", "as": "weight"},
]

SavedObject = dict[str, Any]


def saved_objects(index_name: str) -> list[SavedObject]:
    """All saved objects, each after those it refers to."""
    text = files(__package__).joinpath("dashboards.json").read_text("utf-8")
    views = json.loads(text.replace("INDEX", json.dumps(index_name)[1:-1]))
    return [
        _object("index-pattern", f"{index_name}-pattern", {"title": index_name}, []),
        _search(index_name),
        *(_object("visualization", f"{index_name}-{view['id']}", _vega(view, index_name), []) for view in views),
        _dashboard(index_name, views),
    ]


def as_ndjson(objects: Sequence[SavedObject]) -> str:
    """One object a line, as Dashboards imports them."""
    return "".join(json.dumps(saved, ensure_ascii=True, sort_keys=True) + "\n" for saved in objects)


def _object(kind: str, id: str, attributes: dict[str, Any], references: Sequence[Mapping[str, str]]) -> SavedObject:
    version = {kind: _VERSIONS[kind]}
    return {"type": kind, "id": id, "attributes": attributes, "references": references, "migrationVersion": version}


def _source(**more: Any) -> dict[str, str]:
    source = {"query": {"query": "", "language": "kuery"}, "filter": [], **more}
    return {"searchSourceJSON": json.dumps(source)}


def _search(index_name: str) -> SavedObject:
    reference = "kibanaSavedObjectMeta.searchSourceJSON.index"
    attributes = {
        "title": "Passages",
        "description": "Every passage with its title, text and source.",
        "columns": ["title", "text", "source"],
        "sort": [],
        "hits": 0,
        "version": 1,
        "kibanaSavedObjectMeta": _source(highlightAll=True, version=True, indexRefName=reference),
    }
    references = [{"id": f"{index_name}-pattern", "type": "index-pattern", "name": reference}]
    return _object("search", f"{index_name}-passages", attributes, references)


def _vega(view: Mapping[str, Any], index_name: str) -> dict[str, Any]:
    spec = json.dumps(_with_rows(view["spec"], index_name), indent=2)
    state = {"title": view["title"], "type": "vega", "aggs": [], "params": {"spec": spec}}
    return {
        "title": view["title"],
        "description": "",
        "uiStateJSON": "{}",
        "version": 1,
        "visState": json.dumps(state),
        "kibanaSavedObjectMeta": _source(),
    }


def _dashboard(index_name: str, views: Sequence[Mapping[str, Any]]) -> SavedObject:
    """The views, and below them the passages."""
    below = max(view["place"]["y"] + view["place"]["h"] for view in views)
    shown = [("visualization", view["id"], view["place"]) for view in views]
    shown.append(("search", "passages", {"x": 0, "y": below, "w": 48, "h": 18}))
    panels, references = [], []
    for number, (kind, name, place) in enumerate(shown):
        panel = {"version": "7.10.0", "panelIndex": str(number), "gridData": {**place, "i": str(number)}}
        panels.append({**panel, "embeddableConfig": {}, "panelRefName": f"panel_{number}"})
        references.append({"id": f"{index_name}-{name}", "type": kind, "name": f"panel_{number}"})
    attributes = {
        "title": f"Weights of {index_name}",
        "description": "What the model gives the n-grams of the passages that the query lets through.",
        "hits": 0,
        "version": 1,
        "timeRestore": False,
        "optionsJSON": json.dumps({"hidePanelTitles": False, "useMargins": True}),
        "panelsJSON": json.dumps(panels),
        "kibanaSavedObjectMeta": _source(),
    }
    return _object("dashboard", f"{index_name}-weights", attributes, references)


def _with_rows(spec: dict[str, Any], index_name: str) -> dict[str, Any]:
    """A Vega-Lite view; if it asks for passages, each with its heaviest features as rows."""
    data = spec["data"]
    if "passages" not in data:
        return spec
    script = {"lang": "painless", "source": ROWS, "params": {"fields": data["fields"], "most": data["most"]}}
    body = {"size": data["passages"], "_source": ["id", "title"], "script_fields": {"weights": {"script": script}}}
    hits = {"url": {"%context%": True, "index": index_name, "body": body}, "format": {"property": "hits.hits"}}
    return {**spec, "data": hits, "transform": [*_ROWS_OF_HITS, *spec["transform"]]}
