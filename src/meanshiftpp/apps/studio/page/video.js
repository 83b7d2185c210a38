// The video view: windows on a frame, the colours in each, and the tracks through the clip.

import { on, send } from "./wire.js";
import { $, $$, codeBox, fit, hex, isNumber, make, percent, plural } from "./ui.js";
import { drawFrameMarks, drawScoreStrip, OBJECT_COLOURS } from "./video_marks.js";

const MASK_BYTES = 64e6; // masks kept for going back
const MAX_OBJECTS = OBJECT_COLOURS.length;
const DESCRIPTIONS = { frame: "Reading the frame", clusters: "Finding colours", track: "Tracking" };

export function videoView(host) {
  const root = $("#video"), stage = $(".stage", root), box = $(".frame", root);
  const photo = $(".photo", root), marks = $(".marks", root), list = $(".swatches", root), objectList = $(".objects", root);
  const timeline = $(".timeline", root), scrub = $("#frame"), play = $("#play");
  const fields = ["x", "y", "w", "h"].map((each) => $(`#win-${each}`));
  const showCode = codeBox($(".code", root));
  let clip = null, lastRequest = 0, frameNumber = -1, tracking = false;
  let objects = []; // first frame, window and selected clusters of each, and the colours once known
  let selected = 0; // the object whose window and colours are shown; objects.length while adding one
  let results = []; // by frame: for each object window, ok, score, mask
  let maskBytes = 0, hovered = null;
  const resize = fit(stage, box, () => (clip ? [clip.width, clip.height] : [0, 0]), 24, () => timeline.offsetHeight);
  const current = () => objects[selected];
  const resultOf = (k) => results[frameNumber]?.[k];

  // -- frames

  async function opened(message, saved) {
    clip = message;
    objects = []; selected = 0; frameNumber = -1; tracking = false;
    forgetResults();
    box.hidden = timeline.hidden = false;
    scrub.max = Math.max(0, message.frames - 1);
    scrub.value = 0;
    showCode({ python: "", cli: "" });
    if (saved) restore(saved);
    refresh();
    resize();
  }

  on("frame", "video", async (message) => {
    if (!clip || message.request < lastRequest) return; // there is a newer request
    const image = await createImageBitmap(new Blob([message.photo], { type: "image/jpeg" }));
    if (photo.width !== image.width || photo.height !== image.height) [photo.width, photo.height] = [image.width, image.height];
    photo.getContext("2d").drawImage(image, 0, 0);
    image.close();
    frameNumber = message.frame;
    if (message.objects) {
      results[frameNumber] = [];
      for (const { number, ok, window, score } of message.objects) {
        const mask = message[`mask${number}`];
        maskBytes += mask?.length ?? 0;
        results[frameNumber][number] = { window, ok, score, mask: maskBytes < MASK_BYTES ? mask?.slice() : null };
      }
      if (message.code) showCode(message.code);
      scrub.value = frameNumber;
      drawScores();
    }
    drawMarks();
    host.answered("video");
    root.dataset.frame = frameNumber;
    if (!tracking && current() && !current().colours && current().frame === frameNumber) requestColours();
  });
  on("end", "video", ({ request }) => { if (request === lastRequest) { tracking = false; refreshButtons(); } });

  function request(mode, more = {}) {
    lastRequest += 1;
    tracking = mode === "track";
    send({ action: "show", view: "video", id: lastRequest, mode, description: DESCRIPTIONS[mode], ...more });
    refreshButtons();
  }
  const startOf = ({ frame, window, clusters }) => ({ frame, window, clusters: clusters.length ? clusters : null });
  const starts = () => ({ objects: objects.map(startOf) });
  const requestColours = () => request("clusters", startOf(current()));
  function forgetResults() { results = []; maskBytes = 0; }

  scrub.oninput = () => request("frame", { frame: Number(scrub.value) });
  play.onclick = () => {
    if (tracking) return request("frame", { frame: Math.max(frameNumber, 0) });
    forgetResults();
    request("track", starts());
  };

  // -- windows

  function setWindow(window, final) {
    const limit = (v, low, high) => Math.round(Math.max(low, Math.min(high, v)));
    let [x, y, w, h] = window;
    x = limit(x, 0, clip.width - 1); y = limit(y, 0, clip.height - 1);
    w = limit(w, 1, clip.width - x); h = limit(h, 1, clip.height - y);
    objects[selected] = { frame: Math.max(frameNumber, 0), window: [x, y, w, h], clusters: [], colours: null };
    delete root.dataset.colours; // they belong to the previous window
    forgetResults();
    refresh();
    if (final) requestColours();
  }

  function select(k) {
    selected = k;
    refresh();
    if (!tracking && current() && !current().colours) requestColours();
  }
  $("#add-object").onclick = () => { if (tracking) play.click(); selected = objects.length; refresh(); marks.focus(); };
  $("#remove-object").onclick = () => {
    if (tracking) play.click();
    objects.splice(selected, 1);
    forgetResults();
    select(Math.max(0, Math.min(selected, objects.length - 1)));
  };

  const at = (event) => {
    const room = marks.getBoundingClientRect();
    return [((event.clientX - room.left) / room.width) * clip.width, ((event.clientY - room.top) / room.height) * clip.height];
  };
  let corner = null, isDrawn = false;
  marks.onpointerdown = (event) => {
    if (!clip) return;
    if (tracking) play.click();
    marks.setPointerCapture(event.pointerId);
    corner = at(event);
    isDrawn = false;
  };
  marks.onpointermove = (event) => { if (corner) drawn(event, false); };
  marks.onpointerup = (event) => {
    if (!corner) return;
    drawn(event, true);
    const hit = objects.findIndex((each, k) => contains(windowOf(each, k), corner));
    if (!isDrawn && hit >= 0) select(hit);
    corner = null;
  };
  const contains = (window, [x, y]) => Boolean(window) && x >= window[0] && y >= window[1] && x <= window[0] + window[2] && y <= window[1] + window[3];
  function drawn(event, final) {
    const [x, y] = at(event), [u, v] = corner;
    if (Math.abs(x - u) < 3 || Math.abs(y - v) < 3) return;
    isDrawn = true;
    setWindow([Math.min(x, u), Math.min(y, v), Math.abs(x - u), Math.abs(y - v)], final);
  }
  marks.onkeydown = (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step || !clip) return;
    event.preventDefault();
    const [x, y, w, h] = current()?.window ?? [clip.width * 0.4, clip.height * 0.4, clip.width * 0.2, clip.height * 0.2].map(Math.round);
    const [dx, dy] = step.map((each) => each * Math.max(1, Math.round(clip.width / 100)));
    setWindow(event.shiftKey ? [x, y, w + dx, h + dy] : [x + dx, y + dy, w, h], true);
  };
  for (const field of fields) {
    field.onchange = () => {
      const window = fields.map((each) => Number(each.value));
      if (clip && fields.every((each) => each.value !== "") && window[2] >= 1 && window[3] >= 1) setWindow(window, true);
    };
  }

  // -- the colours in a window

  on("colours", "video", (message) => {
    if (!current() || message.request !== lastRequest) return;
    current().colours = message.clusters;
    current().ids = message.ids;
    refresh();
    root.dataset.colours = message.clusters.length;
  });

  function drawColours() {
    const object = current();
    list.replaceChildren(...(object?.colours ?? []).map(({ color, share }, k) => {
      const tick = make("input", { type: "checkbox", checked: object.clusters.includes(k), onchange: () => {
        object.clusters = tick.checked ? [...object.clusters, k].sort((a, b) => a - b) : object.clusters.filter((each) => each !== k);
        drawMarks();
      } });
      const item = make("li", {}, make("label", {}, tick, make("i", { style: { background: hex(...color) } }), make("b", { textContent: hex(...color) }), make("em", { textContent: percent(share) })));
      item.onpointerenter = () => { hovered = k; drawMarks(); };
      item.onpointerleave = () => { hovered = null; drawMarks(); };
      return item;
    }));
  }

  // -- drawing

  /** Return the window of an object in the frame on the screen, if it has one there. */
  const windowOf = (object, k) => resultOf(k)?.window ?? (frameNumber === object.frame ? object.window : null);

  function drawMarks() {
    if (!clip) return;
    const boxes = [], tints = [], several = objects.length > 1;
    objects.forEach((object, k) => {
      const result = resultOf(k), window = windowOf(object, k), colour = OBJECT_COLOURS[k];
      if (window) boxes.push({ window, colour: result || several ? colour : "#ffffff", lost: result && !result.ok, caption: several ? String(k + 1) : "" });
      if (result?.ok && result.mask && $("#show-mask").checked) tints.push({ colour, test: (i) => (result.mask[i >> 3] >> (7 - (i & 7))) & 1 });
    });
    const object = current(), chosen = new Set(object?.clusters ?? []), ids = object?.ids;
    if (ids && frameNumber === object.frame && !resultOf(selected) && (chosen.size || hovered !== null)) {
      tints.push({ colour: OBJECT_COLOURS[selected], test: (i) => ids[i] && (chosen.has(ids[i] - 1) || ids[i] - 1 === hovered) });
    }
    drawFrameMarks(marks, clip.width, photo, { boxes, tints });
    showState();
  }
  const drawScores = () => drawScoreStrip($(".scores", root), clip.frames, results.map((each) => each?.[selected]));

  function showState() {
    const state = $(".state", root), meter = $(".meter", root), result = resultOf(selected);
    const lost = (results[frameNumber] ?? []).flatMap((each, k) => (each && !each.ok ? [k + 1] : []));
    const isLost = lost.length > 0, names = objects.length > 1 ? ` ${lost.join(", ")}` : "";
    const hint = objects.length ? "Draw a window around the next object" : "Draw a window around the object";
    state.textContent = isLost ? `Lost${names}` : results[frameNumber] ? `Frame ${frameNumber}` : current() ? "" : hint;
    state.classList.toggle("lost", isLost);
    $("#score").textContent = result ? result.score.toFixed(2) : "–";
    $("i", meter).style.width = result ? `${100 * result.score}%` : 0;
    meter.classList.toggle("lost", Boolean(result && !result.ok));
    $("#frame-number").value = `${Math.max(frameNumber, 0)} / ${clip.frames - 1}`;
    root.dataset.lost = lostFrames();
  }
  const lostFrames = () => results.filter((each) => each?.some((one) => one && !one.ok)).length;

  function drawObjects() {
    objectList.hidden = objects.length + (current() ? 0 : 1) < 2;
    const names = objects.map((_, k) => String(k + 1));
    if (!current() && objects.length) names.push("new");
    objectList.replaceChildren(...names.map((name, k) =>
      make("button", { textContent: name, style: { borderBottomColor: OBJECT_COLOURS[k] }, aria: { pressed: k === selected, label: name === "new" ? "New object" : `Object ${name}` }, onclick: () => select(k) })));
    fields.forEach((field, i) => { field.value = current()?.window[i] ?? ""; });
    root.dataset.objects = objects.length;
  }

  function refresh() {
    drawObjects();
    drawColours();
    drawMarks();
    if (clip) drawScores();
    refreshButtons();
  }
  function refreshButtons() {
    play.disabled = !objects.length;
    play.textContent = tracking ? "Stop" : "Track";
    $("#add-object").disabled = !objects.length || !current() || objects.length >= MAX_OBJECTS;
    $("#remove-object").disabled = !current();
    for (const button of $$("[data-export]", root)) button.disabled = !objects.length || tracking;
  }
  $("#show-mask").onchange = drawMarks;
  new ResizeObserver(() => { if (clip) { drawMarks(); drawScores(); } }).observe(stage);
  for (const button of $$("[data-export]", root)) {
    button.onclick = () => objects.length && host.export({ view: "video", kind: button.dataset.export, mask: $("#show-mask").checked, description: "Exporting", ...starts() });
  }

  // -- saved work

  const state = () => ({ ...starts(), selected, mask: $("#show-mask").checked });

  /** Take over the valid part of saved settings. */
  function restore(saved) {
    const whole = (v) => Number.isInteger(v) && v >= 0;
    const fits = ({ frame, window: w }) => whole(frame) && frame < clip.frames && Array.isArray(w) && w.length === 4 && w.every(isNumber) && w[0] >= 0 && w[1] >= 0 && w[2] >= 1 && w[3] >= 1 && w[0] + w[2] <= clip.width && w[1] + w[3] <= clip.height;
    const valid = (Array.isArray(saved.objects) ? saved.objects : []).filter((each) => each && fits(each)).slice(0, MAX_OBJECTS);
    objects = valid.map(({ frame, window, clusters }) => ({ frame, window, clusters: Array.isArray(clusters) ? clusters.filter(whole) : [], colours: null }));
    selected = whole(saved.selected) && saved.selected < objects.length ? saved.selected : 0;
    if (typeof saved.mask === "boolean") $("#show-mask").checked = saved.mask;
    if (!objects.length) return;
    scrub.value = current().frame;
    request("frame", { frame: current().frame });
  }

  function status() {
    if (!clip) return "";
    return `${clip.width} × ${clip.height} pixels, ${plural(clip.frames, "frame")}, ${Math.round(clip.fps * 100) / 100} frames per second${results.length ? `; lost in ${plural(lostFrames(), "frame")}` : ""}`;
  }
  return {
    opened, status, state,
    redraw: () => { resize(); if (clip) { drawMarks(); drawScores(); } },
    jobEnded: () => { tracking = false; refreshButtons(); },
  };
}
