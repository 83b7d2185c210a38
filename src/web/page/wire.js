// The connection of the web page: a worker with the kernel answers, in place of the studio's server.
// It has the functions of the studio's wire.js, so the views are the same; no file leaves the page.

import { $, $$, make, saveFile } from "./ui.js";

const DOCUMENTATION = "https://meanshiftpp.github.io/meanshiftpp";
const PROGRESS_DELAY = 500; // ms until a request shows its progress
const MAX_BYTES = 2 ** 29;
const FORMATS = { table: [".csv", ".npy"], installed: [".parquet", ".tif", ".tiff", ".mp4", ".mov", ".avi", ".mkv", ".webm"] };
const SAMPLES = {
  image: { "coffee.jpg": "Coffee" },
  table: { "points.npy": "10,000 points", "iris.csv": "Iris" },
  video: {},
};
const handlers = {}; // "type view" -> function
const files = new Map(); // key of an upload -> file
const names = {}; // view -> name of its file
const waiting = new Map(); // kind of a request -> the latest one
const exporting = new Map(); // number of an export -> the functions of its promise
let worker, busy = false, count = 0, timer = null;

/** Register the handler of a message type; `view` is a view's name, "any", or undefined. */
export const on = (type, view, handler) => { handlers[`${type} ${view}`] = handler; };

const handle = (message) => (handlers[`${message.type} ${message.view}`] ?? handlers[`${message.type} any`])?.(message);

// -- requests: the worker handles one at a time, and the latest of each kind wins

/** Send a request to the worker. */
export async function send(request) {
  if (request.action === "open") return open(request).catch((error) => handle({ type: "error", view: request.view, message: error.message }));
  if (request.action === "show") {
    waiting.delete(`finish ${request.view}`);
    enqueue(`show ${request.view}`, request);
  }
}

async function open(request) {
  const file = await fileOf(request);
  enqueue(`open ${request.view}`, { ...request, file });
}

function enqueue(kind, request) {
  waiting.set(kind, request);
  next();
}

function next() {
  if (busy || !waiting.size) return;
  const first = (word) => [...waiting.keys()].find((kind) => kind.startsWith(word));
  const kind = first("open") ?? first("show") ?? first("export") ?? first("finish");
  const request = waiting.get(kind);
  waiting.delete(kind);
  busy = true;
  worker.postMessage(request);
  timer ??= setTimeout(() => handle({ type: "progress", description: request.description ?? "Working", fraction: null }), PROGRESS_DELAY);
  if (request.final && request.action === "show" && request.view === "image") waiting.set("finish image", { ...request, action: "finish" });
}

function idle() {
  busy = false;
  next();
  if (busy) return;
  clearTimeout(timer);
  timer = null;
  handle({ type: "idle" });
}

async function receive({ message, shapes, done }) {
  if (done) return idle();
  if (message.type === "exported") return exporting.get(message.number)?.resolve(message);
  if (message.type === "error" && message.number) return exporting.get(message.number)?.reject(new Error(message.message));
  for (const [name, shape] of Object.entries(shapes)) message[name].shape = shape;
  if (message.type === "opened") names[message.view] = message.name;
  await handle(message);
}

/** Start the worker and pass each message to its handler. */
export function connect() {
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  let previous = Promise.resolve(); // a chain, so that slow handlers do not change the order
  worker.onmessage = ({ data }) => { previous = previous.then(() => receive(data)).catch(reportError); };
  worker.onerror = () => handle({ type: "error", message: "This browser cannot run the kernel; use a current one, with WebAssembly and module workers." });
  const hello = { type: "hello", max_upload: Infinity, samples: SAMPLES, startup: null, formats: FORMATS };
  previous = previous.then(() => handle(hello)).then(showSample);
}

/** Open the sample that the address names, for example #coffee.jpg. */
function showSample() {
  const wanted = decodeURIComponent(location.hash.slice(1));
  $$("[data-sample]").find((button) => button.dataset.sample === wanted)?.click();
}

// -- files

const suffixOf = (name) => /\.[^.]*$/.exec(name.toLowerCase())?.[0] ?? "";
const stemOf = (view) => (names[view] ?? view).replace(/\.[^.]*$/, "");

async function fileOf({ upload: key, sample }) {
  if (!sample) return files.get(key);
  const response = await fetch(`samples/${sample}`);
  if (!response.ok) throw new Error(`The sample '${sample}' must be on this server but was not found (${response.status}); open a file of your own.`);
  return new File([await response.blob()], sample);
}

/** Keep a file for the view that opens it; return its key and that view. */
export async function upload(file) {
  const suffix = suffixOf(file.name);
  if (FORMATS.installed.includes(suffix)) throw new Error(`This page does not read ${suffix} files; install meanshiftpp and start its studio.`);
  if (file.size > MAX_BYTES) throw new Error(`'${file.name}' is larger than ${MAX_BYTES / 2 ** 20} MB, the limit of this page; install meanshiftpp and start its studio.`);
  files.clear();
  files.set(++count, file);
  return { upload: count, view: FORMATS.table.includes(suffix) ? "table" : "image" };
}

/** Make an export and save the file. */
export async function download(request) {
  if (request.kind === "picture") return saveFile(await shownPicture(request.look), `${stemOf("image")}-${request.look}.png`);
  const number = ++count;
  const promise = new Promise((resolve, reject) => exporting.set(number, { resolve, reject }));
  enqueue(`export ${number}`, { ...request, action: "export", number });
  const { blob, ending } = await promise.finally(() => exporting.delete(number));
  saveFile(blob, `${stemOf(request.view)}-${ending}`);
}

function shownPicture(look) {
  const photo = $("#image .photo"), result = $("#image .result");
  const canvas = make("canvas", { width: result.width, height: result.height }), pen = canvas.getContext("2d");
  if (look === "palette") throw new Error("A palette cannot be exported from this page; choose another view under Show.");
  pen.drawImage(photo, 0, 0, canvas.width, canvas.height);
  pen.drawImage(result, 0, 0);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

// -- the parts of the page that need the installed studio

function adaptPage() {
  const unavailable = ["#tab-video", "[for=n-colours]", "[aria-labelledby=export-palette]", "#export-palette", "#cancel"];
  const exports = ["svg", "colours", "tiff", "parquet", "npy"].map((kind) => `[data-export=${kind}]`);
  for (const part of [...unavailable, ...exports]) for (const node of $$(part)) node.classList.add("unavailable");
  $("#tab-video").setAttribute("role", "none"); // the arrow keys move between tabs
  $("h1 span").textContent = "in your browser";
  const install = make("a", { href: `${DOCUMENTATION}/start.html`, target: "_top", title: "The installed studio also has video and more formats.", textContent: "Install" });
  $("footer").insertBefore(make("p", { className: "note" }, "Files stay on this computer. ", install), $("#busy"));
}
adaptPage();
