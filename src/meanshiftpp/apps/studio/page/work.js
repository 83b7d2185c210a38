// Saved work: the settings of each view and the names of its files, as a JSON file. Reopening never
// sends a name or a path to the server: it opens the startup file or a sample, or asks for the file.

import { $, make, saveFile } from "./ui.js";

const FORMAT = "meanshiftpp-studio", VERSION = 1, MAX_BYTES = 2 ** 20;
const NAMES = ["image", "table", "video"];

export const isWork = (file) => file.name.toLowerCase().endsWith(".json");
const baseName = (name) => String(name).split(/[\\/]/).at(-1);

/** Save and reopen work. `studio` has the open files, `open` opens one, `choose` asks for one. */
export function savedWork({ studio, views, open, choose, showError }) {
  const pending = {}; // by view: settings that wait for their file
  const queue = []; // views that are opened one after the other, the current one last
  let waiting = null; // the view whose first reply is awaited: the server drops older requests
  const box = $("#ask");

  function save() {
    const entries = NAMES.filter((name) => studio.files[name]).map((name) => [name, { ...studio.files[name], file: baseName(studio.files[name].file), settings: views[name].state() }]);
    const work = { format: FORMAT, version: VERSION, view: studio.current, views: Object.fromEntries(entries) };
    const stem = baseName(studio.files[studio.current]?.file ?? "work").replace(/\.[^.]*$/, "");
    saveFile(new Blob([JSON.stringify(work, null, 2)], { type: "application/json" }), `${stem}.studio.json`);
  }

  async function reopen(file) {
    let work = null;
    try { work = file.size <= MAX_BYTES ? JSON.parse(await file.text()) : null; } catch { /* reported below */ }
    if (work?.format !== FORMAT || typeof work.views !== "object" || !work.views) {
      return showError(`'${file.name}' is not saved work of the studio; open a file that Save wrote`);
    }
    if (work.version !== VERSION) return showError(`'${file.name}' has version ${work.version}, but this studio reads ${VERSION}: update meanshiftpp`);
    const order = NAMES.filter((name) => work.views[name] && name !== work.view);
    if (work.views[work.view]) order.push(work.view);
    for (const name of order) pending[name] = work.views[name];
    queue.splice(0, queue.length, ...order);
    next();
  }

  /** Open the next file that the server has; ask for all others at the end. */
  function next() {
    const name = (waiting = queue.shift() ?? null);
    if (!name) return ask();
    const { file, sample } = pending[name] ?? {}, startup = studio.hello.startup;
    if (sample && Object.hasOwn(studio.hello.samples[name], sample)) open({ view: name, sample });
    else if (startup?.view === name && baseName(startup.name) === baseName(file)) open({ view: name, startup: true });
    else next();
  }

  function ask() {
    const missing = NAMES.filter((name) => pending[name]);
    box.replaceChildren(...missing.map((name) => {
      const file = baseName(pending[name].file);
      return make("p", {}, make("span", { textContent: `This work uses ${file}. ` }),
        make("button", { textContent: `Choose ${file}…`, onclick: choose }),
        make("button", { className: "plain", textContent: "Skip", onclick: () => { delete pending[name]; ask(); } }));
    }));
    box.hidden = !missing.length;
  }

  return {
    save, reopen,
    /** Return the saved settings for a file that was opened. */
    take(name) {
      const settings = pending[name]?.settings;
      delete pending[name];
      if (!waiting) ask();
      return settings && typeof settings === "object" ? settings : null;
    },
    /** Continue with the next file once a view shows the last, or has failed. */
    proceed(name) { if (waiting && waiting === name) next(); },
  };
}
