// The kernel in WebAssembly: typed arrays in and out.

import createModule from "./kernel_module.js";

const SPACES = ["rgb", "lab", "luv", "hsv"]; // in the order of the kernel's enumeration
let module, settings;

/** Load the module, its settings and the learned table. */
export async function loadKernel() {
  const [loaded, text] = await Promise.all([createModule(), fetch("settings.json")]);
  if (!text.ok) throw new Error(`settings.json: ${text.status}`);
  [module, settings] = [loaded, await text.json()];
  module._configure(settings.tol, settings.max_iter);
  const [critical, stages] = [Float64Array.from(settings.critical.flat()), Float64Array.from(settings.stages)];
  withCopies([critical, stages], (pointers) => module._configure_tree(...pointers, stages.length, settings.second_look));
  const { features, thresholds, values, bias } = settings.merge_table;
  const tables = [Uint8Array.from(features.flat()), Float32Array.from(thresholds.flat()), Int16Array.from(values.flat())];
  withCopies(tables, (pointers) => check(module._load_table(features.length, ...pointers, bias)));
  return settings;
}

const check = (result) => {
  if (!result) throw new Error(module.UTF8ToString(module._last_error()));
  return result;
};

function allocate(bytes) {
  const pointer = module._malloc(Math.max(bytes, 1)) >>> 0;
  if (!pointer) throw new Error("The page has too little memory for this file; install meanshiftpp, or use a smaller file.");
  return pointer;
}

/** Call `fn` with pointers to copies of arrays. */
function withCopies(arrays, fn) {
  const pointers = [];
  try {
    for (const array of arrays) {
      pointers.push(allocate(array.byteLength));
      module.HEAPU8.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), pointers.at(-1));
    }
    return fn(pointers);
  } finally {
    pointers.forEach((pointer) => module._free(pointer));
  }
}

/** Call `fn` with a pointer to n integers of 32 bits, and return them. */
function labelsOf(n, fn) {
  const pointer = allocate(4 * n);
  try {
    check(fn(pointer));
    return new Int32Array(module.HEAPU8.buffer, pointer, n).slice();
  } finally {
    module._free(pointer);
  }
}

const doubles = (pointer, n) => new Float64Array(module.HEAPU8.buffer, pointer >>> 0, n).slice();

/** Cluster n points of d features, as `MeanShiftPP(bandwidth).fit` does. */
export function clusterPoints(points, d, bandwidth) {
  return withCopies([points, Float64Array.from(bandwidth)], ([data, sizes]) => {
    const labels = labelsOf(points.length / d, (out) => module._cluster_points(data, points.length / d, d, sizes, out));
    const k = module._n_modes();
    return {
      labels, n: k, cells: module._n_cells(), iterations: module._n_iter(), converged: Boolean(module._converged()),
      centers: doubles(module._centers(), k * d), weights: doubles(module._weights(), k),
    };
  });
}

/** Grow the tree of n points of d features, as `MeanShiftPP().fit` does; return the leaf of each point. */
export function growPoints(points, d, store) {
  return withCopies([points], ([data]) => {
    const ids = labelsOf(points.length / d, (out) => module._grow_points(data, points.length / d, d, out));
    store(grownTree(d));
    return ids;
  });
}

/** Grow the last tree in looser stages until it has at least n clusters. */
export function growMore(n, d) {
  check(module._grow_more(n));
  return grownTree(d);
}

function grownTree(d) {
  const m = module._n_leaves(), k = module._n_splits(), width = 4 + d;
  const leaves = doubles(module._leaves(), m * width), table = doubles(module._splits(), 6 * k), units = doubles(module._units(), d);
  const column = (j) => Float64Array.from({ length: m }, (_, i) => leaves[i * width + j]);
  const splits = Array.from({ length: k }, (_, i) => {
    const [cluster, parent, stage, joins, score, depth] = table.subarray(6 * i);
    return { index: i, cluster, parent, stage, joins, score, depth };
  });
  const positions = Float64Array.from({ length: m * d }, (_, i) => leaves[Math.floor(i / d) * width + 4 + (i % d)]);
  return { clusters: column(0), sizes: column(1), radii: column(2), hosts: column(3), positions, units, splits };
}

/** A picture in the kernel's memory; labels are those of `segment`. */
export class Picture {
  constructor({ data, width, height }) {
    [this.width, this.height] = [width, height];
    this.pointer = withCopies([data], ([rgba]) => check(module._open_picture(rgba, width, height)));
  }
  close() { module._close_picture(this.pointer); }
  clusters({ space, bandwidth, spatial }) {
    return this.labels((out) => module._cluster_picture(this.pointer, SPACES.indexOf(space), bandwidth, spatial ?? 0, out));
  }
  /** Return the least size of a piece, as the function of that name in segmentation.py. */
  pieceSize(minSize) {
    const { piece_size: least, piece_image_size: pixels } = settings;
    const size = Math.round(least * Math.max(1, (this.width * this.height) / pixels));
    return minSize ? Math.max(least, Math.min(size, minSize)) : size;
  }
  grow({ space, bandwidth, spatial, min_size: minSize }) {
    check(module._grow_picture(this.pointer, SPACES.indexOf(space), bandwidth, spatial ?? 0, this.pieceSize(minSize)));
  }
  cut(detail, minSize) { return this.labels((out) => module._cut_picture(this.pointer, detail, minSize ?? 1, out)); }
  labels(fn) { return labelsOf(this.width * this.height, fn); }
}
