// Painting the image view: the pixels of each look, and the palette.

import { $, copyText, hex, make, percent } from "./ui.js";

const LISTED_COLOURS = 48;

export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** Return the fill of each piece as a pixel of the canvas. */
function fills(look, { table, colours }, chosen, dark) {
  const fill = new Uint32Array(table.length), paper = dark ? 0xff1e1816 : 0xfffafdfd;
  for (let id = 0; id < table.length; id++) {
    const k = 3 * table[id], dim = chosen.size && !chosen.has(table[id]);
    if (!table[id]) fill[id] = 0;
    else if (look === "regions") fill[id] = ((dim ? 0x38000000 : 0xff000000) | (colours[k + 2] << 16) | (colours[k + 1] << 8) | colours[k]) >>> 0;
    else if (look === "outline") fill[id] = chosen.size && !dim ? (dark ? 0xff6a4a1e : 0xfff2e6cf) : paper;
    else fill[id] = dim ? 0x98000000 : 0;
  }
  return fill;
}

/** Paint the pixels of a look into `out`; lines are `step` pixels wide. */
export function paintPixels(out, look, shown, chosen, step) {
  const { ids, table } = shown, { width, height } = ids, dark = isDark();
  const fill = fills(look, shown, chosen, dark), label = new Uint32Array(table), ink = dark ? 0xffe6e4e2 : 0xff2a2420;
  const line = look === "overlay" ? 0xffffffff : look === "outline" ? ink : 0;
  const down = step * width, seam = look === "overlay";
  for (let y = 0, i = 0; y < height; y++) {
    const hasBelow = y + step < height, hasAbove = y >= step;
    for (let x = 0; x < width; x++, i++) {
      const id = ids[i], mine = label[id];
      const edge = (x + step < width && label[ids[i + step]] !== mine) || (hasBelow && label[ids[i + down]] !== mine);
      if (edge && line) out[i] = line;
      else if (seam && ((x >= step && label[ids[i - step]] !== mine) || (hasAbove && label[ids[i - down]] !== mine))) out[i] = 0xb0000000;
      else out[i] = fill[id];
    }
  }
}

/** Return the colours of the palette with their shares, most frequent first. */
export function paletteOf({ colours, counts, pixels, palette, palette_counts: sizes }) {
  const [from, number, first] = palette ? [palette, sizes, 0] : [colours, counts, 1];
  return [...number.subarray(first)].map((count, i) => {
    const k = 3 * (i + first);
    return { colour: hex(from[k], from[k + 1], from[k + 2]), share: count / pixels };
  });
}

/** Show the palette as a bar and as swatches; a click copies the code of a colour. */
export function drawPalette(box, shown, onCopy) {
  const all = paletteOf(shown), listed = all.slice(0, LISTED_COLOURS);
  const bar = make("div", { className: "bar", aria: { hidden: true } }, ...listed.map(({ colour, share }) => make("i", { style: { flex: `${share} 0 0`, background: colour } })));
  const cards = listed.map(({ colour, share }) => make("li", {}, make("button", { title: `Copy ${colour}`, dataset: { colour }, onclick: async () => { await copyText(colour); onCopy(colour); } },
    make("i", { style: { background: colour } }), make("b", { textContent: colour }), make("em", { textContent: percent(share) }))));
  const rest = all.length - listed.length;
  const more = rest ? [make("p", { className: "hint", textContent: `and ${rest.toLocaleString("en")} more; set Number of colours to merge them` })] : [];
  const place = box.scrollTop, focused = $("button:focus", box)?.dataset.colour;
  box.replaceChildren(bar, make("ol", {}, ...cards), ...more);
  box.scrollTop = place;
  if (focused) $(`button[data-colour="${focused}"]`, box)?.focus();
}
