// The image view. The server sends the pieces (one id per pixel) once, and a table from pieces to
// labels for every move of a slider. `image_paint` colours the pixels.

import { on, send } from "./wire.js";
import { $, $$, codeBox, fit, hex, isNumber, logSlider, make, percent, plural, stopwatch } from "./ui.js";
import { drawPalette, paintPixels } from "./image_paint.js";
import { zoomable, zoomControls } from "./zoom.js";

const LISTED = 60;
const BANDWIDTHS = { lab: [0.75, 40], rgb: [2, 120], luv: [1, 50], hsv: [0.75, 40] };

export function imageView(host) {
  const root = $("#image"), stage = $(".stage", root), frame = $(".frame", root), content = $(".zoomed", root);
  const photo = $(".photo", root), result = $(".result", root), divider = $(".divider", root);
  const paletteBox = $(".palette-view", root), list = $(".swatches", root);
  const pen = result.getContext("2d");
  const showCode = codeBox($(".code", root)), watch = stopwatch(host.timings);
  let size = [0, 0], defaults = null, lastRequest = 0, painted = 0;
  let pieces = new Map(); // number -> ids, with width and height
  let shown = null; // the result on the screen
  let seeds = []; // selected positions, each [x, y] from 0 to 1, which stay valid when labels change
  let image = null, divided = 0;
  const zoom = zoomable(result, { controls: zoomControls(stage), area: () => frame.getBoundingClientRect(), onChange: zoomed });
  const resize = fit(stage, frame, () => size);

  // -- requests

  const choice = (name) => $(`input[name=${name}]:checked`, root).value;
  const isRegions = () => choice("what") === "regions";
  const numberOrAuto = (value) => (value === null ? "auto" : String(value));
  const detail = logSlider($("#detail"), { low: 0.05, high: 40, format: numberOrAuto, onChange: request });
  const bandwidth = logSlider($("#bandwidth"), { low: 1, high: 40, format: numberOrAuto, onChange: request });
  const spatial = logSlider($("#spatial"), { low: 4, high: 400, off: true, format: (v) => (v === null ? "off" : `${v} px`), onChange: request });
  const smallest = logSlider($("#min-size"), { low: 2, high: 20000, off: true, digits: 2, format: (v) => (v === null ? "any" : `${v.toLocaleString("en")} px`), onChange: request });

  function settings() {
    const min = smallest.value();
    return {
      view: "image", regions: isRegions(), bandwidth: bandwidth.value(), space: $("#space").value,
      spatial: spatial.value(), detail: detail.value(), min_size: min === null ? null : Math.round(min),
      n_colors: numberOfColours(),
    };
  }
  function numberOfColours() {
    const { value, validity } = $("#n-colours");
    return value !== "" && validity.valid ? Number(value) : null;
  }

  function request(final, event) {
    if (!size[0]) return;
    lastRequest += 1;
    root.dataset.requested = lastRequest;
    if (event?.type === "input") watch.start(lastRequest, event);
    send({ action: "show", id: lastRequest, final, cached: [...pieces.keys()], ...settings() });
  }

  function reset() {
    const [low, high] = BANDWIDTHS[$("#space").value];
    bandwidth.range(low, high);
    if (defaults) bandwidth.auto(defaults[choice("what")][$("#space").value]); // else a file is being opened
    for (const id of ["#detail", "#min-size"]) $(id).disabled = !isRegions();
    for (const slider of [detail, bandwidth, spatial, smallest]) slider.refresh();
  }

  for (const input of $$("input[name=what]", root)) input.onchange = () => { reset(); request(true); };
  $("#space").onchange = () => { reset(); request(true); };
  $("#n-colours").onchange = () => request(true);
  for (const input of $$("input[name=look]", root)) input.onchange = () => { if (shown) paint(); };

  // -- replies

  async function opened(message, saved) {
    size = [message.width, message.height];
    defaults = message.defaults;
    image = message.bitmap ?? await createImageBitmap(new Blob([message.photo], { type: "image/jpeg" }));
    [photo.width, photo.height] = [image.width, image.height];
    photo.getContext("2d").drawImage(image, 0, 0);
    pieces = new Map(); seeds = [];
    clear();
    frame.hidden = zoomControls(stage).hidden = false;
    detail.set(1); spatial.set(null); smallest.set(null);
    $("#n-colours").value = "";
    reset();
    if (saved) restore(saved);
    zoom.clear();
    resize();
    request(true);
  }

  // -- saved work

  const state = () => ({ ...settings(), look: choice("look"), seeds, divider: divided });

  /** Take over the valid part of saved settings. */
  function restore(saved) {
    const pick = (name, value) => { const input = $$(`input[name=${name}]`, root).find((each) => each.value === value); if (input) input.checked = true; };
    const positive = (value) => isNumber(value) && value > 0;
    pick("what", saved.regions === false ? "clusters" : "regions");
    pick("look", saved.look);
    if (BANDWIDTHS[saved.space]) $("#space").value = saved.space;
    reset();
    if (positive(saved.bandwidth)) bandwidth.set(saved.bandwidth);
    if (positive(saved.detail)) detail.set(saved.detail);
    spatial.set(positive(saved.spatial) ? saved.spatial : null);
    smallest.set(positive(saved.min_size) ? saved.min_size : null);
    if (Number.isInteger(saved.n_colors)) $("#n-colours").value = saved.n_colors;
    const inside = (each) => Array.isArray(each) && each.length === 2 && each.every((v) => isNumber(v) && v >= 0 && v <= 1);
    seeds = Array.isArray(saved.seeds) ? saved.seeds.filter(inside) : [];
    if (isNumber(saved.divider)) divide(saved.divider);
  }

  on("labels", "image", (message) => {
    if (message.ids) {
      message.ids.width = message.ids.shape[1];
      message.ids.height = message.ids.shape[0];
      if (pieces.size >= 2) pieces.delete(pieces.keys().next().value);
      pieces.set(message.pieces, message.ids);
    }
    const ids = pieces.get(message.pieces);
    const lessDetailed = message.request === painted && shown?.full && !message.full;
    if (message.request < painted || lessDetailed || !ids) return; // the screen shows a newer result
    painted = message.request;
    shown = { ...message, ids, n: message.counts.length - 1 };
    shown.pixels = shown.counts.reduce((a, b, k) => (k ? a + b : a), 0);
    if (message.full) showCode(message.code);
    paint();
    host.answered("image", JSON.stringify([isRegions(), bandwidth.value(), $("#space").value, spatial.value()]));
    root.dataset.answered = message.request;
    root.dataset.full = message.full;
    root.dataset.count = shown.n;
    watch.stop(message.request);
  });

  // -- painting

  /** Remove the last result: it belongs to another picture, and the next one may be an error. */
  function clear() {
    shown = null;
    pen.clearRect(0, 0, result.width, result.height);
    paletteBox.hidden = true;
    for (const row of rows) row.item.hidden = true;
    $(".count", root).textContent = "";
    $("#unselect").disabled = $("[data-export=mask]", root).disabled = true;
    showCode({ python: "", cli: "" });
  }

  const labelAt = ([x, y]) => {
    const { ids, table } = shown;
    const px = Math.min(ids.width - 1, Math.floor(x * ids.width)), py = Math.min(ids.height - 1, Math.floor(y * ids.height));
    return table[ids[py * ids.width + px]];
  };
  const selected = () => new Set(seeds.map(labelAt).filter((label) => label > 0));

  function paint() {
    const look = choice("look"), chosen = selected();
    paletteBox.hidden = look !== "palette";
    frame.hidden = zoomControls(stage).hidden = look === "palette";
    if (look === "palette") drawPalette(paletteBox, shown, (colour) => host.flash(`Copied ${colour}.`));
    else drawPixels(look, chosen);
    drawList(chosen);
  }

  let canvasData = null, lineWidth = 1;
  const wantedLineWidth = () => Math.max(1, Math.round(result.width / Math.max(1, (result.clientWidth || result.width) * zoom.state.scale)));
  function drawPixels(look, chosen) {
    const { width, height } = shown.ids;
    if (result.width !== width || result.height !== height || !canvasData) {
      [result.width, result.height] = [width, height];
      canvasData = pen.createImageData(width, height);
    }
    lineWidth = wantedLineWidth();
    paintPixels(new Uint32Array(canvasData.data.buffer), look, shown, chosen, lineWidth);
    pen.putImageData(canvasData, 0, 0);
    photo.style.opacity = look === "regions" && chosen.size ? 0.25 : 1;
  }

  const swatch = (k) => hex(shown.colours[3 * k], shown.colours[3 * k + 1], shown.colours[3 * k + 2]);

  /** Rows are created once and then updated in place, so the list keeps up with the picture. */
  const rows = [];
  function drawList(chosen) {
    const count = Math.min(shown.n, LISTED);
    while (rows.length < count) {
      const k = rows.length + 1, chip = make("i"), name = make("b"), share = make("em");
      const button = make("button", { onclick: (event) => toggle(k, event.shiftKey || event.ctrlKey || event.metaKey) }, chip, name, share);
      rows.push({ item: make("li", {}, button), button, chip, name, share });
    }
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i], k = i + 1, visible = k <= count;
      row.item.hidden = !visible;
      if (!row.item.parentElement) list.append(row.item);
      if (!visible) continue;
      const colour = swatch(k);
      if (row.colour !== colour) { row.colour = colour; row.chip.style.background = colour; row.name.textContent = colour; }
      const share = percent(shown.counts[k] / shown.pixels);
      if (row.share.textContent !== share) row.share.textContent = share;
      const pressed = String(chosen.has(k));
      if (row.button.getAttribute("aria-pressed") !== pressed) row.button.setAttribute("aria-pressed", pressed);
    }
    const noun = isRegions() ? "region" : "cluster";
    $(".count", root).textContent = chosen.size ? `${chosen.size} of ${shown.n.toLocaleString("en")} selected` : plural(shown.n, noun);
    $("#unselect").disabled = !chosen.size;
    $("[data-export=mask]", root).disabled = !chosen.size;
  }

  // -- selecting

  function seedOf(k) {
    const { ids, table } = shown;
    for (let i = 0; i < ids.length; i++) if (table[ids[i]] === k) return [((i % ids.width) + 0.5) / ids.width, (Math.floor(i / ids.width) + 0.5) / ids.height];
    return null;
  }

  function toggle(k, add, seed = null) {
    const chosen = selected();
    if (chosen.has(k)) seeds = add ? seeds.filter((other) => labelAt(other) !== k) : chosen.size > 1 ? [seed ?? seedOf(k)] : [];
    else seeds = [...(add ? seeds : []), seed ?? seedOf(k)].filter(Boolean);
    paint();
  }

  result.onclick = (event) => {
    if (!shown || zoom.wasDrag) return;
    const box = result.getBoundingClientRect();
    const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    const k = labelAt(at);
    if (!k) return;
    toggle(k, event.shiftKey, at);
    rows[k - 1]?.item.scrollIntoView({ block: "nearest" });
  };
  result.onkeydown = ({ key }) => { if (key === "Escape" && shown) { seeds = []; paint(); } };
  $("#unselect").onclick = () => { seeds = []; paint(); };

  // -- the divider between photograph and result

  function divide(fraction) {
    divided = Math.max(0, Math.min(1, fraction));
    divider.style.left = `${100 * divided}%`;
    divider.setAttribute("aria-valuenow", Math.round(100 * divided));
    const { scale, x } = zoom.state, at = Math.max(0, Math.min(1, (divided - x) / scale));
    result.style.clipPath = `inset(0 0 0 ${100 * at}%)`;
  }

  function zoomed() {
    const { scale, x, y } = zoom.state;
    content.style.transform = scale === 1 ? "" : `translate(${100 * x}%, ${100 * y}%) scale(${scale})`;
    content.classList.toggle("near", scale * (result.clientWidth || 1) > 2 * result.width);
    divide(divided);
    if (shown && choice("look") !== "palette" && wantedLineWidth() !== lineWidth) requestAnimationFrame(paint);
  }
  divider.onpointerdown = (event) => { divider.setPointerCapture(event.pointerId); event.preventDefault(); divider.focus(); };
  divider.onpointermove = (event) => {
    if (!divider.hasPointerCapture(event.pointerId)) return;
    const box = frame.getBoundingClientRect();
    divide((event.clientX - box.left) / box.width);
  };
  divider.onkeydown = (event) => {
    const at = divided;
    const to = { ArrowLeft: at - 0.05, ArrowRight: at + 0.05, Home: 0, End: 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    divide(to);
  };
  divide(0);

  // -- exports

  for (const button of $$("[data-export]", root)) {
    button.onclick = () => shown && host.export({ ...settings(), kind: button.dataset.export, look: choice("look"), selected: [...selected()].map((k) => k - 1) });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (shown) paint(); });

  function status() {
    if (!shown) return "";
    return `${size[0]} × ${size[1]} pixels${shown.full ? "" : `, preview ${shown.ids.width} × ${shown.ids.height}`}`;
  }
  return { opened, status, state };
}
