// Colours that people with any kind of colour vision can tell apart: blue for, orange against, as in every picture of
// Regard. They run in equal steps of lightness from the colour of nothing.
const STOPS = {
  light: { for: ["#f3f6f9", "#c1d9ef", "#72aedd", "#2b77b7", "#0b3a6e"], against: ["#f3f6f9", "#fad7ad", "#f0a150", "#c5640f", "#773405"] },
  dark: { for: ["#1a222c", "#1d4468", "#2b77b7", "#78b7ea", "#e2f1ff"], against: ["#1a222c", "#57350f", "#b0620f", "#f0a850", "#ffe8c9"] },
};
const STEPS = 255;
const INKS = { dark: "#14202c", light: "#ffffff" };
let tables = null;

export const theme = () => document.documentElement.dataset.theme;
const parts = (code) => [1, 3, 5].map((at) => parseInt(code.slice(at, at + 2), 16));

function between(stops, share) {
  const at = share * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2), rest = at - low;
  return stops[low].map((channel, number) => Math.round(channel + (stops[low + 1][number] - channel) * rest));
}

// One table from all against to all for, as colours of pixels and as parts.
function table(kind) {
  const sides = Object.fromEntries(Object.entries(STOPS[kind]).map(([side, stops]) => [side, stops.map(parts)]));
  const all = Array.from({ length: 2 * STEPS + 1 }, (_, step) => between(step < STEPS ? sides.against : sides.for, Math.abs(step - STEPS) / STEPS));
  return { all, pixels: Uint32Array.from(all, ([red, green, blue]) => 0xff000000 | (blue << 16) | (green << 8) | red) };
}

const now = () => {
  if (tables?.kind !== theme()) tables = { kind: theme(), ...table(theme()) };
  return tables;
};
const place = (share) => Math.round((Math.max(-1, Math.min(1, share)) + 1) * STEPS);

export const pixel = (share) => now().pixels[place(share)];
export const pixels = () => ({ table: now().pixels, steps: STEPS });
export const shade = (share) => `rgb(${now().all[place(share)].join(" ")})`;
export function ink(share) {
  const [red, green, blue] = now().all[place(share)];
  return 0.3 * red + 0.59 * green + 0.11 * blue > 128 ? INKS.dark : INKS.light;
}

// A colour of the style sheet, and the font; asked for once a theme, since asking makes the browser lay out everything.
const asked = { kind: null, found: new Map() };
function once(name, find) {
  if (asked.kind !== theme()) Object.assign(asked, { kind: theme(), found: new Map() });
  if (!asked.found.has(name)) asked.found.set(name, find());
  return asked.found.get(name);
}
export const named = (name) => once(name, () => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
export const family = () => once("family", () => getComputedStyle(document.body).fontFamily);

// Labels get a colour each, in order; names stand beside them, so that nothing hangs on colour alone.
export const KINDS = 8;
export const kindOf = (labels, label) => labels.indexOf(label) % KINDS;
