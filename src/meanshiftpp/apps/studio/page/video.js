// The video view: a window on a frame, the colours in it, and the track through the clip.

import { on, send } from "./wire.js";
import { $, $$, codeBox, fit, hex, make, percent, plural, themeColour } from "./ui.js";

const MASK_BYTES = 64e6; // masks kept for going back
const DESCRIPTIONS = { frame: "Reading the frame", clusters: "Finding colours", track: "Tracking" };

export function videoView(host) {
  const root = $("#video"), stage = $(".stage", root), box = $(".frame", root);
  const photo = $(".photo", root), marks = $(".marks", root), list = $(".swatches", root);
  const timeline = $(".timeline", root), scrub = $("#frame"), scores = $(".scores", root), play = $("#play");
  const fields = ["x", "y", "w", "h"].map((each) => $(`#win-${each}`));
  const showCode = codeBox($(".code", root));
  let clip = null, lastRequest = 0, frameNumber = -1, tracking = false;
  let start = null; // frame, window and selected clusters, as set by the user
  let results = []; // by frame: window, ok, score, mask
  let maskBytes = 0, clusterIds = null, hovered = null;
  const resize = fit(stage, box, () => (clip ? [clip.width, clip.height] : [0, 0]), 24, () => timeline.offsetHeight);

  // -- frames

  async function opened(message) {
    clip = message;
    start = null; results = []; maskBytes = 0; clusterIds = null; frameNumber = -1; tracking = false;
    box.hidden = timeline.hidden = false;
    scrub.max = Math.max(0, message.frames - 1);
    scrub.value = 0;
    list.replaceChildren();
    for (const field of fields) field.value = "";
    showCode({ python: "", cli: "" });
    refreshButtons();
    drawScores();
    resize();
  }

  on("frame", "video", async (message) => {
    if (!clip || message.request < lastRequest) return; // there is a newer request
    const image = await createImageBitmap(new Blob([message.photo], { type: "image/jpeg" }));
    if (photo.width !== image.width || photo.height !== image.height) [photo.width, photo.height] = [image.width, image.height];
    photo.getContext("2d").drawImage(image, 0, 0);
    image.close();
    frameNumber = message.frame;
    if (message.window) {
      maskBytes += message.mask?.length ?? 0;
      results[frameNumber] = { window: message.window, ok: message.ok, score: message.score, mask: maskBytes < MASK_BYTES ? message.mask?.slice() : null };
      if (message.code) showCode(message.code);
      scrub.value = frameNumber;
      drawScores();
    }
    drawMarks();
    host.showStatus(status());
    root.dataset.frame = frameNumber;
  });
  on("end", "video", ({ request }) => { if (request === lastRequest) { tracking = false; refreshButtons(); } });

  function request(mode, more = {}) {
    lastRequest += 1;
    tracking = mode === "track";
    send({ action: "show", view: "video", id: lastRequest, mode, description: DESCRIPTIONS[mode], ...more });
    refreshButtons();
  }
  const startFields = () => ({ frame: start.frame, window: start.window, clusters: start.clusters.length ? start.clusters : null });

  scrub.oninput = () => request("frame", { frame: Number(scrub.value) });
  play.onclick = () => {
    if (tracking) return request("frame", { frame: Math.max(frameNumber, 0) });
    results = []; maskBytes = 0;
    request("track", startFields());
  };

  // -- the window

  function setWindow(window, final) {
    const limit = (v, low, high) => Math.round(Math.max(low, Math.min(high, v)));
    let [x, y, w, h] = window;
    x = limit(x, 0, clip.width - 1); y = limit(y, 0, clip.height - 1);
    w = limit(w, 1, clip.width - x); h = limit(h, 1, clip.height - y);
    const frame = Math.max(frameNumber, 0);
    start = { frame, window: [x, y, w, h], clusters: [] };
    results = []; maskBytes = 0; clusterIds = null;
    fields.forEach((field, i) => { field.value = start.window[i]; });
    drawMarks();
    drawScores();
    refreshButtons();
    if (final) request("clusters", startFields());
  }

  const at = (event) => {
    const room = marks.getBoundingClientRect();
    return [((event.clientX - room.left) / room.width) * clip.width, ((event.clientY - room.top) / room.height) * clip.height];
  };
  let corner = null;
  marks.onpointerdown = (event) => {
    if (!clip) return;
    if (tracking) play.click();
    marks.setPointerCapture(event.pointerId);
    corner = at(event);
  };
  marks.onpointermove = (event) => { if (corner) drawn(event, false); };
  marks.onpointerup = (event) => { if (corner) { drawn(event, true); corner = null; } };
  function drawn(event, final) {
    const [x, y] = at(event), [u, v] = corner;
    if (Math.abs(x - u) < 3 || Math.abs(y - v) < 3) return;
    setWindow([Math.min(x, u), Math.min(y, v), Math.abs(x - u), Math.abs(y - v)], final);
  }
  marks.onkeydown = (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step || !clip) return;
    event.preventDefault();
    const [x, y, w, h] = start?.window ?? [clip.width * 0.4, clip.height * 0.4, clip.width * 0.2, clip.height * 0.2].map(Math.round);
    const [dx, dy] = step.map((each) => each * Math.max(1, Math.round(clip.width / 100)));
    setWindow(event.shiftKey ? [x, y, w + dx, h + dy] : [x + dx, y + dy, w, h], true);
  };
  for (const field of fields) {
    field.onchange = () => {
      const window = fields.map((each) => Number(each.value));
      if (clip && fields.every((each) => each.value !== "") && window[2] >= 1 && window[3] >= 1) setWindow(window, true);
    };
  }

  // -- the colours in the window

  on("colours", "video", (message) => {
    if (!start || message.frame !== start.frame) return;
    clusterIds = message.ids;
    list.replaceChildren(...message.clusters.map(({ color, share }, k) => {
      const tick = make("input", { type: "checkbox", onchange: () => {
        start.clusters = tick.checked ? [...start.clusters, k].sort((a, b) => a - b) : start.clusters.filter((each) => each !== k);
        drawMarks();
      } });
      const item = make("li", {}, make("label", {}, tick, make("i", { style: { background: hex(...color) } }), make("b", { textContent: hex(...color) }), make("em", { textContent: percent(share) })));
      item.onpointerenter = () => { hovered = k; drawMarks(); };
      item.onpointerleave = () => { hovered = null; drawMarks(); };
      return item;
    }));
    root.dataset.colours = message.clusters.length;
    drawMarks();
  });

  // -- drawing

  /** Draw the marks in screen pixels, so that lines are sharp on a small clip too. */
  function drawMarks() {
    if (!clip) return;
    const ratio = devicePixelRatio || 1, pen = marks.getContext("2d");
    [marks.width, marks.height] = [Math.round(marks.clientWidth * ratio), Math.round(marks.clientHeight * ratio)];
    const result = results[frameNumber], scale = marks.width / clip.width, chosen = new Set(start?.clusters ?? []);
    if (result?.ok && result.mask && $("#show-mask").checked) tint(pen, (i) => (result.mask[i >> 3] >> (7 - (i & 7))) & 1);
    if (clusterIds && frameNumber === start?.frame && !result && (chosen.size || hovered !== null)) {
      tint(pen, (i) => clusterIds[i] && (chosen.has(clusterIds[i] - 1) || clusterIds[i] - 1 === hovered));
    }
    const lost = result && !result.ok, window = result?.window ?? (start && frameNumber === start.frame ? start.window : null);
    if (window) {
      pen.setLineDash(lost ? [9 * ratio, 6 * ratio] : []);
      for (const [wide, colour] of [[5, "#000b"], [2.5, lost ? "#ff9a3d" : result ? "#5cd0f4" : "#ffffff"]]) {
        pen.lineWidth = wide * ratio;
        pen.strokeStyle = colour;
        pen.strokeRect(...window.map((v) => v * scale));
      }
    }
    showState(result);
  }

  const overlay = new OffscreenCanvas(1, 1);
  function tint(pen, test) {
    [overlay.width, overlay.height] = [photo.width, photo.height];
    const ink = overlay.getContext("2d"), data = ink.createImageData(overlay.width, overlay.height), out = new Uint32Array(data.data.buffer);
    for (let i = 0; i < out.length; i++) if (test(i)) out[i] = 0x74f4d05c; // the colour of the window, half transparent
    ink.putImageData(data, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(overlay, 0, 0, marks.width, marks.height);
  }

  function showState(result) {
    const state = $(".state", root), meter = $(".meter", root);
    state.textContent = !result ? (start ? "" : "Draw a window around the object") : result.ok ? `Frame ${frameNumber}` : "Lost";
    state.classList.toggle("lost", Boolean(result && !result.ok));
    $("#score").textContent = result ? result.score.toFixed(2) : "–";
    $("i", meter).style.width = result ? `${100 * result.score}%` : 0;
    meter.classList.toggle("lost", Boolean(result && !result.ok));
    $("#frame-number").value = `${Math.max(frameNumber, 0)} / ${clip.frames - 1}`;
    root.dataset.lost = results.filter((each) => each && !each.ok).length;
  }

  function drawScores() {
    const pen = scores.getContext("2d"), ratio = devicePixelRatio || 1;
    [scores.width, scores.height] = [scores.clientWidth * ratio, scores.clientHeight * ratio];
    const wide = scores.width / Math.max(1, clip.frames);
    results.forEach((each, i) => {
      if (!each) return;
      const high = Math.max(2, each.score * scores.height);
      pen.fillStyle = themeColour(each.ok ? "--accent" : "--lost");
      pen.fillRect(i * wide, scores.height - (each.ok ? high : scores.height), Math.ceil(wide), each.ok ? high : scores.height);
    });
  }

  function refreshButtons() {
    play.disabled = !start;
    play.textContent = tracking ? "Stop" : "Track";
    for (const button of $$("[data-export]", root)) button.disabled = !start || tracking;
  }
  $("#show-mask").onchange = drawMarks;
  new ResizeObserver(() => { if (clip) { drawMarks(); drawScores(); } }).observe(stage);
  for (const button of $$("[data-export]", root)) {
    button.onclick = () => start && host.export({ view: "video", kind: button.dataset.export, mask: $("#show-mask").checked, description: "Exporting", ...startFields() });
  }

  function status() {
    if (!clip) return "";
    const lost = results.filter((each) => each && !each.ok).length;
    return `${clip.width} × ${clip.height} pixels, ${plural(clip.frames, "frame")}, ${Math.round(clip.fps * 100) / 100} frames per second${results.length ? `; lost in ${plural(lost, "frame")}` : ""}`;
  }
  return {
    opened, status,
    redraw: () => { resize(); if (clip) { drawMarks(); drawScores(); } },
    jobEnded: () => { tracking = false; refreshButtons(); },
  };
}
