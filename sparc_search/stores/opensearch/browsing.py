"""A state of an index on a server, also to be looked at: its features, and its passages by page."""

from __future__ import annotations

from . import catalogue, listing
from .view import ServerView


class BrowsableServerView(ServerView):
    """All that an engine may tell of a state."""

    feature_statistics = catalogue.feature_statistics
    frequent_features = catalogue.frequent_features
    features_like = catalogue.features_like
    list_passages = listing.list_passages
    list_documents = listing.list_documents
    metadata_values = listing.metadata_values
