import numpy as np
from numpy.typing import NDArray

def add_up(
    rows: NDArray[np.uint16] | NDArray[np.uint32],
    values: NDArray[np.uint16],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    /,
) -> None: ...
def look_up(
    rows: NDArray[np.uint16] | NDArray[np.uint32],
    values: NDArray[np.uint16],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    wanted: NDArray[np.uint32],
    /,
) -> None: ...
def kth_highest(numbers: NDArray[np.float64], k: int, /) -> float: ...
