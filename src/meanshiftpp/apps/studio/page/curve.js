// The curve of the sweep: clusters and stability by bandwidth, with a mark at the current one.

import { $, round, svgNode } from "./ui.js";

const CURVE = { left: 30, right: 10, top: 12, bottom: 22, width: 288, height: 132 };

/** Draw a sweep into `svg`; `onPick` gets the multiple of the entry that is chosen. */
export function sweepCurve(svg, onPick) {
  let points = null, multiple = 1;
  const along = (value) => {
    const [low, high] = [points.multiples[0], points.multiples.at(-1)];
    return CURVE.left + ((CURVE.width - CURVE.left - CURVE.right) * Math.log(value / low)) / Math.log(high / low);
  };
  /** Return the entry that is nearest by a measure of its multiple. */
  const nearest = (distance) => {
    const distances = points.multiples.map(distance);
    return distances.indexOf(Math.min(...distances));
  };

  function draw(newPoints) {
    points = newPoints;
    const largest = Math.max(2, ...points.large), bottom = CURVE.height - CURVE.bottom, room = bottom - CURVE.top;
    const up = (n) => bottom - (room * Math.log(Math.max(n, 1))) / Math.log(largest);
    const parts = [];
    const xs = points.multiples.map(along), wide = (xs.at(-1) - xs[0]) / Math.max(1, xs.length - 1) / 2.6;
    points.stability.forEach((s, i) => {
      if (s === null) return;
      const high = room * Math.max(s, 0);
      parts.push(svgNode("rect", { x: xs[i] - wide, y: bottom - high, width: 2 * wide, height: high, rx: 1.5, style: `fill: var(--accent); opacity: ${i === points.best ? 0.75 : 0.28}` }));
    });
    for (const n of [1, 3, 10, 30, 100, 300, 1000].filter((n) => n <= largest)) {
      parts.push(svgNode("line", { x1: CURVE.left, x2: CURVE.width - CURVE.right, y1: up(n), y2: up(n), style: "stroke: var(--line)" }));
      parts.push(svgNode("text", { x: CURVE.left - 5, y: up(n) + 3.5, "text-anchor": "end" }, n));
    }
    const path = points.large.map((n, i) => `${i ? "L" : "M"}${xs[i].toFixed(1)} ${up(n).toFixed(1)}`).join("");
    parts.push(svgNode("path", { d: path, style: "fill: none; stroke: var(--ink); stroke-width: 1.8; stroke-linejoin: round" }));
    points.large.forEach((n, i) => parts.push(svgNode("circle", { cx: xs[i], cy: up(n), r: 2.6, style: "fill: var(--ink)" })));
    [0, Math.floor(xs.length / 2), xs.length - 1].forEach((i, k) =>
      parts.push(svgNode("text", { x: xs[i], y: CURVE.height - 7, "text-anchor": ["middle", "middle", "end"][k] }, round(points.step[0] * points.multiples[i], 3))));
    parts.push(svgNode("line", { class: "mark", y1: CURVE.top - 6, y2: bottom, style: "stroke: var(--accent); stroke-width: 2" }));
    svg.replaceChildren(...parts);
  }

  /** Move the mark to a multiple of the sweep's step, null for none; `text` names the bandwidth. */
  function move(value, text) {
    multiple = value ?? points?.multiples[points.best];
    const mark = $(".mark", svg);
    if (!mark) return;
    mark.style.display = value === null ? "none" : "";
    const x = along(multiple), side = (each) => round(points.step[0] * each, 4);
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
    const valued = { valuemin: side(points.multiples[0]), valuemax: side(points.multiples.at(-1)), valuenow: side(multiple), valuetext: text };
    for (const [name, each] of Object.entries(valued)) svg.setAttribute(`aria-${name}`, each);
  }

  const pick = (i) => onPick(points.multiples[Math.max(0, Math.min(points.multiples.length - 1, i))]);
  svg.onclick = (event) => {
    if (!points) return;
    const box = svg.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * CURVE.width;
    pick(nearest((each) => Math.abs(along(each) - x)));
  };
  svg.onkeydown = (event) => {
    const last = points?.multiples.length - 1;
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -last, End: last }[event.key];
    if (!step || !points) return;
    event.preventDefault();
    pick(nearest((each) => Math.abs(Math.log(each / multiple))) + step);
  };
  /** Forget the sweep of another table. */
  function clear() {
    points = null;
    svg.replaceChildren();
  }
  return { draw, move, clear };
}
