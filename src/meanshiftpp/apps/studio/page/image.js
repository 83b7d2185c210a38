// The image view. The server sends pieces (an id for each pixel) once, and tables from pieces to
// labels as sliders move; colouring the pixels is done here.

import { on, say } from "./wire.js";
import { $, $$, codeLines, counted, fit, hex, logSlider, make, percent } from "./ui.js";

const LISTED = 60;
const UNITS = { lab: [0.75, 40], rgb: [2, 120], luv: [1, 50], hsv: [0.75, 40] };

export function imageView(host) {
  const root = $("#image"), stage = $(".stage", root), frame = $(".frame", root);
  const photo = $(".photo", root), result = $(".result", root), divider = $(".divider", root);
  const paletteBox = $(".palette-view", root), list = $(".swatches", root);
  const pen = result.getContext("2d");
  const lines = codeLines($(".lines", root));
  let size = [0, 0], defaults = null, wishes = 0, painted = 0, inputs = new Map();
  let pieces = new Map(); // number -> ids with their width and height
  let now = null; // the result on the screen
  let seeds = []; // selected places, each [x, y] from 0 to 1: they outlive a change of labels
  let image = null;
  const place = fit(stage, frame, () => size);

  // -- what is asked for

  const choice = (name) => $(`input[name=${name}]:checked`, root).value;
  const isRegions = () => choice("what") === "regions";
  const plain = (value) => (value === null ? "auto" : String(value));
  const detail = logSlider($("#detail"), { low: 0.05, high: 40, words: plain, act: wish });
  const bandwidth = logSlider($("#bandwidth"), { low: 1, high: 40, words: plain, act: wish });
  const spatial = logSlider($("#spatial"), { low: 4, high: 400, off: true, words: (v) => (v === null ? "off" : `${v} px`), act: wish });
  const smallest = logSlider($("#min-size"), { low: 2, high: 20000, off: true, digits: 2, words: (v) => (v === null ? "any" : `${v.toLocaleString("en")} px`), act: wish });

  function settings() {
    const min = smallest.value();
    return {
      view: "image", regions: isRegions(), bandwidth: bandwidth.value(), space: $("#space").value,
      spatial: spatial.value(), detail: detail.value(), min_size: min === null ? null : Math.round(min),
    };
  }

  function wish(final, event) {
    if (!size[0]) return;
    wishes += 1;
    root.dataset.asked = wishes;
    if (event?.type === "input") inputs.set(wishes, event.timeStamp);
    say({ do: "show", n: wishes, final, has: [...pieces.keys()], ...settings() });
  }

  function reset() {
    const [low, high] = UNITS[$("#space").value];
    bandwidth.range(low, high);
    bandwidth.auto(defaults[choice("what")][$("#space").value]);
    for (const id of ["#detail", "#min-size"]) $(id).disabled = !isRegions();
    for (const slider of [detail, bandwidth, spatial, smallest]) slider.tell();
  }

  for (const input of $$("input[name=what]", root)) input.onchange = () => { reset(); wish(true); };
  $("#space").onchange = () => { reset(); wish(true); };
  for (const input of $$("input[name=look]", root)) input.onchange = () => { if (now) paint(); };

  // -- what comes

  async function opened(words) {
    size = [words.width, words.height];
    defaults = words.defaults;
    image = await createImageBitmap(new Blob([words.photo], { type: "image/jpeg" }));
    [photo.width, photo.height] = [image.width, image.height];
    photo.getContext("2d").drawImage(image, 0, 0);
    pieces = new Map(); seeds = []; now = null;
    frame.hidden = false;
    detail.put(1); spatial.put(null); smallest.put(null);
    reset();
    place();
    wish(true);
  }

  on("labels", "image", (words) => {
    if (words.ids) {
      words.ids.width = words.ids.shape[1];
      words.ids.height = words.ids.shape[0];
      if (pieces.size >= 2) pieces.delete(pieces.keys().next().value);
      pieces.set(words.pieces, words.ids);
    }
    const ids = pieces.get(words.pieces);
    const better = words.wish === painted && now?.full && !words.full;
    if (words.wish < painted || better || !ids) return; // something newer is on the screen already
    painted = words.wish;
    now = { ...words, ids, n: words.counts.length - 1 };
    now.pixels = now.counts.reduce((a, b, k) => (k ? a + b : a), 0);
    if (words.full) lines(words.lines);
    paint();
    host.tell(status());
    root.dataset.wish = words.wish;
    root.dataset.full = words.full;
    root.dataset.count = now.n;
    measure(words.wish);
  });

  /** Note the time from a slider's event until after the frame that shows its effect. */
  function measure(n) {
    const start = inputs.get(n);
    for (const key of inputs.keys()) if (key <= n) inputs.delete(key);
    if (start === undefined) return;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => host.timings.push({ n, ms: performance.now() - start });
      port2.postMessage(0);
    });
  }

  // -- painting

  const labelAt = ([x, y]) => {
    const { ids, table } = now;
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
    const { ids, table, colours } = now, { width, height } = ids;
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
      const low = y + step < height, high = y >= step;
      for (let x = 0; x < width; x++, i++) {
        const id = ids[i], mine = label[id];
        const edge = (x + step < width && label[ids[i + step]] !== mine) || (low && label[ids[i + down]] !== mine);
        if (edge && line) out[i] = line;
        else if (seam && ((x >= step && label[ids[i - step]] !== mine) || (high && label[ids[i - down]] !== mine))) out[i] = 0xb0000000;
        else out[i] = fill[id];
      }
    }
    pen.putImageData(canvasData, 0, 0);
    photo.style.opacity = look === "regions" && chosen.size ? 0.25 : 1;
  }

  const swatch = (k) => hex(now.colours[3 * k], now.colours[3 * k + 1], now.colours[3 * k + 2]);

  function drawPalette() {
    const most = Math.min(now.n, 48), each = [...Array(most).keys()].map((k) => k + 1);
    const bar = make("div", { className: "bar" }, ...each.map((k) => make("i", { style: { flex: `${now.counts[k]} 0 0`, background: swatch(k) } })));
    const cards = each.map((k) => make("li", {}, make("i", { style: { background: swatch(k) } }), make("b", { textContent: swatch(k) }), make("em", { textContent: percent(now.counts[k] / now.pixels) })));
    paletteBox.replaceChildren(bar, make("ol", {}, ...cards));
  }

  /** The list's rows are made once and only told anew: it is as quick as the picture. */
  const rows = [];
  function drawList(chosen) {
    const many = Math.min(now.n, LISTED);
    while (rows.length < many) {
      const k = rows.length + 1, chip = make("i"), name = make("b"), share = make("em");
      const button = make("button", { onclick: (event) => toggle(k, event.shiftKey || event.ctrlKey || event.metaKey) }, chip, name, share);
      rows.push({ item: make("li", {}, button), button, chip, name, share });
    }
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i], k = i + 1, there = k <= many;
      row.item.hidden = !there;
      if (!row.item.parentElement) list.append(row.item);
      if (!there) continue;
      const colour = swatch(k);
      if (row.colour !== colour) { row.colour = colour; row.chip.style.background = colour; row.name.textContent = colour; }
      const share = percent(now.counts[k] / now.pixels);
      if (row.share.textContent !== share) row.share.textContent = share;
      const pressed = String(chosen.has(k));
      if (row.button.getAttribute("aria-pressed") !== pressed) row.button.setAttribute("aria-pressed", pressed);
    }
    const noun = isRegions() ? "region" : "cluster";
    $(".count", root).textContent = chosen.size ? `${chosen.size} of ${now.n.toLocaleString("en")} selected` : counted(now.n, noun);
    $("#unselect").disabled = !chosen.size;
    $("[data-export=mask]", root).disabled = !chosen.size;
  }

  // -- selecting

  function seedOf(k) {
    const { ids, table } = now;
    for (let i = 0; i < ids.length; i++) if (table[ids[i]] === k) return [((i % ids.width) + 0.5) / ids.width, (Math.floor(i / ids.width) + 0.5) / ids.height];
    return null;
  }

  function toggle(k, more, seed = null) {
    const chosen = selected();
    if (chosen.has(k)) seeds = more ? seeds.filter((each) => labelAt(each) !== k) : chosen.size > 1 ? [seed ?? seedOf(k)] : [];
    else seeds = [...(more ? seeds : []), seed ?? seedOf(k)].filter(Boolean);
    paint();
  }

  result.onclick = (event) => {
    if (!now) return;
    const box = result.getBoundingClientRect();
    const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    const k = labelAt(at);
    if (!k) return;
    toggle(k, event.shiftKey, at);
    rows[k - 1]?.item.scrollIntoView({ block: "nearest" });
  };
  result.onkeydown = ({ key }) => { if (key === "Escape" && now) { seeds = []; paint(); } };
  $("#unselect").onclick = () => { seeds = []; paint(); };

  // -- before and after

  function divide(part) {
    const at = Math.max(0, Math.min(1, part));
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

  // -- taking along

  for (const button of $$("[data-export]", root)) {
    button.onclick = () => now && host.export({ ...settings(), kind: button.dataset.export, selected: [...selected()].map((k) => k - 1) });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (now) paint(); });

  function status() {
    if (!now) return "";
    return `${size[0]} × ${size[1]} pixels${now.full ? "" : `, preview ${now.ids.width} × ${now.ids.height}`}`;
  }
  return { opened, status };
}
