// The image view. The server sends the pieces (one id per pixel) once, and a table from pieces to
// labels for every move of a slider. This module colours the pixels.

import { on, send } from "./wire.js";
import { $, $$, codeBox, fit, hex, logSlider, make, percent, plural, stopwatch } from "./ui.js";

const LISTED = 60;
const BANDWIDTHS = { lab: [0.75, 40], rgb: [2, 120], luv: [1, 50], hsv: [0.75, 40] };

export function imageView(host) {
  const root = $("#image"), stage = $(".stage", root), frame = $(".frame", root);
  const photo = $(".photo", root), result = $(".result", root), divider = $(".divider", root);
  const paletteBox = $(".palette-view", root), list = $(".swatches", root);
  const pen = result.getContext("2d");
  const showCode = codeBox($(".code", root)), watch = stopwatch(host.timings);
  let size = [0, 0], defaults = null, lastRequest = 0, painted = 0;
  let pieces = new Map(); // number -> ids, with width and height
  let shown = null; // the result on the screen
  let seeds = []; // selected positions, each [x, y] from 0 to 1, which stay valid when labels change
  let image = null;
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
    };
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
    bandwidth.auto(defaults[choice("what")][$("#space").value]);
    for (const id of ["#detail", "#min-size"]) $(id).disabled = !isRegions();
    for (const slider of [detail, bandwidth, spatial, smallest]) slider.refresh();
  }

  for (const input of $$("input[name=what]", root)) input.onchange = () => { reset(); request(true); };
  $("#space").onchange = () => { reset(); request(true); };
  for (const input of $$("input[name=look]", root)) input.onchange = () => { if (shown) paint(); };

  // -- replies

  async function opened(message) {
    size = [message.width, message.height];
    defaults = message.defaults;
    image = await createImageBitmap(new Blob([message.photo], { type: "image/jpeg" }));
    [photo.width, photo.height] = [image.width, image.height];
    photo.getContext("2d").drawImage(image, 0, 0);
    pieces = new Map(); seeds = []; shown = null;
    frame.hidden = false;
    detail.set(1); spatial.set(null); smallest.set(null);
    reset();
    resize();
    request(true);
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
    host.showStatus(status());
    root.dataset.answered = message.request;
    root.dataset.full = message.full;
    root.dataset.count = shown.n;
    watch.stop(message.request);
  });

  // -- painting

  const labelAt = ([x, y]) => {
    const { ids, table } = shown;
    const px = Math.min(ids.width - 1, Math.floor(x * ids.width)), py = Math.min(ids.height - 1, Math.floor(y * ids.height));
    return table[ids[py * ids.width + px]];
  };
  const selected = () => new Set(seeds.map(labelAt).filter((label) => label > 0));

  function paint() {
    const look = choice("look"), chosen = selected();
    paletteBox.hidden = look !== "palette";
    frame.hidden = look === "palette";
    if (look === "palette") drawPalette();
    else drawPixels(look, chosen);
    drawList(chosen);
  }

  let canvasData = null;
  function drawPixels(look, chosen) {
    const { ids, table, colours } = shown, { width, height } = ids;
    if (result.width !== width || result.height !== height || !canvasData) {
      [result.width, result.height] = [width, height];
      canvasData = pen.createImageData(width, height);
    }
    const out = new Uint32Array(canvasData.data.buffer);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const fill = new Uint32Array(table.length), label = new Uint32Array(table);
    const paper = dark ? 0xff1e1816 : 0xfffafdfd, ink = dark ? 0xffe6e4e2 : 0xff2a2420;
    for (let id = 0; id < table.length; id++) {
      const k = 3 * table[id], dim = chosen.size && !chosen.has(table[id]);
      if (!table[id]) fill[id] = 0;
      else if (look === "regions") fill[id] = ((dim ? 0x38000000 : 0xff000000) | (colours[k + 2] << 16) | (colours[k + 1] << 8) | colours[k]) >>> 0;
      else if (look === "outline") fill[id] = chosen.size && !dim ? (dark ? 0xff6a4a1e : 0xfff2e6cf) : paper;
      else fill[id] = dim ? 0x98000000 : 0;
    }
    const step = Math.max(1, Math.round(width / Math.max(1, result.clientWidth || width)));
    const line = look === "overlay" ? 0xffffffff : look === "outline" ? ink : 0;
    const down = step * width, seam = look === "overlay";
    for (let y = 0, i = 0; y < height; y++) {
      const hasBelow = y + step < height, hasAbove = y >= step;
      for (let x = 0; x < width; x++, i++) {
        const id = ids[i], mine = label[id];
        const edge = (x + step < width && label[ids[i + step]] !== mine) || (hasBelow && label[ids[i + down]] !== mine);
        if (edge && line) out[i] = line;
        else if (seam && ((x >= step && label[ids[i - step]] !== mine) || (hasAbove && label[ids[i - down]] !== mine))) out[i] = 0xb0000000;
        else out[i] = fill[id];
      }
    }
    pen.putImageData(canvasData, 0, 0);
    photo.style.opacity = look === "regions" && chosen.size ? 0.25 : 1;
  }

  const swatch = (k) => hex(shown.colours[3 * k], shown.colours[3 * k + 1], shown.colours[3 * k + 2]);

  function drawPalette() {
    const labels = [...Array(Math.min(shown.n, 48)).keys()].map((k) => k + 1);
    const bar = make("div", { className: "bar" }, ...labels.map((k) => make("i", { style: { flex: `${shown.counts[k]} 0 0`, background: swatch(k) } })));
    const cards = labels.map((k) => make("li", {}, make("i", { style: { background: swatch(k) } }), make("b", { textContent: swatch(k) }), make("em", { textContent: percent(shown.counts[k] / shown.pixels) })));
    paletteBox.replaceChildren(bar, make("ol", {}, ...cards));
  }

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
    if (!shown) return;
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
    const at = Math.max(0, Math.min(1, fraction));
    divider.style.left = `${100 * at}%`;
    divider.setAttribute("aria-valuenow", Math.round(100 * at));
    result.style.clipPath = `inset(0 0 0 ${100 * at}%)`;
  }
  divider.onpointerdown = (event) => { divider.setPointerCapture(event.pointerId); event.preventDefault(); divider.focus(); };
  divider.onpointermove = (event) => {
    if (!divider.hasPointerCapture(event.pointerId)) return;
    const box = frame.getBoundingClientRect();
    divide((event.clientX - box.left) / box.width);
  };
  divider.onkeydown = (event) => {
    const at = Number(divider.getAttribute("aria-valuenow")) / 100;
    const to = { ArrowLeft: at - 0.05, ArrowRight: at + 0.05, Home: 0, End: 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    divide(to);
  };
  divide(0);

  // -- exports

  for (const button of $$("[data-export]", root)) {
    button.onclick = () => shown && host.export({ ...settings(), kind: button.dataset.export, selected: [...selected()].map((k) => k - 1) });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (shown) paint(); });

  function status() {
    if (!shown) return "";
    return `${size[0]} × ${size[1]} pixels${shown.full ? "" : `, preview ${shown.ids.width} × ${shown.ids.height}`}`;
  }
  return { opened, status };
}
