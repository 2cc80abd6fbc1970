"""The settings of the engine `opensearch`. They stand apart from the engine, so that reading them loads nothing of it.

None that says where questions and texts go, or with which secrets, is harmless: see SECURITY.md.
"""

from __future__ import annotations

from typing import Final

from ..setting import Setting

SETTINGS: Final = (
    Setting(
        "url",
        "http://127.0.0.1:9200",
        "Address of OpenSearch or Elasticsearch; of a cluster several, with commas between.",
    ),
    Setting("index_name", "sparc-search", "Name of the index on the server (an alias)."),
    Setting("user", "", "User of the server."),
    Setting("password", "", "Its password.", secret=True),
    Setting("password_file", "", "File that holds the password.", path=True),
    Setting("api_key", "", "API key or token of the server, in place of a user.", secret=True),
    Setting("api_key_file", "", "File that holds the API key.", path=True),
    Setting("ca_file", "", "Certificates to trust besides the usual ones (PEM).", path=True),
    Setting("allow_http", False, "Talk to other machines without TLS."),
    Setting("shards", 1, "Shards of a new index on the server.", least=1, harmless=True),
    Setting(
        "features_in_source",
        True,
        "Keep features readable in `_source` on the server; without, the index is smaller.",
        harmless=True,
    ),
)
