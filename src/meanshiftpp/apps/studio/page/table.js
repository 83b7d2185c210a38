// The table view: points coloured by cluster, their tree, the curve of the sweep, and the bandwidth slider.

import { on, send } from "./wire.js";
import { treePanel } from "./tree.js";
import { $, $$, codeBox, colourOf, logSlider, make, percent, plural, rgbOf, round, stopwatch, svgNode, themeColour } from "./ui.js";

const LISTED = 60, COLOURED = 40; // clusters beyond COLOURED are grey
const MARGIN = { left: 62, right: 20, top: 20, bottom: 46 };

const clusterColour = (k) => (k < COLOURED ? colourOf(k) : themeColour("--soft"));

export function tableView(host) {
  const root = $("#table"), stage = $(".stage", root), plot = $(".plot", root), canvas = $(".points", root);
  const pen = canvas.getContext("2d", { willReadFrequently: true }), svg = $(".curve svg", root), list = $(".swatches", root);
  const showCode = codeBox($(".code", root)), watch = stopwatch(host.timings);
  const tree = treePanel($(".tree", root), { colourOf: clusterColour, onCut });
  const selects = [0, 1, 2].map((i) => $(`#column-${i}`));
  let lastRequest = 0, painted = 0, points = null, shown = null, turn = { yaw: 0.6, pitch: 0.35 };
  const slider = logSlider($("#table-bandwidth"), { low: 1, high: 64, digits: 6, format: () => "", onChange: request });

  // -- requests

  const columns = () => selects.map((each) => each.value).filter(Boolean);
  const sides = (multiple) => points.step.map((step) => round(step * multiple, 4));
  const bandwidth = () => (points && same(points.columns, columns()) && !slider.isAuto ? sides(slider.value()) : null);
  const same = (a, b) => a.length === b.length && a.every((each, i) => each === b[i]);

  function request(final, event) {
    lastRequest += 1;
    watch.start(lastRequest, event);
    send({ action: "show", view: "table", id: lastRequest, final, columns: columns(), bandwidth: bandwidth(), strictness: tree.strictness });
    if (points) refreshBandwidth();
  }

  selects.forEach((select) => {
    select.onchange = () => {
      // All columns must differ, so an axis with the same column takes the column that was replaced.
      const others = selects.filter((other) => other !== select && other.value === select.value);
      for (const other of others) other.value = select.dataset.previous;
      selects.forEach((each) => { each.dataset.previous = each.value; });
      points = null;
      tree.clear();
      request(true);
    };
  });

  function opened(message) {
    selects.forEach((select, i) => {
      const none = i === 2 ? [make("option", { value: "", textContent: "none" })] : [];
      select.replaceChildren(...none, ...message.columns.map((name) => make("option", { value: name, textContent: name })));
      select.value = i < 2 ? message.columns[i] : "";
      select.dataset.previous = select.value;
      select.disabled = message.columns.length < 3 && i === 2;
    });
    points = null; shown = null;
    plot.hidden = false;
    tree.clear();
    request(true);
  }

  on("points", "table", (message) => {
    points = message;
    const multiples = message.multiples;
    slider.range(multiples[0], multiples[multiples.length - 1]);
    setAuto(message.auto);
    refreshBandwidth();
    drawCurve();
  });

  /** Move the slider to an automatic bandwidth. */
  function setAuto(auto) {
    const { multiples, step } = points;
    const multiple = Math.exp(auto.reduce((sum, h, i) => sum + Math.log(h / step[i]), 0) / auto.length);
    points.auto = auto;
    points.autoMultiple = Math.min(Math.max(multiple, multiples[0]), multiples.at(-1));
    slider.auto(points.autoMultiple);
  }

  on("clusters", "table", (message) => {
    if (message.request < painted || !points) return;
    painted = message.request;
    shown = message;
    showCode(message.code);
    draw();
    drawList();
    tree.show(message);
    if (message.joined && slider.isAuto) { setAuto(message.bandwidth); refreshBandwidth(); }
    host.showStatus(status());
    root.dataset.answered = message.request;
    root.dataset.count = message.n;
    watch.stop(message.request);
  });

  on("tree", "table", (message) => {
    if (!points) return;
    tree.draw(message);
    drawAdvice();
    root.dataset.stops = message.stops.length;
  });

  const currentMultiple = () => (slider.isAuto ? points.autoMultiple : slider.value());
  function refreshBandwidth() {
    const h = slider.isAuto ? points.auto : sides(slider.value());
    $("output", root).value = (slider.isAuto ? "auto  " : "") + h.map((side) => round(side, 3)).join(" × ");
    moveMark();
  }
  $("#auto").onclick = () => tree.reset();

  /** Show the clusters of another strictness, at its automatic bandwidth. */
  function onCut(event) {
    if (!points) return;
    slider.auto(points.autoMultiple);
    request(true, event);
  }

  // -- the curve

  const CURVE = { left: 30, right: 10, top: 12, bottom: 22, width: 288, height: 132 };
  const along = (multiple) => {
    const [low, high] = [points.multiples[0], points.multiples.at(-1)];
    return CURVE.left + ((CURVE.width - CURVE.left - CURVE.right) * Math.log(multiple / low)) / Math.log(high / low);
  };

  function drawCurve() {
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
    moveMark();
  }

  function moveMark() {
    const mark = $(".mark", svg);
    if (!mark) return;
    const x = along(currentMultiple());
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
    svg.setAttribute("aria-valuetext", $("output", root).value);
  }

  function setEntry(i) {
    slider.set(points.multiples[Math.max(0, Math.min(points.multiples.length - 1, i))]);
    request(true);
  }
  const nearest = (multiple) => {
    const distances = points.multiples.map((each) => Math.abs(Math.log(each / multiple)));
    return distances.indexOf(Math.min(...distances));
  };
  svg.onclick = (event) => {
    if (!points) return;
    const box = svg.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * CURVE.width;
    const distances = points.multiples.map((each) => Math.abs(along(each) - x));
    setEntry(distances.indexOf(Math.min(...distances)));
  };
  svg.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step || !points) return;
    event.preventDefault();
    setEntry(nearest(currentMultiple()) + step);
  };

  // -- the plot

  function draw() {
    const ratio = devicePixelRatio || 1, box = plot.getBoundingClientRect();
    if (!points || !shown || !box.width) return;
    const size = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    else pen.clearRect(0, 0, ...size);
    const area = {
      x: MARGIN.left * ratio, y: MARGIN.top * ratio,
      w: canvas.width - (MARGIN.left + MARGIN.right) * ratio, h: canvas.height - (MARGIN.top + MARGIN.bottom) * ratio, ratio,
    };
    const is3d = points.columns.length === 3;
    const project = is3d ? projector(area) : ([x, y]) => [area.x + x * area.w, area.y + (1 - y) * area.h, 0];
    if (is3d) drawBox(project, area); else drawAxes(area);
    if (points.pixels) drawDensity(area); else drawDots(area, project, is3d);
    if ($("#show-grid").checked && !is3d) drawGrid(area);
    if ($("#show-modes").checked) drawModes(area, project);
  }

  /** Return the projection of the unit cube: rotated around its vertical axis, then tilted. */
  function projector(area) {
    const [cy, sy, cp, sp] = [Math.cos(turn.yaw), Math.sin(turn.yaw), Math.cos(turn.pitch), Math.sin(turn.pitch)];
    const scale = Math.min(area.w, area.h) * 0.62, mx = area.x + area.w / 2, my = area.y + area.h / 2;
    return ([a, b, c]) => {
      const x = a - 0.5, y = b - 0.5, z = (c ?? 0.5) - 0.5;
      const across = x * cy + z * sy, deep = z * cy - x * sy;
      return [mx + scale * across, my - scale * (y * cp - deep * sp), deep * cp + y * sp];
    };
  }

  const palette = () => {
    const grey = themeColour("--soft"), all = new Uint32Array(shown.n + 1);
    for (let k = 0; k < shown.n; k++) {
      const [r, g, b] = rgbOf(k < COLOURED ? colourOf(k) : grey);
      all[k] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    }
    return all;
  };

  /** Return the pixel of each dot, -1 outside of the canvas, and its depth; stored until the view changes. */
  let placed = {};
  function placeDots(project, r) {
    const key = [canvas.width, canvas.height, turn.yaw, turn.pitch, r].join();
    if (placed.points === points && placed.key === key) return placed;
    const { positions } = points, d = points.columns.length, n = positions.length / d;
    placed = { points, key, pixel: new Int32Array(n), depth: new Float32Array(n) };
    const at = [0, 0, 0];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < d; j++) at[j] = positions[d * i + j];
      const [px, py, deep] = project(at), x = Math.round(px), y = Math.round(py);
      const inside = x >= r && y >= r && x < canvas.width - r && y < canvas.height - r;
      placed.pixel[i] = inside ? y * canvas.width + x : -1;
      placed.depth[i] = deep;
    }
    return placed;
  }

  function drawDots(area, project, is3d) {
    const n = points.positions.length / points.columns.length, colours = palette(), { labels } = shown;
    const data = pen.getImageData(0, 0, canvas.width, canvas.height), out = new Uint32Array(data.data.buffer);
    const nearest = is3d ? new Float32Array(out.length).fill(-9) : null;
    const r = Math.max(1, Math.round(area.ratio * (n > 20000 ? 1 : n > 2000 ? 2 : 3.4)));
    const disc = [];
    for (let y = -r; y <= r; y++) for (let x = -r; x <= r; x++) if (x * x + y * y <= (r + 0.35) ** 2) disc.push(y * canvas.width + x);
    const { pixel, depth } = placeDots(project, r);
    for (let i = 0; i < n; i++) {
      if (pixel[i] < 0) continue;
      const colour = colours[labels[i]];
      for (let k = 0; k < disc.length; k++) {
        const p = pixel[i] + disc[k];
        if (nearest) { if (nearest[p] > depth[i]) continue; nearest[p] = depth[i]; }
        out[p] = colour;
      }
    }
    pen.putImageData(data, 0, 0);
  }

  function drawDensity(area) {
    const [width, height] = points.raster, raster = new OffscreenCanvas(width, height), ink = raster.getContext("2d");
    const data = ink.createImageData(width, height), out = new Uint32Array(data.data.buffer), colours = palette();
    for (let i = 0; i < points.pixels.length; i++) {
      const alpha = 70 + 0.725 * points.brightness[i];
      out[points.pixels[i]] = ((colours[shown.labels[i]] & 0xffffff) | (alpha << 24)) >>> 0;
    }
    ink.putImageData(data, 0, 0);
    pen.imageSmoothingEnabled = area.w < width;
    pen.drawImage(raster, area.x, area.y, area.w, area.h);
  }

  const ticks = (low, high, count) => {
    const rough = (high - low) / count, ten = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * ten).find((each) => each >= rough);
    const all = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) all.push(round(k * step, 10));
    return all;
  };

  function drawAxes(area) {
    pen.font = `${12 * area.ratio}px system-ui, sans-serif`;
    pen.fillStyle = themeColour("--soft");
    pen.strokeStyle = themeColour("--line");
    pen.lineWidth = area.ratio;
    const [x0, y0] = points.low, [x1, y1] = points.high;
    if ($("#show-grid").checked) pen.strokeStyle = "transparent"; // the lines of the grid replace them
    pen.beginPath();
    pen.textAlign = "center";
    for (const tick of ticks(x0, x1, 9)) {
      const x = area.x + ((tick - x0) / (x1 - x0)) * area.w;
      pen.moveTo(x, area.y); pen.lineTo(x, area.y + area.h);
      pen.fillText(String(tick), x, area.y + area.h + 17 * area.ratio);
    }
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const tick of ticks(y0, y1, 7)) {
      const y = area.y + (1 - (tick - y0) / (y1 - y0)) * area.h;
      pen.moveTo(area.x, y); pen.lineTo(area.x + area.w, y);
      pen.fillText(String(tick), area.x - 8 * area.ratio, y);
    }
    pen.stroke();
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    pen.fillStyle = themeColour("--ink");
    pen.fillText(points.columns[0], area.x + area.w / 2, area.y + area.h + 36 * area.ratio);
    pen.save();
    pen.translate(15 * area.ratio, area.y + area.h / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(points.columns[1], 0, 0);
    pen.restore();
  }

  function drawBox(project, area) {
    pen.strokeStyle = themeColour("--line");
    pen.fillStyle = themeColour("--ink");
    pen.lineWidth = area.ratio;
    pen.font = `${13 * area.ratio}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.beginPath();
    for (const [a, b] of [[0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 6], [4, 5], [4, 6], [3, 7], [5, 7], [6, 7]]) {
      const corner = (k) => project([k & 1, (k >> 1) & 1, k >> 2]);
      pen.moveTo(...corner(a).slice(0, 2)); pen.lineTo(...corner(b).slice(0, 2));
    }
    pen.stroke();
    [[0.5, -0.06, -0.06], [-0.06, 0.5, -0.06], [1.06, -0.06, 0.5]].forEach((position, i) => {
      const [x, y] = project(position);
      pen.fillText(points.columns[i], x, y);
    });
  }

  function drawGrid(area) {
    const [hx, hy] = shown.bandwidth, [x0, y0] = points.low, [x1, y1] = points.high;
    pen.strokeStyle = themeColour("--ink");
    pen.globalAlpha = 0.28;
    pen.lineWidth = 0.7 * area.ratio;
    pen.beginPath();
    for (let k = Math.ceil(x0 / hx); k * hx <= x1; k++) {
      const x = area.x + ((k * hx - x0) / (x1 - x0)) * area.w;
      pen.moveTo(x, area.y); pen.lineTo(x, area.y + area.h);
    }
    for (let k = Math.ceil(y0 / hy); k * hy <= y1; k++) {
      const y = area.y + (1 - (k * hy - y0) / (y1 - y0)) * area.h;
      pen.moveTo(area.x, y); pen.lineTo(area.x + area.w, y);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  function drawModes(area, project) {
    const d = points.columns.length, rows = points.rows;
    for (let k = Math.min(shown.weights.length, 200) - 1; k >= 0; k--) {
      if (shown.weights[k] < 0.002 * rows && k > 3) continue; // small clusters would hide the modes
      const [x, y] = project([...shown.centers.subarray(d * k, d * k + d)]);
      const r = area.ratio * (4 + 9 * Math.sqrt(shown.weights[k] / shown.weights[0]));
      pen.beginPath();
      pen.arc(x, y, r, 0, 7);
      pen.fillStyle = clusterColour(k);
      pen.fill();
      pen.lineWidth = 2.5 * area.ratio;
      pen.strokeStyle = themeColour("--panel");
      pen.stroke();
      pen.lineWidth = 1.2 * area.ratio;
      pen.strokeStyle = themeColour("--ink");
      pen.beginPath();
      pen.arc(x, y, r + 1.4 * area.ratio, 0, 7);
      pen.stroke();
    }
  }

  function drawList() {
    const count = Math.min(shown.weights.length, LISTED), d = points.columns.length;
    const items = [...Array(count).keys()].map((k) => {
      const center = [...shown.centers.subarray(d * k, d * k + d)].map((c, j) => round(points.low[j] + c * (points.high[j] - points.low[j]), 3));
      return make("li", {}, make("span", {}, make("i", { style: { background: clusterColour(k) } }),
        make("b", { textContent: center.join(", ") }), make("em", { textContent: percent(shown.weights[k] / points.rows) })));
    });
    if (shown.n > count) items.push(make("li", { className: "more", textContent: `and ${(shown.n - count).toLocaleString("en")} more` }));
    list.replaceChildren(...items);
    $(".count", root).textContent = plural(shown.n, shown.joined && shown.strictness === 1 ? "significant cluster" : "cluster");
    drawAdvice();
  }

  /** Show the next step for one significant cluster, once its tree is known. */
  function drawAdvice() {
    $(".advice", root).textContent = shown?.joined && shown.strictness === 1 ? tree.advice : "";
  }

  // -- rotation, redrawing and exports

  canvas.onpointerdown = (event) => canvas.setPointerCapture(event.pointerId);
  canvas.onpointermove = (event) => {
    if (!canvas.hasPointerCapture(event.pointerId) || points?.columns.length !== 3) return;
    rotate(event.movementX * 0.008, event.movementY * 0.008);
  };
  canvas.onkeydown = (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (step && points?.columns.length === 3) { event.preventDefault(); rotate(...step); }
  };
  function rotate(yaw, pitch) {
    turn = { yaw: turn.yaw + yaw, pitch: Math.max(-1.5, Math.min(1.5, turn.pitch + pitch)) };
    requestAnimationFrame(draw);
  }
  for (const id of ["#show-grid", "#show-modes"]) $(id).onchange = draw;
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => requestAnimationFrame(draw));
  for (const button of $$("[data-export]", root)) {
    button.onclick = () => shown && points && host.export({ view: "table", kind: button.dataset.export, columns: points.columns, bandwidth: shown.joined ? null : shown.bandwidth, strictness: shown.strictness });
  }

  function status() {
    if (!shown || !points) return "";
    const drawn = points.drawn < points.rows && !points.pixels ? ` (${points.drawn.toLocaleString("en")} drawn)` : "";
    return `${plural(points.rows, "point")}${drawn}, ${plural(shown.cells, "occupied cell")}, ${plural(shown.iterations, "iteration")}${shown.converged ? "" : ", not converged"}`;
  }
  return { opened, status, redraw: draw };
}
