from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def best_spans(
    blocks: Sequence[bytes],
    vectors: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]],
    sizes: NDArray[np.int64],
    ids: NDArray[np.int64],
    weights: NDArray[np.float64],
    terms: NDArray[np.int64],
    term_weights: NDArray[np.float64],
    max_tokens: int,
    where: NDArray[np.int32],
    parts: NDArray[np.float64],
    /,
) -> int: ...
