// The tree below the points: one branch for each cluster, and a line that is dragged to cut it. The
// server sends the values of strictness at which the line can stop; higher is stricter.

import { $, plural, svgNode } from "./ui.js";

const MARGIN = { left: 62, right: 20, top: 8, bottom: 10 };
const TICKS = [0.2, 0.5, 1, 2, 5, 10, 20, 50];

export function treePanel(box, { colourOf, onCut }) {
  const svg = $("svg", box), text = $(".cut", box), resetButton = $("button", box);
  let tree = null; // the last message about the tree
  let shown = null; // the clusters on the screen
  let strictness = 1; // of the line
  let scale = null; // of the last drawing

  const stops = () => tree?.stops ?? [1];
  const isWhole = () => !tree || tree.branches.length < 2; // at every strictness

  // -- drawing

  /** Return the functions from a branch's place and from a strictness to pixels. */
  function scales() {
    const { clientWidth: width, clientHeight: height } = svg;
    const all = stops(), [high, low] = [all[0] * 1.06, all.at(-1) / 1.06];
    const leaves = 0.5 + Math.max(...tree.branches.map(([x]) => x));
    const w = width - MARGIN.left - MARGIN.right, h = height - MARGIN.top - MARGIN.bottom;
    return {
      tree, width, height,
      x: (place) => MARGIN.left + (w * place) / leaves,
      y: (value) => MARGIN.top + (h * Math.log(high / value)) / Math.log(high / low),
    };
  }

  function draw() {
    refresh();
    if (isWhole() || !svg.clientWidth) {
      scale = null;
      svg.replaceChildren();
      return;
    }
    if (scale?.tree !== tree || scale.width !== svg.clientWidth || scale.height !== svg.clientHeight) {
      scale = scales();
      svg.setAttribute("viewBox", `0 0 ${scale.width} ${scale.height}`);
      svg.replaceChildren(...axis(), ...branches(), svgNode("g", {}));
    }
    $("g", svg).replaceChildren(...line(), ...coloured()); // the rest does not depend on the cut
  }

  function axis() {
    const parts = [];
    for (const tick of TICKS.filter((value) => value <= stops()[0] && value >= stops().at(-1))) {
      const y = scale.y(tick);
      parts.push(svgNode("line", { x1: MARGIN.left, x2: scale.width - MARGIN.right, y1: y, y2: y, style: "stroke: var(--line)" }));
      parts.push(svgNode("text", { x: MARGIN.left - 18, y: y + 3.5, "text-anchor": "end" }, tick));
    }
    const name = { "text-anchor": "middle", transform: `translate(15 ${scale.height / 2}) rotate(-90)` };
    return [...parts, svgNode("text", name, "strictness")];
  }

  /** Return the strictness halfway to the stricter neighbour of a stop: branches divide there. */
  const edge = (stop) => (stop ? Math.sqrt(stops()[stop - 1] * stops()[stop]) : stops()[0] * 1.06);

  /** Return the cluster on the screen that each branch is a part of, -1 for none. */
  function clusters() {
    const cut = shown?.joined ? stops().indexOf(shown.strictness) : -1;
    const of = tree.branches.map(() => -1);
    if (cut >= 0) shown.numbers.forEach((number, label) => { of[tree.branch_of[cut][number]] = label; });
    tree.branches.forEach(([, first, , parent], i) => { if (cut >= 0 && first > cut) of[i] = of[parent]; });
    return of;
  }

  /** Return the ends of a branch, and the place of its parent. */
  function ends([place, first, last, parent]) {
    const bottom = last + 1 < stops().length ? scale.y(edge(last + 1)) : scale.height - MARGIN.bottom;
    const x = scale.x(place), from = parent < 0 ? x : scale.x(tree.branches[parent][0]);
    return { x, from, top: scale.y(edge(first)), bottom };
  }

  function branches() {
    return tree.branches.map(ends).map(({ x, from, top, bottom }) =>
      svgNode("path", { d: `M${from} ${top}H${x}V${bottom}`, style: "stroke: var(--soft); stroke-width: 1.2; opacity: .6" }));
  }

  /** Return the branches below the line in the colours of the clusters, with a dot where it cuts one. */
  function coloured() {
    const of = clusters(), parts = [], dots = [];
    tree.branches.forEach((branch, i) => {
      if (of[i] < 0) return;
      const cut = scale.y(shown.strictness), { x, from, top, bottom } = ends(branch), crossed = top <= cut;
      const d = crossed ? `M${x} ${cut}V${bottom}` : `M${from} ${top}H${x}V${bottom}`, colour = colourOf(of[i]);
      parts.push(svgNode("path", { d, style: `stroke: ${colour}; stroke-width: 2.4` }));
      if (crossed) dots.push(svgNode("circle", { cx: x, cy: cut, r: 4.5, style: `fill: ${colour}; stroke: var(--panel); stroke-width: 1.5` }));
    });
    return [...parts, ...dots];
  }

  /** Return the line with its handle; none at a bandwidth. */
  function line() {
    if (shown && !shown.joined) return [];
    const across = scale.width - MARGIN.left - MARGIN.right + 8;
    return [svgNode("path", {
      class: "line", d: `M${MARGIN.left - 4} 0l-8 -6v12zh${across}`, transform: `translate(0 ${scale.y(strictness)})`,
      style: "fill: var(--accent); stroke: var(--accent); stroke-width: 2; opacity: .75",
    })];
  }

  /** Update the text and the attributes of the slider. */
  function refresh() {
    const joined = shown?.joined, lone = joined && shown.n === 1 && shown.strictness <= 1;
    const summary = joined ? `${plural(shown.n, "cluster")}, strictness ${shown.strictness}${lone ? ": no significant valley" : ""}` : "";
    text.textContent = shown && !joined ? "Drag here for significant clusters" : summary;
    const all = stops(), valued = { valuemin: all.at(-1), valuemax: all[0], valuenow: strictness, valuetext: summary || "off", disabled: isWhole() };
    for (const [key, value] of Object.entries(valued)) svg.setAttribute(`aria-${key}`, value);
    resetButton.disabled = !shown || (joined && strictness === 1);
  }

  // -- dragging, keys and reset

  function cut(value, event) {
    if (value === strictness && shown?.joined) return;
    strictness = value;
    onCut(event);
    $(".line", svg)?.setAttribute("transform", `translate(0 ${scale.y(value)})`); // the reply draws the rest
    svg.setAttribute("aria-valuenow", value);
  }

  function cutAt(event) {
    if (isWhole()) return;
    const y = event.clientY - svg.getBoundingClientRect().top;
    const distances = stops().map((value) => Math.abs(scale.y(value) - y));
    cut(stops()[distances.indexOf(Math.min(...distances))], event);
  }

  const reset = () => { strictness = 1; onCut(); };
  svg.onpointerdown = (event) => {
    event.preventDefault(); // of a selection, which the next drag would move instead of the line
    svg.focus({ preventScroll: true });
    svg.setPointerCapture(event.pointerId);
    cutAt(event);
  };
  svg.onpointermove = (event) => { if (svg.hasPointerCapture(event.pointerId)) cutAt(event); };
  svg.ondblclick = reset;
  resetButton.onclick = reset;
  svg.onkeydown = (event) => {
    const all = stops(), step = { ArrowUp: -1, ArrowRight: -1, ArrowDown: 1, ArrowLeft: 1, Home: all.length, End: -all.length }[event.key];
    if (!step || isWhole()) return;
    event.preventDefault();
    const nearest = all.findIndex((value) => value <= strictness);
    cut(all[Math.max(0, Math.min(all.length - 1, nearest + step))], event);
  };
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(svg);

  return {
    reset,
    get strictness() { return strictness; },
    setStrictness(value) { strictness = value; },
    get advice() { return tree?.advice ?? ""; },
    /** Forget the tree of another table, and wait for the next. */
    clear() { tree = shown = null; strictness = 1; box.hidden = false; draw(); },
    /** Draw a tree. */
    draw(message) { tree = message; draw(); },
    /** Colour the tree as the clusters on the screen. */
    show(message) { shown = message; draw(); },
  };
}
