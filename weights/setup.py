"""The default model's weights for torch, as a distribution of their own: with them the wheel is too large to publish.

`pip install .` from a checkout has them anyway; docs/release.md says who builds what.
"""

import configparser
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent.parent
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg", encoding="utf-8")

setup(
    name="sparc-search-weights",
    version=CONFIG["metadata"]["version"],
    description="Weights of the default model of sparc-search, for training and for encoding on GPUs",
    license=CONFIG["metadata"]["license"],
    python_requires=CONFIG["options"]["python_requires"],
    packages=["sparc_search_weights"],
    package_dir={"sparc_search_weights": "../sparc_search/model/default"},
    package_data={"sparc_search_weights": ["model.safetensors"]},
)
