"""The backend for CuPy arrays: CUDA kernels, with the results of `host` bit for bit.

Each module launches the kernels of the .cu file of its name: `search.py` those of `search.cu`.
NVRTC compiles a kernel on first use, and CuPy caches the binary on disk. Points and labels stay on
the GPU; the host waits for a few numbers only (the box of the data, the number of cells).
Everything runs on CuPy's current stream.

Each point is added to a row of sums, by one of the strategies of the CPU:

- dense: a table of all cells in the box of the data;
- hash: a hash table, if the box is too large;
- sorted: if most points are alone in their cell;
- wide: without keys, for more than ten features and for many points outside the box. The host
  bins the points outside the box if they are few.

The search looks up each cell of a window. From seven features on, it sums windows over buckets of
cells that agree along the first axes (`buckets`), because most cells of a window are empty.

Without a bandwidth, the GPU finds the marginals, the leaves and the leaf of each point (`leaves`);
the host grows the tree of the leaves.

The results are bit-identical. `fallback` states which cases are left to the host.
"""

from meanshiftpp.backends.cuda.binning import bin_points
from meanshiftpp.backends.cuda.cells import coarsen_cells, merge_cells
from meanshiftpp.backends.cuda.leaves import build_leaves, find_leaves, marginals
from meanshiftpp.backends.cuda.query import find_cells, nearest_modes, window_counts
from meanshiftpp.backends.cuda.search import seek_modes
from meanshiftpp.backends.cuda.transfer import CudaGpu

__all__ = [
    "CudaGpu",
    "bin_points",
    "build_leaves",
    "coarsen_cells",
    "find_cells",
    "find_leaves",
    "marginals",
    "merge_cells",
    "nearest_modes",
    "seek_modes",
    "window_counts",
]
