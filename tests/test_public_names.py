"""What `import sparc_search` offers is there, and costs nothing until it is used (tests/cli/test_main.py)."""

from __future__ import annotations

from importlib.metadata import version

import pytest

import sparc_search


@pytest.mark.parametrize("name", sparc_search.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(sparc_search, name).__doc__
    assert name in dir(sparc_search)


def test_the_version_is_the_distributions() -> None:
    assert sparc_search.__version__ == version("sparc-search")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        _ = sparc_search.nosuch
