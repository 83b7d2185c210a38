// The connection: JSON messages both ways, arrays from the server, files over HTTP.

import { saveFile } from "./ui.js";

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };
const handlers = {}; // "type view" -> function

let socket;
let session = null;

/** Register the handler of a message type; `view` is a view's name, "any", or undefined. */
export const on = (type, view, handler) => { handlers[`${type} ${view}`] = handler; };

/** Send a request to the server. */
export function send(request) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request));
}

/** Decode a binary message: its fields, with each array under its name. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const fields = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  for (const [name, type, shape, offset] of fields.arrays) {
    const size = shape.reduce((a, b) => a * b, 1);
    fields[name] = new TYPES[type](buffer, 4 + length + offset, size);
    fields[name].shape = shape;
  }
  return fields;
}

async function receive(data) {
  const binary = typeof data !== "string";
  const message = binary ? unpack(data) : JSON.parse(data);
  if (message.type === "hello") session = message.session;
  try {
    await (handlers[`${message.type} ${message.view}`] ?? handlers[`${message.type} any`])?.(message);
  } finally {
    if (binary) send({ action: "painted" }); // always, because the server waits for it
  }
}

/** Open the WebSocket and pass each message to its handler. */
export function connect() {
  const address = new URL("socket", location.href);
  address.protocol = "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  let previous = Promise.resolve(); // a chain, so that slow handlers do not change the order
  socket.onmessage = ({ data }) => { previous = previous.then(() => receive(data)).catch(reportError); };
  socket.onclose = () => handlers["closed any"]?.();
}

async function post(path, options) {
  const response = await fetch(path, { method: "POST", ...options });
  if (response.ok) return response;
  const message = await response.json().then((body) => body.message, () => response.statusText);
  throw new Error(message);
}

/** Upload a file; return its key and the view that opens it. */
export async function upload(file, signal) {
  const headers = { "x-file-name": encodeURIComponent(file.name) };
  const response = await post(`upload/${session}`, { body: file, headers, signal });
  return response.json();
}

/** Request an export and save the file. */
export async function download(request) {
  const response = await post(`export/${session}`, { body: JSON.stringify(request) });
  const name = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("content-disposition"))[1];
  saveFile(await response.blob(), decodeURIComponent(name));
}
