"""The compiled parts. Everything else about the package stands in setup.cfg."""

import os

from setuptools import Extension, setup

COMPILED = ("sparc_search.stores._best_spans", "sparc_search.stores.local._sums")
HEADERS = ["sparc_search/stores/_stored_block.h"]

# For the index of packages, which takes 100 MB: the weights for torch are then a distribution of their own, `weights/`.
SLIM = {"sparc_search.model.default": ["*.safetensors"]} if os.environ.get("SPARC_SEARCH_SLIM") else {}

setup(
    exclude_package_data=SLIM,
    ext_modules=[
        Extension(
            name,
            [f"{name.replace('.', '/')}.c"],
            depends=HEADERS,
            # Sums must come out as numpy's do, so products and sums are not put into one operation.
            extra_compile_args=["-O3", "-ffp-contract=off"],
            optional=True,  # without a C compiler numpy does the same, slower
        )
        for name in COMPILED
    ],
)
