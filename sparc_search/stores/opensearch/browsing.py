"""The part of a store on a server that is there to be looked at: its features, and its passages by page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from ...interfaces import FeatureCount, FeatureStatistics, ListedDocuments, ListedPassages, Listing
from . import catalogue, listing
from .server import Server
from .view import View


class Browsing(ABC):
    """`interfaces.FeatureCatalogue` and `interfaces.Browsable`, for a store that has views."""

    server: Server

    @abstractmethod
    def view(self) -> AbstractContextManager[View]:
        """What is committed now, for as long as the context lasts."""

    def feature_statistics(self, field: str, name: str, bins: int) -> FeatureStatistics:
        """What is known of one feature; nothing but zeros if there is none."""
        with self.view() as view:
            return catalogue.feature_statistics(self.server, view, field, name, bins)

    def frequent_features(self, field: str, k: int) -> list[FeatureCount]:
        """The k features of a field that stand in most passages (n-grams: of those in a sample), ties by name."""
        with self.view() as view:
            return catalogue.frequent_features(self.server, view, field, k)

    def features_like(self, beginning: str, k: int) -> list[FeatureCount]:
        """Features whose name begins like this, frequent ones first."""
        with self.view() as view:
            return catalogue.features_like(self.server, view, beginning, k)

    def list_passages(self, wanted: Listing) -> ListedPassages:
        """One page of the passages that fit."""
        with self.view() as view:
            return listing.list_passages(self.server, view, wanted)

    def list_documents(self, wanted: Listing) -> ListedDocuments:
        """One page of the documents with a passage that fits."""
        with self.view() as view:
            return listing.list_documents(self.server, view, wanted)

    def metadata_values(self, k: int) -> dict[str, list[tuple[str, int]]]:
        """For each key of the metadata its k most frequent values."""
        with self.view() as view:
            return listing.metadata_values(self.server, view, k)

    def sample(self, count: int) -> list[str]:
        """The ids of so many passages, evenly spread."""
        with self.view() as view:
            return catalogue.sample(view, count)
