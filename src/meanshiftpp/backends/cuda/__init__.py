"""The loops on an NVIDIA GPU: the functions of `_kernel`, for CuPy arrays, with the same results.

Each part has its kernels beside it: `search.py` launches those of `search.cu`. NVRTC compiles one
when it is first used, and CuPy keeps the binary on disk. Points and labels never leave the GPU; the
host waits for a few numbers only (the box of the data, the number of cells), and everything runs on
CuPy's current stream.

Points get a row of sums as on the CPU: in a dense table over the box of the data, in a hash table
where the box is too large for that, by sorting where most points have a cell of their own, and
cell by cell ("wide") beyond six features. All of it gives the same bits.
"""

from meanshiftpp.backends.cuda.binning import bin_points
from meanshiftpp.backends.cuda.cells import merge_cells
from meanshiftpp.backends.cuda.near import find_cells, nearest_modes, window_counts
from meanshiftpp.backends.cuda.search import seek_modes
from meanshiftpp.backends.cuda.transfer import Gpu

__all__ = [
    "Gpu",
    "bin_points",
    "find_cells",
    "merge_cells",
    "nearest_modes",
    "seek_modes",
    "window_counts",
]
