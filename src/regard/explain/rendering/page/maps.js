// The explanations: bytes turned back into weights, shares of the scale, colours.
const DATA = JSON.parse(document.getElementById("data").textContent);
const STEPS = 255;
const dark = matchMedia("(prefers-color-scheme: dark)");
let TABLE = table();

// Colours from all against to all for, in equal steps, as flat red, green, blue.
function table() {
  const { against, for: pro } = DATA.palette[dark.matches ? "dark" : "light"];
  const stops = [...against.slice(1).reverse(), ...pro].map((code) => [1, 3, 5].map((at) => parseInt(code.slice(at, at + 2), 16)));
  const found = new Uint8Array((2 * STEPS + 1) * 3);
  for (let step = 0; step <= 2 * STEPS; step++) {
    const at = (step / (2 * STEPS)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    for (let part = 0; part < 3; part++) found[step * 3 + part] = Math.round(stops[low][part] + (stops[low + 1][part] - stops[low][part]) * (at - low));
  }
  return found;
}

const place = (share) => Math.round((Math.max(-1, Math.min(1, share)) + 1) * STEPS) * 3;
const colour = (share) => `rgb(${TABLE.subarray(place(share), place(share) + 3).join(" ")})`;
function ink(share) {
  const [red, green, blue] = TABLE.subarray(place(share));
  return 0.3 * red + 0.59 * green + 0.11 * blue > 128 ? "#1f2933" : "#ffffff";
}

// Whole numbers of one or two bytes, the low byte first; signs are counted from the middle.
function whole(stored) {
  const found = bytes(stored.bytes);
  return stored.wide ? new Uint16Array(found.buffer) : found;
}
function bytes(text) {
  const raw = atob(text);
  const found = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) found[at] = raw.charCodeAt(at);
  return found;
}

// What is text first, what is no text after it.
function ordered(axis) {
  const apart = new Set(axis.special);
  const all = axis.units.map((_, number) => number);
  return { order: [...all.filter((n) => !apart.has(n)), ...axis.special], text: all.length - apart.size, apart };
}

class Weights {
  constructor(stored) {
    Object.assign(this, stored);
    this.outputs = DATA.axes[stored.outputs];
    this.inputs = DATA.axes[stored.inputs];
    this.probabilities = DATA.probabilities[stored.probabilities];
    this.rows = ordered(this.outputs);
    this.columns = ordered(this.inputs);
    this.width = this.inputs.units.length;
    this.height = this.outputs.units.length;
    this.decimals = Math.max(0, 1 - Math.floor(Math.log10(this.scale * 0.9999)));
  }
  get values() { return (this.decoded ??= whole(this.weights)); }
  get errors() { return (this.decodedErrors ??= whole(this.error)); }
  weight(row, column) {
    const range = this.weights.ranges[this.columns.apart.has(column) ? 1 : 0];
    return ((this.values[row * this.width + column] - this.weights.zero) / this.weights.steps) * range;
  }
  share(row, column) { return this.weight(row, column) / this.scale; }
  mean(column) {
    const text = this.rows.order.slice(0, this.rows.text || this.height);
    return text.reduce((sum, row) => sum + this.weight(row, column), 0) / Math.max(1, text.length);
  }
  figure(value) {
    const told = this.decimals > 6 || this.scale >= 1e6 ? value.toExponential(1) : value.toFixed(this.decimals);
    return (this.signed && value > 0 ? "+" : "") + told.replace("-", "−");
  }
  told(row, column) {
    const value = row === null ? this.mean(column) : this.weight(row, column);
    if (!this.error || row === null) return this.figure(value);
    const range = this.error.ranges[this.columns.apart.has(column) ? 1 : 0];
    const half = (this.errors[row * this.width + column] / this.error.steps) * range;
    return `${this.figure(value)} ± ${this.figure(half).replace("+", "")}`;
  }
  // One pixel for each cell, in the order drawn.
  image() {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, this.width);
    canvas.height = Math.max(1, this.height);
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(canvas.width, canvas.height);
    const { values, width } = this, { zero, steps, ranges } = this.weights;
    const factors = this.columns.order.map((n) => ranges[this.columns.apart.has(n) ? 1 : 0] / this.scale / steps);
    let at = 0;
    for (const row of this.rows.order) {
      for (let x = 0; x < width; x++) {
        const from = place((values[row * width + this.columns.order[x]] - zero) * factors[x]);
        pixels.data[at] = TABLE[from]; pixels.data[at + 1] = TABLE[from + 1]; pixels.data[at + 2] = TABLE[from + 2];
        pixels.data[at + 3] = 255;
        at += 4;
      }
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }
}

const label = (axis, number) => axis.units[number][1].trim() || "␣";
const short = (text) => { const letters = [...text]; return letters.length > 26 ? letters.slice(0, 25).join("") + "…" : text; };
