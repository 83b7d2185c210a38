// The video view: a frame to draw a window on, its colours to tick, and the clip to follow it in.

import { on, say } from "./wire.js";
import { $, $$, codeLines, counted, fit, hex, make, percent } from "./ui.js";

const KEPT = 64e6; // bytes of masks kept for going back

export function videoView(host) {
  const root = $("#video"), stage = $(".stage", root), box = $(".frame", root);
  const photo = $(".photo", root), marks = $(".marks", root), list = $(".swatches", root);
  const timeline = $(".timeline", root), scrub = $("#frame"), scores = $(".scores", root), play = $("#play");
  const fields = ["x", "y", "w", "h"].map((each) => $(`#win-${each}`));
  const lines = codeLines($(".lines", root));
  let clip = null, wishes = 0, shown = -1, following = false;
  let start = null; // frame, window and ticked clusters, as the user set them
  let found = []; // by frame: window, ok, score
  let kept = 0, which = null, hovered = null; // kept: bytes of masks
  const place = fit(stage, box, () => (clip ? [clip.width, clip.height] : [0, 0]), 24, () => timeline.offsetHeight);

  // -- frames

  async function opened(words) {
    clip = words;
    start = null; found = []; kept = 0; which = null; shown = -1; following = false;
    box.hidden = timeline.hidden = false;
    scrub.max = Math.max(0, words.count - 1);
    scrub.value = 0;
    list.replaceChildren();
    for (const field of fields) field.value = "";
    lines({ python: "", cli: "" });
    tellButtons();
    drawScores();
    place();
  }

  on("frame", "video", async (words) => {
    if (!clip || words.wish < wishes) return; // something newer was asked for
    const image = await createImageBitmap(new Blob([words.photo], { type: "image/jpeg" }));
    if (photo.width !== image.width || photo.height !== image.height) [photo.width, photo.height] = [image.width, image.height];
    photo.getContext("2d").drawImage(image, 0, 0);
    image.close();
    shown = words.frame;
    if (words.window) {
      kept += words.mask?.length ?? 0;
      found[shown] = { window: words.window, ok: words.ok, score: words.score, mask: kept < KEPT ? words.mask?.slice() : null };
      if (words.lines) lines(words.lines);
      scrub.value = shown;
      drawScores();
    }
    drawMarks();
    host.tell(status());
    root.dataset.frame = shown;
  });
  on("end", "video", ({ wish }) => { if (wish === wishes) { following = false; tellButtons(); } });

  function ask(what, more = {}) {
    wishes += 1;
    following = what === "follow";
    say({ do: "show", view: "video", n: wishes, what, words: "following", ...more });
    tellButtons();
  }
  const wanted = () => ({ frame: start.frame, window: start.window, clusters: start.clusters.length ? start.clusters : null });

  scrub.oninput = () => ask("frame", { frame: Number(scrub.value) });
  play.onclick = () => {
    if (following) return ask("frame", { frame: Math.max(shown, 0) });
    found = []; kept = 0;
    ask("follow", wanted());
    root.dataset.followed = "yes";
  };

  // -- the window

  function setWindow(window, final) {
    const limit = (v, low, high) => Math.round(Math.max(low, Math.min(high, v)));
    let [x, y, w, h] = window;
    x = limit(x, 0, clip.width - 1); y = limit(y, 0, clip.height - 1);
    w = limit(w, 1, clip.width - x); h = limit(h, 1, clip.height - y);
    const frame = Math.max(shown, 0);
    start = { frame, window: [x, y, w, h], clusters: [] };
    found = []; kept = 0; which = null;
    fields.forEach((field, i) => { field.value = start.window[i]; });
    drawMarks();
    drawScores();
    tellButtons();
    if (final) ask("clusters", wanted());
  }

  const at = (event) => {
    const room = marks.getBoundingClientRect();
    return [((event.clientX - room.left) / room.width) * clip.width, ((event.clientY - room.top) / room.height) * clip.height];
  };
  let corner = null;
  marks.onpointerdown = (event) => {
    if (!clip) return;
    if (following) play.click();
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

  // -- its colours

  on("colours", "video", (words) => {
    if (!start || words.frame !== start.frame) return;
    which = words.which;
    list.replaceChildren(...words.clusters.map(({ color, share }, k) => {
      const tick = make("input", { type: "checkbox", onchange: () => {
        start.clusters = tick.checked ? [...start.clusters, k].sort((a, b) => a - b) : start.clusters.filter((each) => each !== k);
        drawMarks();
      } });
      const item = make("li", {}, make("label", {}, tick, make("i", { style: { background: hex(...color) } }), make("b", { textContent: hex(...color) }), make("em", { textContent: percent(share) })));
      item.onpointerenter = () => { hovered = k; drawMarks(); };
      item.onpointerleave = () => { hovered = null; drawMarks(); };
      return item;
    }));
    root.dataset.colours = words.clusters.length;
    drawMarks();
  });

  // -- drawing

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /** Marks are drawn in the screen's pixels: lines stay sharp however small the clip is. */
  function drawMarks() {
    if (!clip) return;
    const ratio = devicePixelRatio || 1, pen = marks.getContext("2d");
    [marks.width, marks.height] = [Math.round(marks.clientWidth * ratio), Math.round(marks.clientHeight * ratio)];
    const now = found[shown], scale = marks.width / clip.width, chosen = new Set(start?.clusters ?? []);
    if (now?.ok && now.mask && $("#show-mask").checked) tint(pen, (i) => (now.mask[i >> 3] >> (7 - (i & 7))) & 1);
    if (which && shown === start?.frame && !now && (chosen.size || hovered !== null)) {
      tint(pen, (i) => which[i] && (chosen.has(which[i] - 1) || which[i] - 1 === hovered));
    }
    const lost = now && !now.ok, window = now?.window ?? (start && shown === start.frame ? start.window : null);
    if (window) {
      pen.setLineDash(lost ? [9 * ratio, 6 * ratio] : []);
      for (const [wide, colour] of [[5, "#000b"], [2.5, lost ? "#ff9a3d" : now ? "#5cd0f4" : "#ffffff"]]) {
        pen.lineWidth = wide * ratio;
        pen.strokeStyle = colour;
        pen.strokeRect(...window.map((v) => v * scale));
      }
    }
    tellState(now);
  }

  const veil = new OffscreenCanvas(1, 1);
  function tint(pen, test) {
    [veil.width, veil.height] = [photo.width, photo.height];
    const ink = veil.getContext("2d"), data = ink.createImageData(veil.width, veil.height), out = new Uint32Array(data.data.buffer);
    for (let i = 0; i < out.length; i++) if (test(i)) out[i] = 0x74f4d05c; // the window's colour, half seen through
    ink.putImageData(data, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(veil, 0, 0, marks.width, marks.height);
  }

  function tellState(now) {
    const state = $(".state", root), meter = $(".meter", root);
    state.textContent = !now ? (start ? "" : "Draw a window around the object") : now.ok ? `frame ${shown}` : "lost";
    state.classList.toggle("lost", Boolean(now && !now.ok));
    $("#score").textContent = now ? now.score.toFixed(2) : "–";
    $("i", meter).style.width = now ? `${100 * now.score}%` : 0;
    meter.classList.toggle("lost", Boolean(now && !now.ok));
    $("#frame-number").value = `${Math.max(shown, 0)} / ${clip.count - 1}`;
    root.dataset.lost = found.filter((each) => each && !each.ok).length;
  }

  function drawScores() {
    const pen = scores.getContext("2d"), ratio = devicePixelRatio || 1;
    [scores.width, scores.height] = [scores.clientWidth * ratio, scores.clientHeight * ratio];
    const wide = scores.width / Math.max(1, clip.count);
    found.forEach((each, i) => {
      if (!each) return;
      const high = Math.max(2, each.score * scores.height);
      pen.fillStyle = style(each.ok ? "--accent" : "--lost");
      pen.fillRect(i * wide, scores.height - (each.ok ? high : scores.height), Math.ceil(wide), each.ok ? high : scores.height);
    });
  }

  function tellButtons() {
    play.disabled = !start;
    play.textContent = following ? "Stop" : "Follow";
    for (const button of $$("[data-export]", root)) button.disabled = !start || following;
  }
  $("#show-mask").onchange = drawMarks;
  new ResizeObserver(() => { if (clip) { drawMarks(); drawScores(); } }).observe(stage);
  for (const button of $$("[data-export]", root)) {
    button.onclick = () => start && host.export({ view: "video", kind: button.dataset.export, mask: $("#show-mask").checked, words: "exporting", ...wanted() });
  }

  function status() {
    if (!clip) return "";
    const lost = found.filter((each) => each && !each.ok).length;
    return `${clip.width} × ${clip.height} pixels, ${counted(clip.count, "frame")}, ${Math.round(clip.fps * 100) / 100} a second${found.length ? `; lost in ${counted(lost, "frame")}` : ""}`;
  }
  return {
    opened, status,
    shown: () => { place(); if (clip) { drawMarks(); drawScores(); } },
    failed: () => { following = false; tellButtons(); },
  };
}
