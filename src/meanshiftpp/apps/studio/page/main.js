// The page: tabs and files. Each view is a separate module, and so are messages and saved work.

import { connect, download, on, send, upload } from "./wire.js";
import { $, $$, emptyState } from "./ui.js";
import { hideProgress, messageBoard, showProgress } from "./messages.js";
import { isWork, savedWork } from "./work.js";
import { imageView } from "./image.js";
import { tableView } from "./table.js";
import { videoView } from "./video.js";

const studio = { hello: null, current: "image", files: {}, opening: {}, timings: [] };
window.studio = studio; // read by benchmarks/studio.py

const EMPTY = {
  image: ["Drop a picture", "Move the Detail slider to merge and split regions, and click a region to export its mask. Or start with a sample:"],
  table: ["Drop a table", "A FORMATS file. Choose two or three columns and move the Bandwidth slider to see the clusters change. Or start with a sample:"],
  video: ["Drop a video", "Draw a window around an object, select its colours and track it. Or start with a sample:"],
};

const board = messageBoard({ current: () => studio.current, status: () => views[studio.current]?.status() ?? "" });
const host = {
  answered(view, key) { board.answered(view, key); work.proceed(view); },
  flash: board.flash,
  timings: studio.timings,
  async export(request) {
    board.clear(request.view);
    try { await download(request); } catch (error) { board.showError(error.message, request.view); }
  },
};
const views = {};
Object.assign(views, { image: imageView(host), table: tableView(host), video: videoView(host) });
const work = savedWork({ studio, views, open, choose: () => $("#file").click(), showError: (text) => board.showError(text) });

// -- tabs

function selectTab(name) {
  studio.current = name;
  for (const tab of $$("header [role=tab]")) {
    const selected = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    $(`#${tab.id.slice(4)}`).hidden = !selected;
  }
  $("#file-name").textContent = studio.files[name]?.file ?? "";
  $("#save").disabled = !Object.keys(studio.files).length;
  board.refresh();
  views[name].redraw?.();
}

for (const tab of $$("header [role=tab]")) {
  tab.onclick = () => selectTab(tab.id.slice(4));
  tab.onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const all = $$("header [role=tab]"), next = all[(all.indexOf(tab) + step + all.length) % all.length];
    next.click();
    next.focus();
  };
}

// -- files

let uploading = null;

/** Mark the page while a file is on its way to a view; the mark ends after the view's first request. */
function markOpening(isOpening) {
  if (isOpening) document.body.dataset.opening = "yes"; else delete document.body.dataset.opening;
}

async function uploadFile(file) {
  board.clear(studio.current);
  if (isWork(file)) return work.reopen(file);
  if (file.size > studio.hello.max_upload) {
    const limit = (studio.hello.max_upload / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 0 });
    return board.showError(`'${file.name}' is larger than ${limit} MB; restart the studio with a larger --max-upload`);
  }
  markOpening(true);
  showProgress({ description: `Uploading ${file.name}`, fraction: null });
  uploading = new AbortController();
  try {
    const { upload: key, view } = await upload(file, uploading.signal);
    open({ upload: key, view });
  } catch (error) {
    markOpening(false);
    if (error.name === "AbortError") board.flash("Cancelled."); else board.showError(error.message);
  } finally {
    uploading = null;
    hideProgress();
  }
}

function open(source) {
  markOpening(true);
  studio.opening[source.view] = source;
  selectTab(source.view);
  board.clear(source.view);
  send({ action: "open", description: "Opening", ...source });
}

$("#open").onclick = () => $("#file").click();
$("#save").onclick = work.save;
$("#file").onchange = ({ target }) => {
  if (target.files[0]) uploadFile(target.files[0]);
  target.value = "";
};
let dragDepth = 0;
addEventListener("dragenter", (event) => { event.preventDefault(); dragDepth += 1; $("#drop").classList.add("on"); });
addEventListener("dragleave", () => { dragDepth -= 1; if (dragDepth <= 0) $("#drop").classList.remove("on"); });
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  dragDepth = 0;
  $("#drop").classList.remove("on");
  if (event.dataTransfer.files[0]) uploadFile(event.dataTransfer.files[0]);
});

// -- messages from the server

$("#cancel").onclick = () => { uploading?.abort(); send({ action: "cancel" }); };

on("hello", undefined, (hello) => {
  studio.hello = hello;
  for (const [view, [title, text]] of Object.entries(EMPTY)) {
    const stage = $(`.stage[data-view=${view}]`);
    const hint = text.replace("FORMATS", hello.formats[view]?.join(", ").replace(/, (?=[^,]*$)/, " or "));
    views[view].empty = emptyState(stage, title, hint, hello.samples[view], (sample) => open({ view, sample }));
  }
  if (hello.startup) open({ startup: true, view: hello.startup.view });
  document.body.dataset.ready = "yes";
});
on("progress", undefined, showProgress);
on("idle", undefined, hideProgress);
on("error", "any", ({ message, view }) => {
  board.showError(message, view);
  hideProgress();
  markOpening(false);
  views[view]?.jobEnded?.(true);
  work.proceed(view);
});
on("warnings", "any", ({ view, messages }) => board.addWarnings(view, messages));
on("cancelled", "any", ({ view }) => { board.flash("Cancelled."); markOpening(false); views[view]?.jobEnded?.(); });
on("closed", "any", () => board.showError("The studio has stopped. Start it again and open the address that it prints."));
for (const name of Object.keys(views)) {
  on("opened", name, async (message) => {
    const { sample = null } = studio.opening[name] ?? {};
    studio.files[name] = { file: message.name, sample };
    board.clear(name, true);
    selectTab(studio.current);
    views[name].empty.hidden = true;
    await views[name].opened(message, work.take(name));
    markOpening(false);
    board.refresh();
  });
}
selectTab("image");
connect();
