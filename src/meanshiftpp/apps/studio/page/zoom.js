// Zoom and pan: wheel, pinch, drag, keys and buttons. Positions are fractions of the visible area:
// a place u of the content is drawn at x + scale * u.

import { $ } from "./ui.js";

const MAX_SCALE = 40, KEY_FACTOR = 1.25, KEY_STEP = 0.1;
const CLICK = 4; // pixels; a press that moves less is a click

/** Make the content of an element zoomable. `area` returns the visible area in client pixels. */
export function zoomable(target, { controls, area, onChange, canPan = () => true }) {
  const state = { scale: 1, x: 0, y: 0 }, pointers = new Map();
  let spread = 0; // distance between two fingers
  let moved = 0; // largest distance from the beginning of the press, in pixels
  let origin = [0, 0];
  const [out, reset, into] = controls.children;
  const limit = (value) => Math.min(0, Math.max(1 - state.scale, value));

  function changed() {
    state.x = limit(state.x);
    state.y = limit(state.y);
    reset.textContent = `${Math.round(100 * state.scale)} %`;
    reset.disabled = out.disabled = state.scale === 1;
    into.disabled = state.scale === MAX_SCALE;
    target.classList.toggle("pannable", state.scale > 1);
    onChange();
  }

  /** Zoom by a factor; the content at a place stays there. */
  function zoom(factor, [u, v] = [0.5, 0.5]) {
    const scale = Math.min(MAX_SCALE, Math.max(1, state.scale * factor)), ratio = scale / state.scale;
    Object.assign(state, { scale, x: u - (u - state.x) * ratio, y: v - (v - state.y) * ratio });
    changed();
  }
  function pan(dx, dy) {
    state.x += dx;
    state.y += dy;
    changed();
  }
  const clear = () => { Object.assign(state, { scale: 1, x: 0, y: 0 }); changed(); };
  const place = ([x, y]) => { const box = area(); return [(x - box.left) / box.width, (y - box.top) / box.height]; };

  target.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode ? 16 : 1);
    zoom(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.0015)), place([event.clientX, event.clientY])); // ctrl: a pinch
  }, { passive: false });
  target.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    target.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    spread = 0;
    if (pointers.size === 1) { moved = 0; origin = [event.clientX, event.clientY]; }
  });
  target.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const now = [event.clientX, event.clientY];
    pointers.set(event.pointerId, now);
    moved = Math.max(moved, Math.hypot(now[0] - origin[0], now[1] - origin[1]));
    if (pointers.size === 2) return pinch();
    if (state.scale === 1 || moved < CLICK || !canPan(event)) return;
    const box = area();
    pan((now[0] - last[0]) / box.width, (now[1] - last[1]) / box.height);
  });
  function pinch() {
    const [[ax, ay], [bx, by]] = pointers.values(), distance = Math.hypot(ax - bx, ay - by);
    moved = CLICK;
    if (spread && distance) zoom(distance / spread, place([(ax + bx) / 2, (ay + by) / 2]));
    spread = distance;
  }
  for (const type of ["pointerup", "pointercancel"]) {
    target.addEventListener(type, (event) => { pointers.delete(event.pointerId); spread = 0; });
  }
  target.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = { ArrowLeft: [KEY_STEP, 0], ArrowRight: [-KEY_STEP, 0], ArrowUp: [0, KEY_STEP], ArrowDown: [0, -KEY_STEP] }[event.key];
    if (event.key === "+" || event.key === "=") zoom(KEY_FACTOR);
    else if (event.key === "-") zoom(1 / KEY_FACTOR);
    else if (event.key === "0") clear();
    else if (arrow && state.scale > 1 && canPan(event)) pan(...arrow);
    else return;
    event.preventDefault();
  });
  into.onclick = () => zoom(KEY_FACTOR);
  out.onclick = () => zoom(1 / KEY_FACTOR);
  reset.onclick = clear;

  return {
    state, clear,
    get isPinch() { return pointers.size > 1; },
    /** Whether the last press was a drag, so its click does not select. */
    get wasDrag() { return moved >= CLICK; },
  };
}

/** Return the buttons of a stage. */
export const zoomControls = (stage) => $(".zoom", stage);
