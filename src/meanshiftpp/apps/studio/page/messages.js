// Messages: the status line, progress, and the errors and warnings of each view.

import { $, make } from "./ui.js";

const FLASH = 4000; // ms that a short message replaces the status
const LINGER = 400; // ms that obsolete warnings stay, so that a drag that repeats them does not flicker

/** Show the messages of the current view; `status` returns the status line of that view. */
export function messageBoard({ current, status }) {
  const errors = {}, warnings = {}, keys = {}; // by view; "page" is for errors of no view
  const errorBox = $("#error").parentElement, warningBox = $("#warnings").parentElement;
  const obsolete = {}; // by view: the timer that removes its warnings
  let flashing = null, listed = "";

  function refresh() {
    const error = errors[current()] ?? errors.page ?? "", texts = warnings[current()] ?? [];
    if ($("#error").textContent !== error) $("#error").textContent = error;
    errorBox.hidden = !error;
    if (texts.join("\n") !== listed) {
      listed = texts.join("\n");
      $("#warnings").replaceChildren(...texts.map((text) => make("p", { textContent: text })));
      warningBox.hidden = !texts.length;
    }
    const line = flashing ? null : status();
    if (line !== null && $("#status").textContent !== line) $("#status").textContent = line;
  }
  function dropWarnings(view) {
    clearTimeout(obsolete[view]);
    delete obsolete[view];
    delete warnings[view];
    refresh();
  }
  $("button", errorBox).onclick = () => { delete errors[current()]; delete errors.page; refresh(); };
  $("button", warningBox).onclick = () => dropWarnings(current());

  return {
    refresh,
    showError(text, view = "page") { errors[view ?? "page"] = text; refresh(); },
    /** Remove the errors of a view; with `all`, its warnings too. */
    clear(view, all = false) {
      delete errors.page;
      delete errors[view];
      if (all) { delete keys[view]; dropWarnings(view); } else refresh();
    },
    /** Remove the messages that a reply makes obsolete: warnings stay while the same key is shown. */
    answered(view, key = "") {
      delete errors[view];
      if (![key, undefined].includes(keys[view]) && warnings[view]) obsolete[view] ??= setTimeout(() => dropWarnings(view), LINGER);
      keys[view] = key;
      if (current() === view) clearTimeout(flashing), flashing = null, refresh();
    },
    addWarnings(view, texts) {
      warnings[view] = [...new Set([...(obsolete[view] ? [] : warnings[view] ?? []), ...texts])];
      clearTimeout(obsolete[view]);
      delete obsolete[view];
      refresh();
    },
    /** Show a text in the status line for a moment. */
    flash(text) {
      clearTimeout(flashing);
      flashing = setTimeout(() => { flashing = null; refresh(); }, FLASH);
      $("#status").textContent = text;
    },
  };
}

export function showProgress({ description, fraction }) {
  $("#busy").classList.add("on");
  $("#busy span").textContent = `${description}…`;
  const bar = $("#busy progress");
  if (fraction === null) bar.removeAttribute("value"); else bar.value = fraction;
}
export const hideProgress = () => $("#busy").classList.remove("on");
