"""The compiled part. Everything else about the package stands in setup.cfg."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "sparc_search.stores._best_spans",
            ["sparc_search/stores/_best_spans.c"],
            # Sums must come out as numpy's do, so products and sums are not put into one operation.
            extra_compile_args=["-O3", "-ffp-contract=off"],
            optional=True,  # without a C compiler numpy does the same, slower
        )
    ]
)
