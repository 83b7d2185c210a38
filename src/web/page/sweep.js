// A sweep over bandwidths, as meanshiftpp.sweep: 17 bandwidths around a reference for the spread of the
// points, the agreement of neighbouring clusterings, and the one that persists longest.

import { clusterPoints } from "./kernel.js";

const FINEST = 0.25, DIVISIONS = 4, TAIL = 0.01, FALLBACK = 0.45; // in references for the gradient
const MULTIPLES = [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64]; // of the step
const SPREAD_ROWS = 1 << 14, COMPARED_ROWS = 1 << 13;
const SMALL = 0.01, QUALIFYING = 0.03, MAX_IN_SMALL = 0.3;
const FREE_CELLS = 1 << 14, MOST_CELLS = 1 << 20;

const everyKth = (n, limit) => { const k = Math.ceil(n / limit); return Array.from({ length: Math.ceil(n / k) }, (_, i) => i * k); };

/** Return the standard deviation of a feature; outliers count as the nearest limit. */
function spread(values) {
  const sorted = Float64Array.from(values).sort(), n = sorted.length;
  const [first, last] = [TAIL, 1 - TAIL].map((share) => sorted[Math.ceil(share * n) - 1]), width = last - first || Infinity;
  const inside = sorted.map((value) => Math.min(Math.max(value, first - width), last + width));
  const mean = inside.reduce((a, b) => a + b, 0) / n;
  const deviation = Math.sqrt(inside.reduce((a, b) => a + (b - mean) ** 2, 0) / n);
  return deviation > Math.abs(mean) * 2 ** -44 ? deviation : Math.abs(mean) || 1;
}

function pairs(labels) {
  const sizes = new Map();
  for (const label of labels) sizes.set(label, (sizes.get(label) ?? 0) + 1);
  let sum = 0;
  for (const size of sizes.values()) sum += (size * (size - 1)) / 2;
  return sum;
}

/** Return the adjusted Rand index of two labellings. */
export function agreement(a, b) {
  const n = a.length, both = pairs(a.map((label, i) => label * 2 ** 26 + b[i])), inA = pairs(a), inB = pairs(b);
  const expected = (inA * inB) / Math.max((n * (n - 1)) / 2, 1), maximum = (inA + inB) / 2;
  return maximum === expected ? 1 : (both - expected) / (maximum - expected);
}

const countLarge = (weights, n, share) => weights.filter((weight) => weight >= share * n).length;

function qualifies({ weights }, n) {
  const inLarge = weights.slice(0, countLarge(weights, n, SMALL)).reduce((a, b) => a + b, 0);
  return countLarge(weights, n, QUALIFYING) >= 2 && 1 - inLarge / n <= MAX_IN_SMALL;
}

/** Return the index of the entry that agrees best with all others that qualify. */
function longest(entries, n) {
  const kept = entries.map((_, i) => i).filter((i) => qualifies(entries[i], n));
  if (!kept.length) {
    const distances = entries.map(({ multiple }) => Math.abs(Math.log(multiple / ((DIVISIONS / FINEST) * FALLBACK))));
    return distances.indexOf(Math.min(...distances));
  }
  const at = kept.map((i) => Math.log(entries[i].multiple)), last = kept.length - 1;
  const range = kept.map((_, k) => (last ? (at[Math.min(k + 1, last)] - at[Math.max(k - 1, 0)]) / (k && k < last ? 2 : 1) : 1));
  const total = kept.map((i, k) => kept.reduce((sum, j, m) => sum + range[m] * (m === k ? 1 : agreement(entries[i].compared, entries[j].compared)), 0));
  const best = Math.max(...total), equal = kept.filter((_, k) => total[k] >= best * (1 - 1e-9));
  return equal[Math.floor(equal.length / 2)];
}

/** Cluster n points of d features at many bandwidths. */
export function sweep(points, n, d) {
  const sample = everyKth(n, SPREAD_ROWS), compared = everyKth(n, COMPARED_ROWS);
  const reference = ((4 / ((d + 4) * n)) ** (1 / (d + 6)) * Math.sqrt(d + 4)) / 1.5;
  const step = Array.from({ length: d }, (_, j) => (FINEST / DIVISIONS) * reference * spread(sample.map((i) => points[i * d + j])));
  let entries = MULTIPLES.map((multiple) => {
    const { labels, weights, cells } = clusterPoints(points, d, step.map((side) => side * multiple));
    return { multiple, cells, weights: [...weights], compared: compared.map((i) => labels[i]) };
  });
  const limit = Math.min(MOST_CELLS, Math.max(FREE_CELLS, n / 3)), first = entries.findIndex(({ cells }) => cells <= limit);
  entries = entries.slice(first < 0 ? -1 : first);
  const between = entries.slice(1).map((entry, i) => agreement(entries[i].compared, entry.compared));
  const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
  return {
    step, multiples: entries.map(({ multiple }) => multiple), clusters: entries.map(({ weights }) => weights.length),
    large: entries.map(({ weights }) => countLarge(weights, n, SMALL)), best: longest(entries, n),
    stability: entries.map((_, i) => mean(between.slice(Math.max(i - 1, 0), i + 1))),
  };
}
