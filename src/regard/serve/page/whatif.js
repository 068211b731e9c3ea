// What if: heads off, a weight set, another word. Before beside after, with the change in probability.
import { Newest, ask } from "./api.js";
import { calm, clear, dropper, make } from "./dom.js";
import { change, state } from "./state.js";
import { percent, say, signed } from "./strings.js";

const SEPARATOR = "~";

// Heads that are off, as the address has them: attention, layer and head, by dots.
export const offHeads = () => (state.off ?? "").split(SEPARATOR).filter(Boolean).map((one) => one.split(".").map(Number));
export const isOff = (...place) => offHeads().some((one) => one.join() === place.join());

export function toggleHead(...place) {
  const others = offHeads().filter((one) => one.join() !== place.join());
  const next = others.length === offHeads().length ? [...others, place] : others;
  change({ off: next.map((one) => one.join(".")).join(SEPARATOR) || undefined });
}

// A weight that is set: attention, layer, head (or "mean": all of them), row and column in pieces, and the weight.
export function setCell() {
  const [attention, layer, head, row, column, value] = (state.cell ?? "").split(SEPARATOR);
  if (value === undefined) return null;
  return { attention: Number(attention), layer: Number(layer), head: head === "mean" ? null : Number(head), row: Number(row), column: Number(column), value: Number(value) };
}
export const putCell = (...parts) => change({ cell: parts.join(SEPARATOR) });

export function otherInput() {
  try { return state.other ? JSON.parse(state.other) : null; } catch { return null; }
}

export class WhatIf {
  constructor(bench) {
    this.bench = bench;
    this.newest = new Newest();
    this.chips = make("div", { class: "chips" });
    this.result = make("div", { class: "compare", "aria-live": "polite" });
    this.element = make("section", { class: "card whatif", "aria-labelledby": "whatif-title" },
      make("h3", { id: "whatif-title", textContent: say("whatif.title") }),
      make("p", { class: "soft", textContent: say("whatif.how") }), this.chips, this.result);
    this.later = calm(() => this.run(), 180);
  }
  // The attentions' taps come with the explorer's answer.
  show(explored) { this.explored = explored; this.update(); }
  update() {
    const wanted = this.wanted();
    this.list();
    this.element.classList.toggle("empty", !wanted);
    if (wanted && this.explored) this.later();
    else { this.later.stop(); this.newest.stop(); clear(this.result); }
  }
  tap(attention, layer) { return this.explored?.attentions[attention]?.taps[layer]; }
  wanted() {
    const heads = offHeads().map(([attention, layer, head]) => [this.tap(attention, layer), head]).filter(([tap]) => tap);
    const cell = setCell(), other = otherInput(), body = {};
    if (heads.length) body.heads_off = heads;
    if (cell && this.tap(cell.attention, cell.layer)) body.cell = [this.tap(cell.attention, cell.layer), cell.row, cell.column, cell.value, cell.head];
    if (other || state.pieces) body.source = { ...this.bench.plain(), ...other, ...(state.pieces ? { prefix_pieces: state.pieces } : {}) };
    return Object.keys(body).length ? body : null;
  }
  list() {
    const chip = (text, drop) => make("span", { class: "chip" }, text, dropper(drop, say("whatif.undo", { text })));
    const heads = offHeads().map((place) => chip(say("whatif.off", { layer: place[1] + 1, head: place[2] + 1 }), () => toggleHead(...place)));
    const cell = setCell(), other = otherInput();
    clear(this.chips, heads,
      cell && chip(say("whatif.cell", { layer: cell.layer + 1, head: cell.head === null ? say("head.all") : cell.head + 1, value: cell.value.toFixed(2) }), () => change({ cell: undefined })),
      other && chip(say("whatif.other", { text: Object.values(other).join(" ") }), () => change({ other: undefined })),
      this.bench.prefix && chip(say("whatif.prefix", { text: this.bench.prefix }), () => this.bench.begin()));
  }
  async run() {
    const body = this.wanted();
    if (!body) return;
    this.result.setAttribute("aria-busy", "true");
    try {
      const found = await this.newest.run((signal) => ask("/v1/whatif", { model: this.bench.model.id, input: this.bench.plain(), ...body }, signal));
      if (found) clear(this.result, compared(found));
    } catch (error) { clear(this.result, make("p", { class: "problem", role: "alert", textContent: error.message })); }
    if (!this.newest.busy) this.result.removeAttribute("aria-busy");
  }
}

function compared(found) {
  const { before, after, changes, change: total, note } = found;
  return [
    side(say("whatif.before"), before, changes),
    side(say("whatif.after"), after, null, before),
    make("p", { class: "verdict" }, total === null ? "" : verdict(total), note ? make("span", { class: "soft", textContent: ` ${note}` }) : null),
  ];
}

const verdict = (total) => [
  make("span", { textContent: `${say("whatif.total")} ` }),
  make("b", { textContent: `× ${Math.exp(total) >= 0.01 && Math.exp(total) < 1000 ? Math.exp(total).toFixed(2) : Math.exp(total).toExponential(1)}` }),
  make("span", { class: "soft", textContent: ` (Δ log p ${signed(total)})` }),
];

// A side: its source and its output, each unit with its probability, and how the change moves it.
function side(title, told, changes, before = null) {
  const units = told.outputs.map((text, at) => unit(text, told.probabilities[at], changes?.[at], before && before.outputs[at] !== text));
  return make("div", { class: "side" }, make("h4", { textContent: title }), make("p", { class: "soft source", textContent: told.source }), make("div", { class: "units" }, units));
}

function unit(text, probability, moved, fresh) {
  const share = make("small", { textContent: percent(probability) });
  const by = moved === undefined || Math.abs(moved) < 0.005 ? null : make("small", { class: moved < 0 ? "less" : "more", textContent: `${moved < 0 ? "▼" : "▲"} ${signed(moved)}` });
  return make("span", { class: `unit${fresh ? " fresh" : ""}` }, make("b", { textContent: text.trim() || "␣" }), make("i", { class: "sure", style: { "--share": probability } }), share, by);
}
