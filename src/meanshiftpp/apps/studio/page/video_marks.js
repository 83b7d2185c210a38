// Drawing of the video view: the windows and pixels of each object, and the strip of scores.

import { themeColour } from "./ui.js";

export const OBJECT_COLOURS = ["#5cd0f4", "#ffd35c", "#8ee07a", "#ff8fc0", "#c7a6ff", "#ff9f6b", "#6fe3c4", "#e6e6e6"];
const LOST_COLOUR = "#ff9a3d";
const DOUBLE_LINE = [[5, "#000b"], [2.5, null]]; // widths; the dark edge keeps the line visible

/** Draw the marks of a frame in screen pixels, so that lines are sharp on a small clip too. */
export function drawFrameMarks(canvas, clipWidth, photo, { boxes, tints }) {
  const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  for (const { test, colour } of tints) tint(pen, canvas, photo, test, colour);
  const scale = canvas.width / clipWidth;
  pen.font = `600 ${13 * ratio}px system-ui, sans-serif`;
  for (const { window, colour, lost, caption } of boxes) {
    const [x, y, w, h] = window.map((v) => v * scale);
    pen.setLineDash(lost ? [9 * ratio, 6 * ratio] : []);
    for (const [wide, edge] of DOUBLE_LINE) {
      pen.lineWidth = wide * ratio;
      pen.strokeStyle = edge ?? (lost ? LOST_COLOUR : colour);
      pen.strokeRect(x, y, w, h);
    }
    if (!caption) continue;
    pen.setLineDash([]);
    pen.lineWidth = 4 * ratio;
    pen.strokeStyle = "#000b";
    const place = [x + 5 * ratio, y + 16 * ratio];
    pen.strokeText(caption, ...place);
    pen.fillStyle = lost ? LOST_COLOUR : colour;
    pen.fillText(caption, ...place);
  }
}

const overlay = new OffscreenCanvas(1, 1);
function tint(pen, canvas, photo, test, colour) {
  [overlay.width, overlay.height] = [photo.width, photo.height];
  const ink = overlay.getContext("2d"), data = ink.createImageData(overlay.width, overlay.height), out = new Uint32Array(data.data.buffer);
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)), pixel = (0x74000000 | (b << 16) | (g << 8) | r) >>> 0;
  for (let i = 0; i < out.length; i++) if (test(i)) out[i] = pixel;
  ink.putImageData(data, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(overlay, 0, 0, canvas.width, canvas.height);
}

/** Draw the score of an object in each frame; frames in which it is lost have full height. */
export function drawScoreStrip(canvas, nFrames, results) {
  const pen = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
  const wide = canvas.width / Math.max(1, nFrames);
  results.forEach((each, i) => {
    if (!each) return;
    const high = Math.max(2, each.score * canvas.height);
    pen.fillStyle = themeColour(each.ok ? "--accent" : "--lost");
    pen.fillRect(i * wide, canvas.height - (each.ok ? high : canvas.height), Math.ceil(wide), each.ok ? high : canvas.height);
  });
}
