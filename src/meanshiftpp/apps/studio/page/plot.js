// The plot of the table view: dots or a density, axes, the grid and the modes, with zoom and rotation.

import { $, colourOf, rgbOf, round, themeColour } from "./ui.js";
import { zoomable, zoomControls } from "./zoom.js";

const COLOURED = 40; // clusters beyond these are grey at a bandwidth, where most are single points
const MARGIN = { left: 62, right: 20, top: 20, bottom: 46 };

export const clusterColour = (k, { bandwidth }, grey) => (k < COLOURED || !bandwidth ? colourOf(k) : grey ?? themeColour("--soft"));

export function scatterPlot(stage) {
  const plot = $(".plot", stage), canvas = $(".points", stage), controls = zoomControls(stage);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  let points = null, shown = null, turn = { yaw: 0.6, pitch: 0.35 };
  const is3d = () => points?.columns.length === 3;
  const hasGrid = () => shown.bandwidth && $("#show-grid").checked;
  const redraw = () => requestAnimationFrame(draw);
  const zoom = zoomable(canvas, { controls, area: visibleArea, onChange: redraw, canPan: (event) => points && (!is3d() || event.shiftKey) });

  /** Return the area of the points in client pixels. */
  function visibleArea() {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return { left: left + MARGIN.left, top: top + MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  }
  /** Move a pixel of the plot as the zoom does. */
  function zoomed(area, px, py) {
    const { scale, x, y } = zoom.state;
    return [area.x + x * area.w + scale * (px - area.x), area.y + y * area.h + scale * (py - area.y)];
  }
  /** Return the limits of what is drawn: the area of the points, or all of the canvas without zoom. */
  const bounds = (area) => (zoom.state.scale === 1 ? [0, 0, canvas.width, canvas.height] : [area.x, area.y, area.x + area.w, area.y + area.h]);
  /** Return the ends of both axes in data units. */
  function visibleLimits() {
    const { scale, x, y } = zoom.state, [x0, y0] = points.low, [w, h] = [points.high[0] - x0, points.high[1] - y0];
    return [x0 - (w * x) / scale, x0 + (w * (1 - x)) / scale, y0 + h * (1 - (1 - y) / scale), y0 + h * (1 + y / scale)];
  }

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
    const project = is3d() ? projector(area) : ([x, y]) => [...zoomed(area, area.x + x * area.w, area.y + (1 - y) * area.h), 0];
    if (is3d()) drawBox(project, area); else drawAxes(area);
    if (points.pixels) drawDensity(area); else drawDots(area, project, is3d());
    if (hasGrid() && !is3d()) drawGrid(area);
    if ($("#show-modes").checked) drawModes(area, project);
  }

  /** Return the projection of the unit cube: rotated around its vertical axis, then tilted. */
  function projector(area) {
    const [cy, sy, cp, sp] = [Math.cos(turn.yaw), Math.sin(turn.yaw), Math.cos(turn.pitch), Math.sin(turn.pitch)];
    const scale = Math.min(area.w, area.h) * 0.62, mx = area.x + area.w / 2, my = area.y + area.h / 2;
    return ([a, b, c]) => {
      const x = a - 0.5, y = b - 0.5, z = (c ?? 0.5) - 0.5;
      const across = x * cy + z * sy, deep = z * cy - x * sy;
      const [px, py] = zoomed(area, mx + scale * across, my - scale * (y * cp - deep * sp));
      return [px, py, deep * cp + y * sp];
    };
  }

  const palette = () => {
    const grey = themeColour("--soft"), all = new Uint32Array(shown.n + 1);
    for (let k = 0; k < shown.n; k++) {
      const [r, g, b] = rgbOf(clusterColour(k, shown, grey));
      all[k] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    }
    return all;
  };

  /** Return the pixel of each dot, -1 outside of the canvas, and its depth; stored until the view changes. */
  let placed = {};
  function placeDots(area, project, r) {
    const key = [canvas.width, canvas.height, turn.yaw, turn.pitch, r, ...Object.values(zoom.state)].join();
    if (placed.points === points && placed.key === key) return placed;
    const { positions } = points, d = points.columns.length, n = positions.length / d;
    const [left, top, right, bottom] = bounds(area);
    placed = { points, key, pixel: new Int32Array(n), depth: new Float32Array(n) };
    const at = [0, 0, 0];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < d; j++) at[j] = positions[d * i + j];
      const [px, py, deep] = project(at), x = Math.round(px), y = Math.round(py);
      const inside = x >= left + r && y >= top + r && x < right - r && y < bottom - r;
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
    const { pixel, depth } = placeDots(area, project, r);
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
    const { scale, x, y } = zoom.state;
    pen.imageSmoothingEnabled = area.w * scale < width;
    pen.save();
    pen.beginPath();
    pen.rect(area.x, area.y, area.w, area.h);
    pen.clip();
    pen.drawImage(raster, area.x + x * area.w, area.y + y * area.h, scale * area.w, scale * area.h);
    pen.restore();
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
    const [x0, x1, y0, y1] = visibleLimits();
    if (hasGrid()) pen.strokeStyle = "transparent"; // the lines of the grid replace them
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
    const [hx, hy] = shown.bandwidth, [x0, x1, y0, y1] = visibleLimits();
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
    const d = points.columns.length, rows = points.rows, [left, top, right, bottom] = bounds(area), n = shown.weights.length;
    const size = area.ratio * (shown.bandwidth ? 1 : Math.min(1, Math.sqrt(30 / n))); // many centres would hide the points
    for (let k = n - 1; k >= 0; k--) {
      if (shown.bandwidth && shown.weights[k] < 0.002 * rows && k > 3) continue; // single points would hide the modes
      const [x, y] = project([...shown.centers.subarray(d * k, d * k + d)]);
      if (x < left || x > right || y < top || y > bottom) continue;
      const r = size * (4 + 9 * Math.sqrt(shown.weights[k] / shown.weights[0]));
      pen.beginPath();
      pen.arc(x, y, r, 0, 7);
      pen.fillStyle = clusterColour(k, shown);
      pen.fill();
      pen.lineWidth = 2.5 * size;
      pen.strokeStyle = themeColour("--panel");
      pen.stroke();
      pen.lineWidth = 1.2 * size;
      pen.strokeStyle = themeColour("--ink");
      pen.beginPath();
      pen.arc(x, y, r + 1.4 * size, 0, 7);
      pen.stroke();
    }
  }

  // -- rotation and redrawing

  canvas.addEventListener("pointermove", (event) => {
    if (!canvas.hasPointerCapture(event.pointerId) || !is3d() || event.shiftKey || zoom.isPinch) return;
    rotate(event.movementX * 0.008, event.movementY * 0.008);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (step && is3d() && !event.shiftKey) { event.preventDefault(); rotate(...step); }
  });
  function rotate(yaw, pitch) {
    turn = { yaw: turn.yaw + yaw, pitch: Math.max(-1.5, Math.min(1.5, turn.pitch + pitch)) };
    redraw();
  }
  for (const id of ["#show-grid", "#show-modes"]) $(id).onchange = draw;
  new ResizeObserver(redraw).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  return {
    draw,
    /** Show clusters of points. */
    show(newPoints, newClusters) {
      plot.hidden = controls.hidden = false;
      [points, shown] = [newPoints, newClusters];
      draw();
    },
    /** Forget the points of another table. */
    clear() {
      plot.hidden = controls.hidden = true;
      points = shown = null;
    },
    resetZoom: () => zoom.clear(),
  };
}
