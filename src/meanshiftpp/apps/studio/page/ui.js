// Helpers that all views use.

export const $ = (query, within = document) => within.querySelector(query);
export const $$ = (query, within = document) => [...within.querySelectorAll(query)];

/** Create an element with properties, styles, data and ARIA attributes, and children. */
export function make(tag, props = {}, ...children) {
  const { style = {}, dataset = {}, aria = {}, ...rest } = props;
  const node = Object.assign(document.createElement(tag), rest);
  Object.assign(node.style, style);
  Object.assign(node.dataset, dataset);
  for (const [name, value] of Object.entries(aria)) node.setAttribute(name === "role" ? name : `aria-${name}`, value);
  node.append(...children);
  return node;
}

/** Round to significant digits, so that the displayed number is the one that is sent. */
export const round = (value, digits = 3) => Number(value.toPrecision(digits));
export const percent = (share) => (share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : share >= 0.001 ? `${(100 * share).toFixed(1)} %` : "< 0.1 %");
/** Format a count: 1 point, 2,000 points. */
export const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
export const hex = (r, g, b) => "#" + [r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("");

/** Make a logarithmic slider over [low, high]; with `off`, its left end means none. */
export function logSlider(input, { low, high, off = false, digits = 3, format, onChange }) {
  const steps = 200, state = { low, high, auto: false, exact: null };
  input.min = 0; input.max = steps; input.step = 1;
  const output = $("output", input.parentElement);
  const ratio = () => Math.log(state.high / state.low);
  const value = () => {
    if (off && Number(input.value) === 0) return null;
    if (state.auto) return null;
    return state.exact ?? round(state.low * Math.exp((ratio() * input.value) / steps), digits);
  };
  const refresh = () => { output.value = format(value()); };
  const set = (number) => {
    state.auto = false;
    state.exact = number; // not rounded to a step of the slider until it moves
    input.value = number === null ? 0 : Math.round((steps * Math.log(number / state.low)) / ratio());
    refresh();
  };
  input.addEventListener("input", (event) => { state.auto = false; state.exact = null; refresh(); onChange(false, event); });
  input.addEventListener("change", (event) => onChange(true, event));
  return {
    value, set, refresh,
    range(from, to) { state.low = from; state.high = to; },
    auto(number) { set(number); state.auto = true; refresh(); },
    get isAuto() { return state.auto; },
  };
}

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
export const copyText = (text) => navigator.clipboard.writeText(text);

/** Save a blob under a name. */
export function saveFile(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Show Python code and a command line under two tabs, with a button that copies the current one. */
export function codeBox(box) {
  const texts = { python: "", cli: "" };
  let current = "python";
  const code = make("pre", { tabIndex: 0 });
  const tabs = Object.entries({ python: "Python", cli: "Command line" }).map(([key, title]) =>
    make("button", { textContent: title, aria: { role: "tab", selected: key === current }, onclick: () => select(key) }));
  const copy = make("button", { className: "plain small copy", textContent: "Copy", onclick: async () => {
    await copyText(texts[current]);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1200);
  } });
  const refresh = () => { code.textContent = texts[current] || (texts.python ? "No command line does this; use the Python code." : ""); };
  function select(key) {
    current = key;
    tabs.forEach((tab, i) => tab.setAttribute("aria-selected", ["python", "cli"][i] === key));
    refresh();
  }
  box.append(make("div", { aria: { role: "tablist" } }, ...tabs), copy, code);
  return (newTexts) => { Object.assign(texts, newTexts); refresh(); };
}

const ART = {
  image: '<rect x="3" y="5" width="26" height="22" rx="3"/><circle cx="11" cy="12" r="2.5"/><path d="m4 24 8-8 6 6 4-4 6 6"/>',
  table: '<circle cx="9" cy="10" r="2"/><circle cx="13" cy="7" r="2"/><circle cx="8" cy="15" r="2"/><circle cx="22" cy="21" r="2"/><circle cx="25" cy="17" r="2"/><circle cx="19" cy="25" r="2"/><path d="M3 3v26h26"/>',
  video: '<rect x="3" y="7" width="26" height="18" rx="3"/><path d="m13 12 7 4-7 4z"/>',
};

/** Show a title, a hint and sample buttons on a stage without a file. */
export function emptyState(stage, title, text, samples, onPick) {
  const art = make("div");
  art.innerHTML = `<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="1.3">${ART[stage.dataset.view]}</svg>`;
  const buttons = Object.entries(samples).map(([name, label], i) =>
    make("button", { textContent: label, className: i ? "" : "primary", dataset: { sample: name }, onclick: () => onPick(name) }));
  const box = make("div", { className: "empty" }, art, make("h2", { textContent: title }), make("p", { textContent: text }), make("div", {}, ...buttons));
  stage.prepend(box);
  return box;
}

/** Keep a box as large as its stage allows, with the aspect ratio of `size`. Returns the update. */
export function fit(stage, box, size, margin = 28, below = () => 0) {
  const update = () => {
    const [width, height] = size();
    if (!width) return;
    const room = stage.getBoundingClientRect();
    const scale = Math.min((room.width - 2 * margin) / width, (room.height - 2 * margin - below()) / height);
    box.style.width = `${Math.max(1, Math.round(width * scale))}px`;
    box.style.height = `${Math.max(1, Math.round(height * scale))}px`;
  };
  new ResizeObserver(update).observe(stage);
  return update;
}

/** Create an SVG element with attributes, a style and a text. */
export function svgNode(tag, { style = "", ...attributes }, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.style.cssText = style;
  element.textContent = text;
  return element;
}

/** Record the times from an event to the end of the frame that shows its effect, by request. */
export function stopwatch(timings) {
  const starts = new Map();
  return {
    start(id, event) { if (event) starts.set(id, event.timeStamp); },
    stop(id) {
      const start = starts.get(id);
      for (const key of starts.keys()) if (key <= id) starts.delete(key);
      if (start === undefined) return;
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => timings.push({ id, ms: performance.now() - start });
        port2.postMessage(0);
      });
    },
  };
}

// Colours of clusters: the first few are chosen to be distinguishable, the rest go around the hue circle.
const FIRST = ["#2f7fb8", "#e07b39", "#3f9b6b", "#c8506f", "#8a6fc4", "#b8982f", "#4fb3bf", "#a06a4b", "#7a9a3a", "#d48ac0", "#5f6f9f", "#cf5f4a"];
export function colourOf(k) {
  if (k < FIRST.length) return FIRST[k];
  const hue = (k * 137.508) % 360, f = (n) => {
    const at = (n + hue / 30) % 12;
    return Math.round(255 * (0.55 - 0.22 * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return hex(f(0), f(8), f(4));
}
export const rgbOf = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

/** Return a colour of the current theme, by the name of its CSS variable. */
export const themeColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
