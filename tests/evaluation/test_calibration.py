"""The fit of confidence recovers what is sure and what is not."""

from __future__ import annotations

import random

from sparc_search.evaluation.calibration import Observation, calibrate, reliability


def test_a_wide_lead_means_sure() -> None:
    draw = random.Random(1)
    seen = []
    for _ in range(2000):
        lead = draw.uniform(0, 10)
        seen.append(Observation(30 + draw.gauss(0, 2), 30 - lead, draw.random() < lead / 10))
    calibration = calibrate(seen)
    assert calibration.confidence(30, 21) > 0.75
    assert calibration.confidence(30, 29.5) < 0.25
    bands = reliability(calibration, seen)
    assert sum(band.answers for band in bands) == len(seen)
    assert all(abs(band.mean_confidence - band.right) < 0.15 for band in bands if band.answers > 50)
