import numpy as np
from numpy.typing import NDArray

def add_up(
    packed: NDArray[np.uint8],
    frame: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    /,
) -> None: ...
def look_up(
    packed: NDArray[np.uint8],
    frame: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    wanted: NDArray[np.int64],
    /,
) -> None: ...
def kth_highest(numbers: NDArray[np.float64], k: int, /) -> float: ...
