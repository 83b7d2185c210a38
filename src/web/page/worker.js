// The worker of the web page: passes each request to its view, and sends the replies.

import { loadKernel } from "./kernel.js";
import { ImageView } from "./image_view.js";
import { TableView } from "./table_view.js";

const ready = loadKernel().then(
  (settings) => ({ image: new ImageView(settings), table: new TableView(settings) }),
  (error) => { throw new Error(`The kernel did not load (${error.message}); reload the page.`); },
);
let previous = ready.catch(() => {}); // `answer` reports that the kernel did not load

function post(message) {
  const shapes = {};
  for (const [name, value] of Object.entries(message)) if (ArrayBuffer.isView(value)) shapes[name] = value.shape ?? [value.length];
  postMessage({ message, shapes });
}

async function answer(request) {
  try {
    const view = (await ready)[request.view];
    if (request.action === "open") for (const message of await view.open(request.file)) post(message);
    else if (request.action === "export") post({ type: "exported", number: request.number, ...(await view.export(request)) });
    else for (const message of view[request.action](request)) post(message);
  } catch (error) {
    post({ type: "error", view: request.view, number: request.number, message: error.message });
  }
  postMessage({ done: true });
}

onmessage = ({ data }) => { previous = previous.then(() => answer(data)); };
