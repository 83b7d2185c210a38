// The table view of the web page, as the studio's table_view.py.

import { Cuts } from "./cuts.js";
import { clusterPoints } from "./kernel.js";
import { narrow } from "./image_view.js";
import { pythonCall } from "./python_code.js";
import { sweep } from "./sweep.js";
import { readTable } from "./table_files.js";

const MAX_DOTS = 100_000, RASTER = [960, 720], MAX_MODES = 300, MAX_LOOSER = 200_000; // points whose tree is grown beyond significance

let plotNumber = 0;

/** Return the first two columns that are features; identifiers and constants come last. */
function defaultAxes({ columns, rows, values }) {
  const d = columns.length, column = (j) => Array.from({ length: rows }, (_, i) => values[i * d + j]);
  const isFeature = (x) => x.every(Number.isFinite) && x.some((v) => v !== x[0]) && (x.some((v) => !Number.isInteger(v)) || new Set(x).size < x.length);
  const all = columns.map((_, j) => j), features = all.filter((j) => isFeature(column(j))).slice(0, 2);
  return [...features, ...all.filter((j) => !features.includes(j))].slice(0, 2).sort((a, b) => a - b);
}

/** Return the limits of the axes: the range of the points and a margin of 3 %. */
function axisLimits(points, n, d) {
  const low = Array(d).fill(Infinity), high = Array(d).fill(-Infinity);
  for (let i = 0; i < n * d; i++) {
    low[i % d] = Math.min(low[i % d], points[i]);
    high[i % d] = Math.max(high[i % d], points[i]);
  }
  const margin = low.map((value, j) => (high[j] > value ? (high[j] - value) * 0.03 : 0.5));
  return { low: low.map((value, j) => value - margin[j]), high: high.map((value, j) => value + margin[j]) };
}

/** Return the rows that are drawn one by one, and their positions from 0 to 1. */
function dots(points, n, d, { low, high }) {
  const step = Math.ceil(n / MAX_DOTS), rows = Array.from({ length: Math.ceil(n / step) }, (_, i) => i * step);
  const positions = new Float32Array(rows.length * d);
  rows.forEach((row, i) => { for (let j = 0; j < d; j++) positions[i * d + j] = (points[row * d + j] - low[j]) / (high[j] - low[j]); });
  return { rows, arrays: { positions } };
}

/** Return a row of each occupied pixel, and the density there. */
function raster(points, n, { low, high }) {
  const [width, height] = RASTER, counts = new Uint32Array(width * height), rowOf = new Uint32Array(width * height);
  const along = (value, j, size) => Math.min(size - 1, Math.max(0, Math.floor(((value - low[j]) * size) / (high[j] - low[j]))));
  for (let i = 0; i < n; i++) {
    const pixel = (height - 1 - along(points[2 * i + 1], 1, height)) * width + along(points[2 * i], 0, width);
    counts[pixel] += 1;
    rowOf[pixel] = i;
  }
  const pixels = Uint32Array.from(counts.keys()).filter((pixel) => counts[pixel]);
  const largest = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 0));
  return { rows: Array.from(pixels, (pixel) => rowOf[pixel]), arrays: { pixels, brightness: Uint8Array.from(pixels, (pixel) => Math.round((255 * Math.log1p(counts[pixel])) / largest)) } };
}

export class TableView {
  constructor({ readable }) { this.readable = readable; }

  async open(file) {
    this.table = await readTable(file);
    [this.name, this.plot] = [file.name, null];
    const { columns, rows } = this.table;
    return [{ type: "opened", view: "table", name: file.name, rows, columns, axes: defaultAxes(this.table), formats: ["csv"] }];
  }

  *show(request) {
    if (!this.table) throw new Error("No table is open: drop a file on the page or choose a sample.");
    const key = JSON.stringify(request.columns);
    if (this.plot?.key !== key) this.plot = this.makePlot(request.columns, key);
    const { plot } = this;
    if (request.plot !== plot.number) yield plot.message;
    yield this.clusters(plot, request);
    if (!plot.cuts.drawn) yield plot.cuts.picture();
    plot.cuts.grow();
    if (!plot.cuts.drawn) yield plot.cuts.picture();
  }

  makePlot(columns, key) {
    const { rows: n, values, columns: all } = this.table, d = columns.length, at = columns.map((name) => all.indexOf(name));
    if (d < 2 || d > 3 || at.includes(-1) || new Set(at).size < d) throw new Error("Choose two or three different columns.");
    const points = new Float64Array(n * d);
    for (let i = 0; i < n; i++) for (let j = 0; j < d; j++) points[i * d + j] = values[i * all.length + at[j]];
    const bad = points.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0) throw new Error(`Row ${Math.floor(bad / d) + 1}, column '${columns[bad % d]}' must be a finite number but is missing or infinite; remove the row or choose another column.`);
    const swept = sweep(points, n, d), limits = axisLimits(points, n, d);
    const drawn = n <= MAX_DOTS || d === 3 ? dots(points, n, d, limits) : raster(points, n, limits);
    const cuts = new Cuts(points, d, this.readable, n <= MAX_LOOSER), number = ++plotNumber;
    const message = { type: "points", view: "table", plot: number, columns, rows: n, drawn: drawn.rows.length, raster: RASTER, ...limits, ...swept, ...drawn.arrays };
    return { key, number, columns, points, n, d, limits, cuts, rows: drawn.rows, message };
  }

  find({ points, d, cuts }, { bandwidth, n_clusters: n }) {
    return bandwidth ? clusterPoints(points, d, bandwidth) : cuts.cut(n ?? cuts.readable);
  }

  clusters(plot, request) {
    const { d, limits: { low, high }, cuts, rows, columns } = plot, found = this.find(plot, request), bandwidth = request.bandwidth ?? null;
    const about = bandwidth
      ? { cells: found.cells, iterations: found.iterations, converged: found.converged }
      : { cut: found.cut, significant: cuts.significant, leaves: cuts.tree.sizes.length, branches: found.branches };
    const k = Math.min(found.n, MAX_MODES), centers = Float32Array.from(found.centers.subarray(0, k * d), (value, i) => (value - low[i % d]) / (high[i % d] - low[i % d]));
    return {
      type: "clusters", view: "table", request: request.id, bandwidth, n: found.n, ...about,
      code: pythonCall.cluster(this.name, columns, columns.join() === this.table.columns.join(), bandwidth, found.cut === cuts.significant ? null : found.cut),
      labels: narrow(rows.map((row) => found.labels[row]), found.n), centers, weights: Float32Array.from(found.weights.subarray(0, k)),
    };
  }

  export(request) {
    const { points, n, d, columns } = this.plot, { labels } = this.find(this.plot, request);
    const quoted = (name) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
    const lines = [[...columns.map(quoted), "label"].join()];
    for (let i = 0; i < n; i++) lines.push([...points.subarray(i * d, i * d + d), labels[i]].join());
    return { ending: "labels.csv", blob: new Blob([lines.join("\n"), "\n"], { type: "text/csv" }) };
  }
}
