// The connection: words both ways, arrays from the server, files by plain requests.

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };
const heard = {}; // "type view" -> what to do

let socket;
let session = null;

export const on = (type, view, act) => { heard[`${type} ${view}`] = act; };

/** Send a wish. */
export function say(wish) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(wish));
}

/** Take a message apart: its words, with each array under its name. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const words = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  for (const [name, type, shape, at] of words.arrays) {
    const size = shape.reduce((a, b) => a * b, 1);
    words[name] = new TYPES[type](buffer, 4 + length + at, size);
    words[name].shape = shape;
  }
  return words;
}

async function hear(data) {
  const binary = typeof data !== "string";
  const words = binary ? unpack(data) : JSON.parse(data);
  if (words.type === "hello") session = words.session;
  try {
    await (heard[`${words.type} ${words.view}`] ?? heard[`${words.type} any`])?.(words);
  } finally {
    if (binary) say({ do: "painted" }); // or the server would wait for ever
  }
}

/** Connect; what comes in goes to whoever asked for its type and view. */
export function connect() {
  const address = new URL("socket", location.href);
  address.protocol = "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  let before = Promise.resolve(); // what came first is dealt with first, however long that takes
  socket.onmessage = ({ data }) => { before = before.then(() => hear(data)).catch(reportError); };
  socket.onclose = () => heard["closed any"]?.();
}

async function posted(path, options) {
  const reply = await fetch(path, { method: "POST", ...options });
  if (reply.ok) return reply;
  const words = await reply.json().then((r) => r.words, () => reply.statusText);
  throw new Error(words);
}

/** Send a file; gives what to open. */
export async function upload(file, signal) {
  const headers = { "x-file-name": encodeURIComponent(file.name) };
  const reply = await posted(`upload/${session}`, { body: file, headers, signal });
  return reply.json();
}

/** Have a file made, and save it. */
export async function download(wish) {
  const reply = await posted(`export/${session}`, { body: JSON.stringify(wish) });
  const name = /filename\*=UTF-8''([^;]+)/.exec(reply.headers.get("content-disposition"))[1];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = decodeURIComponent(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
