"""`sparc-search evaluate`: how good the answers are, measured on the path that serves them. One file per command."""

from __future__ import annotations

import click

from .evaluate_baseline import baseline
from .evaluate_calibrate import calibrate
from .evaluate_compare import compare
from .evaluate_cost import cost
from .evaluate_open import open_domain
from .evaluate_reader import train_reader
from .evaluate_reading import reading
from .evaluate_report import report
from .evaluate_selectivity import selectivity
from .evaluate_squad import squad
from .evaluate_tables import tables
from .evaluate_teach import teach
from .options import Group


@click.group(cls=Group)
def evaluate() -> None:
    """Measure how good the answers are."""


for command in (
    squad,
    open_domain,
    baseline,
    compare,
    report,
    tables,
    cost,
    calibrate,
    train_reader,
    teach,
    reading,
    selectivity,
):
    evaluate.add_command(command)
