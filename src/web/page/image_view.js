// The image view of the web page, as the studio's image_view.py: a preview, then the full size.

import { Picture } from "./kernel.js";
import { greyPng } from "./png.js";
import { pythonCall } from "./python_code.js";

const PREVIEW_PIXELS = 400_000, EXACT_PIXELS = 2_000_000, MAX_PIXELS = 32_000_000;
const FINEST = 1e12; // a detail at which no pieces are merged

let piecesNumber = 0;

/** Convert integers from 0 to `largest` to the smallest type that holds them. */
export function narrow(values, largest) {
  return (largest < 2 ** 8 ? Uint8Array : largest < 2 ** 16 ? Uint16Array : Uint32Array).from(values);
}

/** The finest regions or the clusters, numbered from 1; 0 stands for masked pixels. */
class Pieces {
  constructor(labels, { data, width, height }) {
    let largest = 0;
    for (const label of labels) if (label >= largest) largest = label + 1;
    this.number = ++piecesNumber;
    this.n = largest + 1;
    this.ids = narrow(labels.map((label) => label + 1), largest);
    this.ids.shape = [height, width];
    this.sums = [0, 1, 2, 3].map(() => new Float64Array(this.n)); // red, green, blue, pixels
    this.pixel = new Uint32Array(this.n); // one of each piece
    this.ids.forEach((id, i) => {
      for (let c = 0; c < 3; c++) this.sums[c][id] += data[4 * i + c];
      this.sums[3][id] += 1;
      this.pixel[id] = i;
    });
  }
  /** Return the pixels and the mean colour of each label. */
  stats(table) {
    const n = table.reduce((a, b) => Math.max(a, b), 0) + 1, sums = [0, 1, 2, 3].map(() => new Float64Array(n));
    table.forEach((label, id) => { for (let c = 0; c < 4; c++) sums[c][label] += this.sums[c][id]; });
    const colours = new Uint8Array(3 * n);
    for (let k = 0; k < n; k++) for (let c = 0; c < 3; c++) colours[3 * k + c] = Math.round(sums[c][k] / Math.max(sums[3][k], 1));
    colours.shape = [n, 3];
    return { n, colours, counts: Uint32Array.from(sums[3]) };
  }
}

/** A picture at one size, with its last hierarchy. */
class SizedImage {
  constructor(pixels, scale) {
    [this.pixels, this.scale, this.tree] = [pixels, scale, null];
    this.picture = new Picture(pixels);
    this.n = pixels.width * pixels.height;
  }
  hasTree(settings) { return settings.regions && this.tree?.key === this.treeKey(this.scaled(settings)); }
  treeKey({ bandwidth, space, spatial, min_size }) { return JSON.stringify([bandwidth, space, spatial, this.picture.pieceSize(min_size)]); }

  /** Convert lengths and areas to the pixels of this size. */
  scaled(settings) {
    const spatial = settings.spatial && Math.max(settings.spatial * this.scale, 1);
    return { ...settings, spatial, min_size: settings.min_size && Math.max(1, Math.round(settings.min_size * this.scale ** 2)) };
  }

  /** Return the pieces and the label of each: 0 for masked pixels, then from 1. */
  result(settings) {
    const { picture } = this, scaled = this.scaled(settings);
    if (!settings.regions) {
      const pieces = new Pieces(picture.clusters(scaled), this.pixels);
      return { pieces, table: Int32Array.from({ length: pieces.n }, (_, k) => k) };
    }
    if (!this.hasTree(settings)) {
      this.tree = null;
      picture.grow(scaled);
      this.tree = { key: this.treeKey(scaled), pieces: new Pieces(picture.cut(FINEST), this.pixels) };
    }
    const { pieces } = this.tree, labels = picture.cut(settings.detail, scaled.min_size), table = Int32Array.from(pieces.pixel, (i) => labels[i] + 1);
    if (pieces.sums[3][0] === 0) table[0] = 0;
    return { pieces, table };
  }
}

function everyKthPixel({ data, width, height }, k) {
  const w = Math.ceil(width / k), h = Math.ceil(height / k), from = new Uint32Array(data.buffer), to = new Uint32Array(w * h);
  for (let y = 0, i = 0; y < h; y++) for (let x = 0; x < w; x++) to[i++] = from[y * k * width + x * k];
  return { data: new Uint8ClampedArray(to.buffer), width: w, height: h };
}

async function decode(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    throw new Error(`'${file.name}' is not a picture that this browser can read; open a JPEG, PNG or WebP file.`);
  }
  const { width, height } = bitmap;
  if (width * height > MAX_PIXELS) throw new Error(`'${file.name}' has more than ${MAX_PIXELS / 1e6} megapixels, the limit of this page; install meanshiftpp and start its studio.`);
  const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  pen.drawImage(bitmap, 0, 0);
  return { bitmap, pixels: pen.getImageData(0, 0, width, height) };
}

export class ImageView {
  constructor(settings) { this.defaults = { clusters: settings.cluster_bandwidth, regions: settings.piece_bandwidth }; }

  async open(file) {
    const { bitmap, pixels } = await decode(file);
    for (const sized of new Set([this.full, this.preview])) sized?.picture.close();
    this.full = this.preview = new SizedImage(pixels, 1);
    const step = Math.ceil(Math.sqrt(Math.max(this.full.n / PREVIEW_PIXELS, 1)));
    if (step > 1) this.preview = new SizedImage(everyKthPixel(pixels, step), 1 / step);
    [this.name, this.answered] = [file.name, null];
    this.masked = pixels.data.some((value, i) => i % 4 === 3 && value === 0);
    return [{ type: "opened", view: "image", name: file.name, width: pixels.width, height: pixels.height, defaults: this.defaults, bitmap }];
  }

  settings(request) {
    if (!this.full) throw new Error("No picture is open: drop a file on the page or choose a sample.");
    const { regions, space, spatial, detail, min_size } = request;
    const bandwidth = request.bandwidth ?? this.defaults[regions ? "regions" : "clusters"][space];
    return { regions, bandwidth, space, spatial, detail: regions ? detail ?? 1 : 1, min_size: regions ? min_size : null };
  }

  *show(request) {
    const settings = this.settings(request), isExact = request.final || this.full.n <= EXACT_PIXELS;
    yield this.reply(isExact && this.full.hasTree(settings) ? this.full : this.preview, settings, request);
  }
  *finish(request) {
    if (this.answered !== request.id) yield this.reply(this.full, this.settings(request), request);
  }

  reply(sized, settings, request) {
    const { pieces, table } = sized.result(settings), { n, colours, counts } = pieces.stats(table), full = sized === this.full;
    if (full) this.answered = request.id;
    const message = { type: "labels", view: "image", request: request.id, full, pieces: pieces.number, code: this.code(settings), colours, counts, table: narrow(table, n - 1) };
    return request.cached.includes(pieces.number) ? message : { ...message, ids: pieces.ids };
  }

  code({ regions, bandwidth, space, spatial, detail, min_size }) {
    const options = {};
    if (!regions) options.regions = false;
    if (!regions || bandwidth !== this.defaults.regions[space]) options.bandwidth = bandwidth;
    if (space !== "lab") options.space = space;
    if (spatial) options.spatial = spatial;
    if (detail !== 1) options.detail = detail;
    if (min_size) options.min_size = { whole: min_size };
    return pythonCall.segment(this.name, options, this.masked);
  }

  async export(request) {
    const { pieces, table } = this.full.result(this.settings(request)), { width, height } = this.full.pixels;
    if (request.kind === "mask") {
      const chosen = new Set(request.selected.map((label) => label + 1));
      return { ending: "mask.png", blob: await greyPng(Uint8Array.from(pieces.ids, (id) => (chosen.has(table[id]) ? 255 : 0)), width, height) };
    }
    if (table.some((label) => label >= 2 ** 16)) throw new Error("A 16-bit PNG holds at most 65,535 labels; use less detail.");
    return { ending: "labels.png", blob: await greyPng(Uint16Array.from(pieces.ids, (id) => table[id]), width, height) };
  }
}
