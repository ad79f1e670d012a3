"""Names for NumPy arrays by what is in them; every module that annotates arrays takes them from here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I8 = NDArray[np.int8]
U64 = NDArray[np.uint64]
U8 = NDArray[np.uint8]
Flags = NDArray[np.bool_]
