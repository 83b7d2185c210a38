// The page: tabs, files, what goes on. Each view is a module of its own.

import { connect, download, on, say, upload } from "./wire.js";
import { $, $$, emptyState } from "./ui.js";
import { imageView } from "./image.js";
import { tableView } from "./table.js";
import { videoView } from "./video.js";

const studio = { hello: null, current: "image", names: {}, timings: [] };
window.studio = studio; // for those who measure

const EMPTY = {
  image: ["Drop a picture", "Drag the detail and watch its regions merge and part; click one to take its mask along. Or begin with a photograph that is here already:"],
  table: ["Drop a table", "A .csv, .parquet or .npy file. Choose two or three columns, drag the bandwidth and watch clusters form. Or begin with one of these:"],
  video: ["Drop a clip", "Draw a window around something, tick its colours, and follow it. Or begin with a clip in which something happens:"],
};

const host = {
  tell: (words) => { $("#status").textContent = words; },
  fail: (words) => { $("#error").textContent = words; $("#error").title = words; },
  calm: () => host.fail(""),
  timings: studio.timings,
  async export(wish) {
    host.calm();
    try { await download(wish); } catch (error) { host.fail(error.message); }
  },
};
const views = { image: imageView(host), table: tableView(host), video: videoView(host) };

// -- tabs

function choose(name) {
  studio.current = name;
  for (const tab of $$("header [role=tab]")) {
    const mine = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", mine);
    tab.tabIndex = mine ? 0 : -1;
    $(`#${tab.id.slice(4)}`).hidden = !mine;
  }
  $("#file-name").textContent = studio.names[name] ?? "";
  host.tell(views[name].status?.() ?? "");
  views[name].shown?.();
}

for (const tab of $$("header [role=tab]")) {
  tab.onclick = () => choose(tab.id.slice(4));
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

async function take(file) {
  host.calm();
  if (file.size > studio.hello.max_upload) {
    const limit = (studio.hello.max_upload / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 0 });
    return host.fail(`'${file.name}' is larger than ${limit} MB; start the studio with a larger --max-upload`);
  }
  busy({ words: `taking ${file.name}`, part: null });
  uploading = new AbortController();
  try {
    const { upload: key, view } = await upload(file, uploading.signal);
    open({ upload: key, view });
  } catch (error) {
    if (error.name !== "AbortError") host.fail(error.message);
  } finally {
    uploading = null;
    idle();
  }
}

function open(what) {
  host.calm();
  choose(what.view);
  say({ do: "open", words: "opening", ...what });
}

$("#open").onclick = () => $("#file").click();
$("#file").onchange = ({ target }) => {
  if (target.files[0]) take(target.files[0]);
  target.value = "";
};
let inside = 0;
addEventListener("dragenter", (event) => { event.preventDefault(); inside += 1; $("#drop").classList.add("on"); });
addEventListener("dragleave", () => { inside -= 1; if (inside <= 0) $("#drop").classList.remove("on"); });
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  inside = 0;
  $("#drop").classList.remove("on");
  if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
});

// -- what goes on

function busy({ words, part }) {
  $("#busy").classList.add("on");
  $("#busy span").textContent = `${words} …`;
  const bar = $("#busy progress");
  if (part === null) bar.removeAttribute("value"); else bar.value = part;
}
const idle = () => $("#busy").classList.remove("on");
$("#stop").onclick = () => { uploading?.abort(); say({ do: "stop" }); };

on("hello", undefined, (hello) => {
  studio.hello = hello;
  for (const [view, [title, text]] of Object.entries(EMPTY)) {
    const stage = $(`.stage[data-view=${view}]`);
    views[view].empty = emptyState(stage, title, text, hello.samples[view], (sample) => open({ view, sample }));
  }
  if (hello.startup) open({ startup: true, view: hello.startup.view });
  document.body.dataset.ready = "yes";
});
on("busy", undefined, busy);
on("idle", undefined, idle);
on("error", "any", ({ words, view }) => { host.fail(words); idle(); views[view]?.failed?.(); });
on("stopped", "any", ({ view }) => { host.tell("Stopped."); views[view]?.failed?.(); });
on("closed", "any", () => host.fail("The studio has ended. Start it again, and open the address it prints."));
for (const name of Object.keys(views)) {
  on("opened", name, async (words) => {
    studio.names[name] = words.name;
    $("#file-name").textContent = words.name;
    views[name].empty.hidden = true;
    await views[name].opened(words);
  });
}
choose("image");
connect();
