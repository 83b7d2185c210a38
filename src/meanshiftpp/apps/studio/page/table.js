// The table view: columns, bandwidth and number of clusters. The plot, the curve and the tree have modules.

import { on, send } from "./wire.js";
import { treePanel } from "./tree.js";
import { sweepCurve } from "./curve.js";
import { clusterColour, scatterPlot } from "./plot.js";
import { $, $$, codeBox, colourOf, isNumber, logSlider, make, percent, plural, round, stopwatch } from "./ui.js";

const LISTED = 60;

export function tableView(host) {
  const root = $("#table"), list = $(".swatches", root), plot = scatterPlot($(".stage", root));
  const curve = sweepCurve($(".curve svg", root), (multiple) => { slider.set(multiple); request(true); });
  const showCode = codeBox($(".code", root)), watch = stopwatch(host.timings);
  const tree = treePanel($(".tree", root), { colourOf, onCut });
  const selects = [0, 1, 2].map((i) => $(`#column-${i}`));
  let lastRequest = 0, painted = 0, points = null, shown = null;
  let wanted = null; // saved settings that wait for their points
  const slider = logSlider($("#table-bandwidth"), { low: 1, high: 64, digits: 6, format: () => "", onChange: request });

  // -- requests

  const columns = () => selects.map((each) => each.value).filter(Boolean);
  const sides = (multiple) => points.step.map((step) => round(step * multiple, 4));
  const isPlotted = () => points !== null && same(points.columns, columns());
  const bandwidth = () => (isPlotted() && !slider.isAuto ? sides(slider.value()) : null);
  const same = (a, b) => a.length === b.length && a.every((each, i) => each === b[i]);

  function request(final, event) {
    lastRequest += 1;
    root.dataset.requested = lastRequest;
    watch.start(lastRequest, event);
    send({ action: "show", view: "table", id: lastRequest, final, plot: points?.plot ?? null, columns: columns(), bandwidth: bandwidth(), n_clusters: isPlotted() ? tree.wanted : null });
    if (isPlotted()) refreshBandwidth();
  }

  selects.forEach((select) => {
    select.onchange = () => {
      // All columns must differ, so an axis with the same column takes the column that was replaced.
      const others = selects.filter((other) => other !== select && other.value === select.value);
      for (const other of others) other.value = select.dataset.previous;
      selects.forEach((each) => { each.dataset.previous = each.value; });
      request(true); // the old points stay until the new ones arrive
    };
  });

  /** Select the columns of the points on the screen again, after a request for others failed. */
  function jobEnded(failed) {
    if (failed && points && !isPlotted()) setColumns(points.columns);
  }
  const setColumns = (names) => selects.forEach((select, i) => { select.value = select.dataset.previous = names[i] ?? ""; });

  function opened(message, saved) {
    selects.forEach((select, i) => {
      const none = i === 2 ? [make("option", { value: "", textContent: "none" })] : [];
      select.replaceChildren(...none, ...message.columns.map((name) => make("option", { value: name, textContent: name })));
      select.disabled = message.columns.length < 3 && i === 2;
    });
    setColumns(message.axes.map((i) => message.columns[i]));
    wanted = null;
    plot.resetZoom();
    clear();
    if (saved) restore(saved, message.columns);
    request(true);
  }

  // -- saved work

  const state = () => ({
    columns: columns(), bandwidth: shown?.bandwidth ? slider.value() : null, n_clusters: tree.wanted,
    grid: $("#show-grid").checked, modes: $("#show-modes").checked,
  });

  /** Take over the valid part of saved settings; a bandwidth waits for the sweep. */
  function restore(saved, names) {
    const chosen = Array.isArray(saved.columns) ? [...new Set(saved.columns)].filter((name) => names.includes(name)) : [];
    if (chosen.length === saved.columns?.length && chosen.length >= 2 && chosen.length <= 3) setColumns(chosen);
    if (typeof saved.grid === "boolean") $("#show-grid").checked = saved.grid;
    if (typeof saved.modes === "boolean") $("#show-modes").checked = saved.modes;
    wanted = saved;
  }
  const isPositive = (value) => isNumber(value) && value > 0;

  /** Use the saved bandwidth or number of clusters, once the sweep is known. */
  function applyWanted() {
    const { bandwidth: multiple, n_clusters: n } = wanted ?? {};
    wanted = null;
    if (isPositive(multiple)) slider.set(multiple);
    else if (isPositive(n) && Number.isInteger(n)) tree.setWanted(n);
    else return;
    request(true);
  }

  // -- replies

  on("points", "table", (message) => {
    if (points?.plot === message.plot) return; // requested twice before it arrived
    if (points) plot.resetZoom();
    points = message;
    shown = null; // the clusters follow
    clearTree();
    const multiples = message.multiples;
    slider.range(multiples[0], multiples[multiples.length - 1]);
    slider.auto(multiples[message.best]);
    curve.draw(points);
    refreshBandwidth();
    applyWanted();
  });

  on("clusters", "table", (message) => {
    if (message.request < painted || !points) return;
    painted = message.request;
    shown = message;
    showCode(message.code);
    plot.show(points, shown);
    drawList();
    tree.show(message);
    $("#show-grid").disabled = message.bandwidth === null;
    host.answered("table", JSON.stringify([points.plot, message.bandwidth, message.cut]));
    root.dataset.answered = message.request;
    root.dataset.count = message.n;
    root.dataset.cut = message.cut ?? "";
    watch.stop(message.request);
  });

  on("tree", "table", (message) => {
    if (!points) return;
    tree.draw(message);
    drawAdvice();
    root.dataset.tree = message.complete ? "complete" : "growing";
  });

  /** Remove the last result: it belongs to another table, and the next one may be an error. */
  function clear() {
    points = shown = null;
    plot.clear();
    curve.clear();
    clearTree();
    list.replaceChildren();
    $(".count", root).textContent = $(".advice", root).textContent = $("output", root).value = "";
    showCode({ python: "", cli: "" });
  }

  /** Forget the tree of other points; `data-tree` marks a tree that belongs to the points on the screen. */
  function clearTree() {
    tree.clear();
    delete root.dataset.tree;
  }

  function refreshBandwidth() {
    const multiple = slider.value(); // null without a bandwidth
    $("output", root).value = multiple === null ? "none" : sides(multiple).map((side) => round(side, 3)).join(" × ");
    curve.move(multiple, $("output", root).value);
  }
  $("#auto").onclick = () => tree.reset();

  /** Show another cut of the tree, without a bandwidth. */
  function onCut(event) {
    if (!points) return;
    slider.auto(points.multiples[points.best]);
    request(true, event);
  }

  // -- the list

  function drawList() {
    const count = Math.min(shown.weights.length, LISTED), d = points.columns.length;
    const items = [...Array(count).keys()].map((k) => {
      const center = [...shown.centers.subarray(d * k, d * k + d)].map((c, j) => round(points.low[j] + c * (points.high[j] - points.low[j]), 3));
      return make("li", {}, make("span", {}, make("i", { style: { background: clusterColour(k, shown) } }),
        make("b", { textContent: center.join(", ") }), make("em", { textContent: percent(shown.weights[k] / points.rows) })));
    });
    if (shown.n > count) items.push(make("li", { className: "more", textContent: `and ${(shown.n - count).toLocaleString("en")} more` }));
    list.replaceChildren(...items);
    $(".count", root).textContent = plural(shown.n, shown.cut <= shown.significant ? "significant cluster" : "cluster");
    drawAdvice();
  }

  /** Show the next step for one significant cluster, once its tree is known. */
  function drawAdvice() {
    $(".advice", root).textContent = shown?.cut === 1 ? tree.advice : "";
  }

  for (const button of $$("[data-export]", root)) {
    button.onclick = () => shown && points && host.export({ view: "table", kind: button.dataset.export, columns: points.columns, bandwidth: shown.bandwidth, n_clusters: shown.cut ?? null });
  }

  function status() {
    if (!shown || !points) return "";
    const drawn = points.drawn < points.rows && !points.pixels ? ` (${points.drawn.toLocaleString("en")} drawn)` : "";
    const work = shown.bandwidth
      ? `${plural(shown.cells, "occupied cell")}, ${plural(shown.iterations, "step")}${shown.converged ? "" : ", not converged"}`
      : `${shown.leaves.toLocaleString("en")} ${shown.leaves === 1 ? "leaf" : "leaves"} of the tree`;
    return `${plural(points.rows, "point")}${drawn}, ${work}`;
  }
  return { opened, status, state, jobEnded, redraw: plot.draw };
}
