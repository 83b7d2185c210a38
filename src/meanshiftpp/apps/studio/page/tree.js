// The tree below the points: branches divide from one cluster at the top to many at the bottom, and a line
// that is dragged cuts it. Cuts are nested: the cut into k clusters divides a branch of the one before into
// the branches 2 k - 3 and 2 k - 2.

import { $, plural, svgNode } from "./ui.js";

const MARGIN = { left: 62, right: 20, top: 8, bottom: 10 };
const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const DOTTED = 60; // clusters that have a dot where the line cuts them

export function treePanel(box, { colourOf, onCut }) {
  const svg = $("svg", box), text = $(".cut", box), number = $("input", box);
  const resetButton = $("#reset-cut", box), allButton = $("#all-cut", box);
  let tree = null; // the last message about the tree
  let shown = null; // the clusters on the screen
  let wanted = null; // number of clusters of the line; null for the first view
  let scale = null; // of the last drawing

  const largest = () => (tree ? (tree.branches.length + 1) / 2 : 1); // number of clusters
  const isWhole = () => largest() < 2;
  const isCut = () => shown?.bandwidth === null;
  const current = () => Math.min(wanted ?? (isCut() ? shown.cut : 1), largest());
  const firstOf = (branch) => Math.floor((branch + 3) / 2); // the number of clusters that made a branch

  // -- drawing

  /** Return the functions from a branch's place and from a number of clusters to pixels. */
  function scales() {
    const { clientWidth: width, clientHeight: height } = svg, most = largest();
    const w = width - MARGIN.left - MARGIN.right, h = height - MARGIN.top - MARGIN.bottom;
    return {
      tree, width, height,
      x: (place) => MARGIN.left + (w * place) / most,
      y: (n) => MARGIN.top + (h * Math.log(n / 0.9)) / Math.log((most + 0.5) / 0.9),
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
      scale.ends = ends();
      svg.setAttribute("viewBox", `0 0 ${scale.width} ${scale.height}`);
      svg.replaceChildren(...axis(), branches(), svgNode("g", {}));
    }
    $("g", svg).replaceChildren(...line(), ...coloured()); // the rest does not depend on the cut
  }

  function axis() {
    const across = (y, style) => svgNode("line", { x1: MARGIN.left, x2: scale.width - MARGIN.right, y1: y, y2: y, style });
    const parts = TICKS.filter((n) => n <= largest()).flatMap((n) => [
      across(scale.y(n), "stroke: var(--line)"),
      svgNode("text", { x: MARGIN.left - 18, y: scale.y(n) + 3.5, "text-anchor": "end" }, n),
    ]);
    if (tree.significant < largest()) {
      const y = scale.y(tree.significant + 0.5);
      parts.push(across(y, "stroke: var(--soft); stroke-dasharray: 4 4"));
      parts.push(svgNode("text", { x: scale.width - MARGIN.right, y: y + 10, "text-anchor": "end" }, "not significant"));
    }
    const name = { "text-anchor": "middle", transform: `translate(15 ${scale.height / 2}) rotate(-90)` };
    return [...parts, svgNode("text", name, "clusters")];
  }

  /** Return the place of each branch, that of its parent, and its ends. */
  function ends() {
    const found = tree.branches.map(([place, parent], i) => ({
      x: scale.x(place), from: scale.x(tree.branches[Math.max(parent, 0)][0]), parent,
      top: i ? scale.y(firstOf(i) - 0.5) : MARGIN.top, bottom: scale.height - MARGIN.bottom,
    }));
    for (const { parent, top } of found) if (parent >= 0) found[parent].bottom = top;
    return found;
  }
  const pathOf = ({ x, from, top, bottom }) => `M${from.toFixed(1)} ${top.toFixed(1)}H${x.toFixed(1)}V${bottom.toFixed(1)}`;

  const branches = () => svgNode("path", { d: scale.ends.map(pathOf).join(""), style: "stroke: var(--soft); stroke-width: 1.2; opacity: .6" });

  /** Return the branches below the line in the colours of the clusters, with a dot where it cuts one. */
  function coloured() {
    if (!isCut()) return [];
    const label = tree.branches.map(() => -1), paths = new Map(), dots = [], y = scale.y(Math.min(shown.cut, largest()));
    shown.branches.forEach((branch, k) => { if (branch < label.length) label[branch] = k; });
    scale.ends.forEach((each, i) => {
      const isOwn = label[i] >= 0;
      if (!isOwn && each.parent >= 0 && firstOf(i) > shown.cut) label[i] = label[each.parent];
      if (label[i] < 0) return;
      const colour = colourOf(label[i]);
      paths.set(colour, (paths.get(colour) ?? "") + (isOwn ? `M${each.x} ${y}V${each.bottom}` : pathOf(each)));
      if (isOwn && shown.n <= DOTTED) dots.push(svgNode("circle", { cx: each.x, cy: y, r: 4.5, style: `fill: ${colour}; stroke: var(--panel); stroke-width: 1.5` }));
    });
    const width = shown.n <= DOTTED ? 2.4 : 1.4;
    return [...[...paths].map(([colour, d]) => svgNode("path", { d, style: `stroke: ${colour}; stroke-width: ${width}` })), ...dots];
  }

  /** Return the line with its handle; none at a bandwidth. */
  function line() {
    if (shown && !isCut()) return [];
    const across = scale.width - MARGIN.left - MARGIN.right + 8;
    return [svgNode("path", {
      class: "line", d: `M${MARGIN.left - 4} 0l-8 -6v12zh${across}`, transform: `translate(0 ${scale.y(current())})`,
      style: "fill: var(--accent); stroke: var(--accent); stroke-width: 2; opacity: .75",
    })];
  }

  function summary() {
    if (!isCut()) return "";
    const { n, cut: k, significant } = shown, background = n > k ? ", and background" : "";
    if (significant === 1) return k === 1 ? "1 cluster: no significant valley" : `${plural(k, "cluster")}, not significant${background}`;
    return (k < significant ? `${k} of ${significant.toLocaleString("en")} significant` : `${plural(k, "cluster")}, ${k > significant ? significant : "all"} significant`) + background;
  }

  /** Update the text and the attributes of the controls. */
  function refresh() {
    text.textContent = shown && !isCut() ? "Drag here for significant clusters" : summary();
    const valued = { valuemin: 1, valuemax: largest(), valuenow: current(), valuetext: summary() || "off", disabled: isWhole() };
    for (const [key, value] of Object.entries(valued)) svg.setAttribute(`aria-${key}`, value);
    if (document.activeElement !== number) number.value = isCut() ? shown.cut : "";
    resetButton.disabled = !shown || (isCut() && wanted === null);
    allButton.hidden = !isCut() || shown.cut >= shown.significant;
    allButton.textContent = `All ${shown?.significant ?? ""}`;
  }

  // -- dragging, keys and reset

  function cut(n, event) {
    if (isCut() && n === current()) return;
    wanted = n;
    onCut(event);
    if (scale) $(".line", svg)?.setAttribute("transform", `translate(0 ${scale.y(current())})`); // the reply draws the rest
    svg.setAttribute("aria-valuenow", current());
  }

  function cutAt(event) {
    if (isWhole()) return;
    const y = event.clientY - svg.getBoundingClientRect().top;
    let [low, high] = [1, largest()];
    while (low < high) { // the largest number whose line is not below the pointer by more than half a step
      const middle = (low + high + 1) >> 1;
      if (scale.y(middle - 0.5) <= y) low = middle; else high = middle - 1;
    }
    cut(low, event);
  }

  const reset = () => { wanted = null; onCut(); };
  svg.onpointerdown = (event) => {
    event.preventDefault(); // of a selection, which the next drag would move instead of the line
    svg.focus({ preventScroll: true });
    svg.setPointerCapture(event.pointerId);
    cutAt(event);
  };
  svg.onpointermove = (event) => { if (svg.hasPointerCapture(event.pointerId)) cutAt(event); };
  svg.ondblclick = reset;
  resetButton.onclick = reset;
  allButton.onclick = (event) => cut(shown.significant, event);
  number.onchange = (event) => { if (number.value && number.checkValidity()) cut(Number(number.value), event); };
  number.onblur = refresh;
  svg.onkeydown = (event) => {
    const n = current(), page = Math.ceil(n / 4);
    const next = { ArrowUp: n - 1, ArrowLeft: n - 1, ArrowDown: n + 1, ArrowRight: n + 1, PageUp: n - page, PageDown: n + page, Home: 1, End: largest() }[event.key];
    if (next === undefined || isWhole()) return;
    event.preventDefault();
    cut(Math.max(1, Math.min(largest(), next)), event);
  };
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(svg);

  return {
    reset,
    get wanted() { return wanted; },
    setWanted(n) { wanted = n; },
    get advice() { return tree?.advice ?? ""; },
    /** Forget the tree of another table, and wait for the next. */
    clear() { tree = shown = wanted = null; box.hidden = false; draw(); },
    /** Draw a tree. */
    draw(message) { tree = message; draw(); },
    /** Colour the tree as the clusters on the screen. */
    show(message) { shown = message; draw(); },
  };
}
