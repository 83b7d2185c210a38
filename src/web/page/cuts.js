// The nested clusterings of points, as the studio's table_tree.py: cuts of one tree of every row.

import { growMore, growPoints } from "./kernel.js";

const BACKGROUND = -1, NO_BRANCH = 2 ** 32 - 1; // of a background of its own

/** Return numbers by decreasing size of the groups of leaves; of equals, the first to appear comes first. */
function numberBySize(groups, sizes) {
  const total = new Map();
  groups.forEach((group, leaf) => { total.set(group, (total.get(group) ?? 0) + sizes[leaf]); });
  return [...total].sort(([, a], [, b]) => b - a); // a stable sort of the order of appearance
}

/** Return the function from a cluster to the one that it joined, directly or in turn. */
const finder = (group) => (cluster) => { while (group.has(cluster)) cluster = group.get(cluster); return cluster; };

export class Cuts {
  /** With `looser`, the tree has as many clusters as are readable, even if few are significant. */
  constructor(points, d, readable, looser) {
    this.d = d;
    this.ids = growPoints(points, d, (tree) => this.store(tree));
    this.significant = this.n;
    this.readable = Math.min(this.n, readable);
    this.limit = looser ? readable : this.n;
    this.complete = this.n >= this.limit;
  }

  /** Add looser splits if the tree has fewer clusters, as far as the data has peaks. */
  grow(n = this.limit) {
    if (this.n >= n || this.exhausted) return;
    this.store(growMore(n, this.d));
    this.exhausted = this.n < n;
    this.complete = this.exhausted || this.n >= this.limit;
  }

  /** Store a tree, and the clusters on both sides of each split in the order of cuts. */
  store(tree) {
    const left = new Set(tree.splits), group = new Map(), find = finder(group), divisions = [], size = [];
    tree.clusters.forEach((cluster, leaf) => { size[cluster] = (size[cluster] ?? 0) + tree.sizes[leaf]; });
    while (left.size) { // the loosest stage first, and in it the split that separates the least
      const parents = new Set([...left].map((split) => split.parent)), leaves = [...left].filter((split) => !parents.has(split.cluster));
      const free = leaves.length ? leaves : [...left]; // clusters without points that were undone may be parts of each other
      for (const split of free) {
        split.neighbour = find(tree.clusters[split.joins]);
        split.lost = split.depth * Math.min(size[split.cluster], size[split.neighbour]);
      }
      const isBefore = (a, b) => (b.stage - a.stage || a.lost - b.lost || b.cluster - a.cluster) < 0;
      const split = free.reduce((best, each) => (isBefore(each, best) ? each : best)), { cluster, neighbour } = split;
      left.delete(split);
      divisions.unshift(split);
      group.set(cluster, neighbour);
      size[neighbour] += size[cluster];
    }
    Object.assign(this, { tree, divisions, n: divisions.length + 1, root: find(tree.clusters[0]), drawn: false });
  }

  /** Return the branch of each cluster of a cut, and the parent of each branch down to it. */
  branches(n) {
    const branchOf = new Map([[this.root, 0]]), parents = [-1];
    this.divisions.slice(0, n - 1).forEach(({ cluster, neighbour }, i) => {
      parents.push(branchOf.get(neighbour), branchOf.get(neighbour));
      branchOf.set(cluster, 2 * i + 1).set(neighbour, 2 * i + 2);
    });
    return { branchOf, parents };
  }

  /** Return the given number of clusters, or all that the tree has, and the label of each point. */
  cut(wanted) {
    this.grow(wanted);
    const n = Math.min(wanted, this.n), { clusters, sizes, hosts } = this.tree, { branchOf } = this.branches(n);
    const find = finder(new Map(this.divisions.slice(n - 1).map(({ cluster, neighbour }) => [cluster, neighbour])));
    const groups = Array.from(hosts, (host) => (host >= 0 ? find(clusters[host]) : n > 1 ? BACKGROUND : this.root)), numbers = numberBySize(groups, sizes);
    const labelOf = new Map(numbers.map(([number], label) => [number, label])), leafLabels = groups.map((each) => labelOf.get(each));
    return {
      cut: n, n: numbers.length, labels: Int32Array.from(this.ids, (leaf) => leafLabels[leaf]), weights: Float64Array.from(numbers, ([, size]) => size),
      branches: Uint32Array.from(numbers, ([number]) => branchOf.get(number) ?? NO_BRANCH), centers: this.centers(leafLabels, numbers.length),
    };
  }

  /** Return the mean of the leaves that are denser than their cluster on average, or its densest leaf if that mean is not among them. */
  centers(labels, n) {
    const { sizes, radii, positions, units } = this.tree, d = this.d, axes = [...Array(d).keys()];
    const size = (leaf) => Math.max(sizes[leaf], 2 ** -20), top = Array(n).fill(-1), isInside = Array(n).fill(false);
    const weight = new Float64Array(n), radius = new Float64Array(n), core = new Float64Array(n), means = new Float64Array(n * d);
    labels.forEach((label, leaf) => {
      weight[label] += size(leaf);
      radius[label] += size(leaf) * radii[leaf];
      if (top[label] < 0 || radii[leaf] < radii[top[label]]) top[label] = leaf;
    });
    const dense = [...labels.keys()].filter((leaf) => radii[leaf] <= radius[labels[leaf]] / weight[labels[leaf]] + 2 ** -20 || leaf === top[labels[leaf]]);
    for (const leaf of dense) {
      core[labels[leaf]] += size(leaf);
      for (const j of axes) means[labels[leaf] * d + j] += size(leaf) * positions[leaf * d + j];
    }
    means.forEach((sum, i) => { means[i] = sum / core[Math.floor(i / d)]; });
    const inUnits = (offset, j) => (units[j] > 0 ? offset / units[j] : 0);
    for (const leaf of dense) {
      const squared = axes.reduce((sum, j) => sum + inUnits(positions[leaf * d + j] - means[labels[leaf] * d + j], j) ** 2, 0);
      isInside[labels[leaf]] ||= squared <= 4 ** radii[leaf];
    }
    return means.map((mean, i) => (isInside[Math.floor(i / d)] ? mean : positions[top[Math.floor(i / d)] * d + (i % d)]));
  }

  // -- the picture

  picture() {
    this.drawn = true;
    const { branchOf, parents } = this.branches(this.n), places = this.places(branchOf, parents);
    return { type: "tree", view: "table", significant: this.significant, complete: this.complete, branches: places.map((place, i) => [place, parents[i]]), advice: this.advice() };
  }

  /** Place leaves of the tree side by side, and every other branch between its children. */
  places(branchOf, parents) {
    const { clusters, sizes, positions } = this.tree, n = parents.length, weight = new Float64Array(n), moment = new Float64Array(n);
    clusters.forEach((cluster, leaf) => {
      weight[branchOf.get(cluster)] += sizes[leaf];
      moment[branchOf.get(cluster)] += sizes[leaf] * positions[leaf * this.d];
    });
    for (let i = n - 1; i > 0; i--) { weight[parents[i]] += weight[i]; moment[parents[i]] += moment[i]; }
    const children = parents.map(() => []), places = Array(n), waiting = [0];
    for (const i of Array.from({ length: n - 1 }, (_, k) => k + 1).sort((a, b) => moment[b] / weight[b] - moment[a] / weight[a])) children[parents[i]].push(i);
    for (let leaves = 0; waiting.length;) {
      const branch = waiting.pop();
      waiting.push(...children[branch]);
      if (!children[branch].length) places[branch] = leaves++ + 0.5;
    }
    for (let i = n - 1; i >= 0; i--) if (children[i].length) places[i] = (places[children[i][0]] + places[children[i][1]]) / 2;
    return places;
  }

  advice() {
    if (this.significant > 1) return "";
    if (this.n === 1) return "no significant valley, and no candidate; move the slider of the bandwidth to see others";
    const candidates = this.n === 2 ? "1 candidate" : `${this.n - 1} candidates`;
    return `no significant valley; the clearest of ${candidates} reaches ${Math.round(100 * this.divisions[0].score)} % of the depth that counts; drag the line of the tree to see it`;
  }
}
