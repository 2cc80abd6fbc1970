"""A state of the local index, also to be looked at: its features, and its passages by page."""

from __future__ import annotations

from ...stored import FeatureCount, FeatureStatistics, ListedDocuments, ListedPassages, Listing
from . import catalogue
from .listing import list_documents, list_passages, metadata_values
from .view import LocalView


class BrowsableView(LocalView):
    """All that an engine may tell of a state."""

    def feature_statistics(self, field: str, name: str, bins: int) -> FeatureStatistics:
        """What is known of one feature; nothing but zeros if there is none."""
        return catalogue.feature_statistics(self, field, name, bins)

    def frequent_features(self, field: str, k: int) -> list[FeatureCount]:
        """The k features of a field that stand in most passages, ties by name."""
        return catalogue.frequent_features(self, field, k)

    def features_like(self, beginning: str, k: int) -> list[FeatureCount]:
        """Features whose name begins like this, frequent ones first."""
        return catalogue.features_like(self, beginning, k)

    def list_passages(self, listing: Listing) -> ListedPassages:
        """One page of the passages that fit."""
        return list_passages(self, listing)

    def list_documents(self, listing: Listing) -> ListedDocuments:
        """One page of the documents with a passage that fits."""
        return list_documents(self, listing)

    def metadata_values(self, k: int) -> dict[str, list[tuple[str, int]]]:
        """For each key of the metadata its k most frequent values."""
        return metadata_values(self, k)

    def sample(self, count: int) -> list[str]:
        """The ids of so many passages, evenly spread."""
        return catalogue.sample(self, count)
