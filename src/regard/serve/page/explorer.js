// The attention explorer: ribbons, matrix, thumbnails and words answer one another; beam tree and what-if beside them.
import { Newest, ask } from "./api.js";
import { button, characters, clear, make, part, rebuilt } from "./dom.js";
import { exporting } from "./exporting.js";
import { Grid } from "./grid.js";
import { legend } from "./legends.js";
import { Explored, attributed } from "./maps.js";
import { Matrix } from "./matrix.js";
import { methodChooser, usable } from "./methods.js";
import { Readout } from "./readout.js";
import { Ribbons } from "./ribbons.js";
import { change, state } from "./state.js";
import { retold, say } from "./strings.js";
import { Tree } from "./tree.js";
import { attentionChooser, chosen, titles } from "./choosing.js";
import { WhatIf, isOff, toggleHead } from "./whatif.js";

const WEIGHTS = "weights", WITHOUT = "integrated_gradients";
const NOWHERE = { row: null, column: null };

export class Explorer {
  constructor(bench) {
    this.bench = bench;
    this.asking = new Newest();
    this.explaining = new Newest();
    this.hovered = NOWHERE;
    this.previewed = null;
    const on = { point: (row, column) => this.point(row, column), leave: () => this.point(null, null), pin: (row, column) => this.pin(row, column), step: (row, column) => this.pin(row, column, true), rewrite: (column, text) => this.rewrite(column, text) };
    this.ribbons = new Ribbons(on);
    this.matrix = new Matrix(on);
    this.grid = new Grid({ choose: (layer, head) => this.choose(layer, head), preview: (layer, head) => this.preview({ layer, head }), unpreview: () => this.preview(null), power: (layer, head) => toggleHead(this.chosen.attention, layer, head) });
    this.readout = new Readout(bench, { alternative: (at, one) => this.alternative(at, one) });
    this.tree = new Tree({ take: (text, pieces) => bench.begin(text, pieces) });
    this.whatif = new WhatIf(bench);
    this.build();
  }
  build() {
    this.told = make("p", { class: "soft small", role: "status" });
    this.methods = make("div", { class: "methods" });
    this.which = make("div", { class: "which" });
    this.scale = make("div");
    const zoom = make("div", { class: "zoom", role: "group", "aria-label": say("matrix.zoom") }, button("−", () => this.matrix.enlarge(1 / 1.6), { "aria-label": say("matrix.smaller") }), button("+", () => this.matrix.enlarge(1.6), { "aria-label": say("matrix.larger") }));
    this.gridCard = make("div", { class: "card" }, heading("grid.title"), this.which, make("div", { class: "scroll" }, this.grid.element), make("p", { class: "soft small", textContent: say("grid.how") }));
    this.numbers = make("div", { class: "card" }, heading("readout.title"), this.readout.element);
    this.columns = [
      make("div", { class: "column" }, make("div", { class: "card" }, heading("ribbons.title"), this.ribbons.element), this.gridCard),
      make("div", { class: "column" }, make("div", { class: "card" }, make("div", { class: "row between" }, heading("matrix.title"), zoom), this.matrix.element, this.scale)),
    ];
    this.views = make("div", { class: "views" }, this.columns);
    this.treeCard = make("section", { class: "card", hidden: true }, heading("tree.title"), make("p", { class: "soft small", textContent: say("tree.how") }), this.treeLegend(), this.tree.element);
    this.waiting = make("p", { class: "card soft waiting", textContent: say("explorer.waiting") });
    this.body = make("div", { class: "explored", hidden: true }, this.methods, this.views, this.treeCard, this.whatif.element);
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.element = make("section", { class: "explorer", "aria-label": say("explorer.title") },
      make("div", { class: "row between head" }, make("h2", { textContent: say("explorer.title") }), exporting(() => this.request(), (text) => { this.told.textContent = text; })), this.told, this.problem, this.waiting, this.body, keys());
  }
  treeLegend() {
    return make("p", { class: "legend-line small" }, ["won", "kept", "finished", "lost"].map((name) => make("span", {}, make("i", { class: `swatch ${name}`, "aria-hidden": "true" }), say(`tree.${name}`))));
  }
  // Asks the service what was looked at for what the page shows now.
  async ask() {
    this.element.setAttribute("aria-busy", "true");
    try {
      const found = await this.asking.run((signal) => ask("/v1/explore", { model: this.bench.model.id, ...this.bench.asked() }, signal));
      if (found) this.take(new Explored(found));
    } catch (error) { this.fail(error); }
    if (!this.asking.busy) this.element.removeAttribute("aria-busy");
  }
  fail(error) {
    this.waiting.hidden = true;
    this.problem.textContent = error.message;
    this.problem.hidden = false;
    this.body.hidden = !this.explored;
    this.body.classList.add("stale");
  }
  stop() { this.asking.stop(); this.explaining.stop(); }
  take(explored) {
    this.explored = explored;
    this.attributed = new Map();
    this.problem.hidden = this.waiting.hidden = true;
    this.body.hidden = false;
    this.body.classList.remove("stale");
    this.hovered = NOWHERE;
    this.bench.explored(explored);
    this.treeCard.hidden = !explored.answer.tree?.nodes.length;
    if (!this.treeCard.hidden) this.tree.show(explored.answer.tree);
    this.whatif.show(explored);
    this.told.textContent = (explored.answer.notes ?? []).map(retold).join(" ");
    this.refresh();
    this.warm(explored);
  }
  // Heads that may be pointed at next are made ready while nothing else is to do.
  warm(explored) {
    const { layers, heads } = explored.attentions[this.chosen.attention] ?? { layers: 0, heads: 0 };
    const places = Array.from({ length: layers * heads }, (_, at) => [Math.floor(at / heads), at % heads]);
    const next = (left) => {
      while (places.length && left.timeRemaining() > 5 && this.explored === explored) this.ready(explored, ...places.shift());
      if (places.length && this.explored === explored) requestIdleCallback(next);
    };
    if (window.requestIdleCallback) requestIdleCallback(next);
  }
  ready(explored, layer, head) {
    const attention = explored.attentions[this.chosen.attention];
    if (head < attention.headsOf(layer)) this.ribbons.ready(explored.map(this.chosen.attention, layer, head, this.units));
  }
  get names() { return usable(this.bench.model, this.explored?.attentions.length > 0); }
  get method() {
    const usual = this.names.includes(WEIGHTS) ? WEIGHTS : WITHOUT;
    return this.names.includes(state.method) ? state.method : usual;
  }
  get units() { return state.units === "pieces" ? "pieces" : "words"; }
  get chosen() { return { ...chosen(this.explored), ...this.previewed }; }
  get live() { return (this.method === WEIGHTS || Boolean(this.previewed)) && this.explored?.attentions.length > 0; }
  // Draws everything for what is chosen; another method's map is asked for first.
  refresh() {
    if (!this.explored) return;
    rebuilt(this.methods, methodChooser(this.bench.model, this.names, this.method, this.units, this.checks()));
    rebuilt(this.which, this.explored.attentions.length ? attentionChooser(this.explored, this.chosen) : null);
    this.gridCard.hidden = !this.explored.attentions.length;
    const column = this.columns[this.gridCard.hidden ? 0 : 1];
    if (this.numbers.parentElement !== column) column.append(this.numbers);
    if (this.live) this.show(this.explored.map(this.chosen.attention, this.chosen.layer, this.chosen.head, this.units));
    else this.explain();
  }
  checks() { return this.live ? this.explored.attentions[this.chosen.attention].check : this.map?.answer?.check; }
  async explain() {
    const name = `${this.method}/${this.units}`, mine = this.explored;
    if (!this.attributed.has(name)) {
      this.body.classList.add("stale");
      try {
        const found = await this.explaining.run((signal) => ask("/v1/explain", this.request(), signal));
        if (!found || this.explored !== mine) return;
        this.attributed.set(name, attributed(found));
      } catch (error) { this.fail(error); return; }
    }
    this.problem.hidden = true;
    this.show(this.attributed.get(name));
  }
  request() {
    const { attention, layer, head } = this.chosen, found = this.explored?.attentions[attention], pieces = this.explored?.answer.pieces;
    const input = { ...this.bench.given(), ...(pieces ? { output_pieces: JSON.stringify(pieces) } : {}) };
    const body = { model: this.bench.model.id, input, method: this.method, words: this.units === "words" };
    if (this.method === WEIGHTS && found) body.settings = { kind: found.kind, queries: found.queries, layer, head };
    return body;
  }
  show(map) {
    this.body.classList.remove("stale");
    const other = this.map !== map;
    this.map = map;
    if (other) clear(this.scale, legend(map));
    this.ribbons.show(map, { editable: (column) => this.editable(column), titles: titles(this.live ? this.explored.attentions[this.chosen.attention] : null) });
    this.matrix.show(map);
    if (this.explored.attentions.length) this.grid.show(this.explored.attentions[this.chosen.attention], { ...this.chosen, shown: this.live }, (layer, head) => isOff(this.chosen.attention, layer, head));
    this.bench.shade(map);
    this.mark();
  }
  get pinned() {
    const [row, column] = (state.pin ?? "").split(".").map((one) => (one === undefined || one === "" ? null : Number(one)));
    const fits = (at, count) => (Number.isInteger(at) && at >= 0 && at < count ? at : null);
    return { row: fits(row, this.map?.height ?? 0), column: fits(column ?? null, this.map?.width ?? 0) };
  }
  get focus() {
    const pinned = this.pinned, held = pinned.row !== null || pinned.column !== null;
    return { row: pinned.row ?? this.hovered.row, column: pinned.column ?? this.hovered.column, pinned: held };
  }
  mark(scroll = false) {
    if (!this.map) return;
    const focus = this.focus;
    this.ribbons.mark(focus, scroll);
    this.matrix.mark(focus, scroll);
    this.grid.mark(focus, this.map);
    this.readout.show(focus, { map: this.map, explored: this.explored, chosen: this.chosen, units: this.units, rowsAreOutputs: this.rowsAreOutputs });
  }
  get rowsAreOutputs() { return !this.live || this.explored.attentions[this.chosen.attention].queries === "outputs"; }
  point(row, column) {
    if (this.hovered.row === row && this.hovered.column === column) return;
    this.hovered = { row, column };
    this.mark();
  }
  // A click pins; the same click again lets go.
  pin(row, column, keep = false) {
    const now = this.pinned, same = now.row === row && now.column === column;
    this.hovered = NOWHERE;
    change({ pin: same && !keep ? undefined : `${row ?? ""}.${column ?? ""}` });
    this.mark(keep);
  }
  release() {
    this.hovered = NOWHERE;
    this.previewed = null;
    change({ pin: undefined });
    if (this.explored) this.refresh();
  }
  // The next or the last output word.
  step(by) {
    if (!this.map) return;
    const row = this.focus.row, last = this.map.height - 1;
    this.pin(row === null ? (by > 0 ? 0 : last) : Math.max(0, Math.min(last, row + by)), null, true);
  }
  preview(place) {
    if (!this.explored?.attentions.length || (place === null && this.previewed === null)) return;
    this.previewed = place;
    if (this.live) this.show(this.explored.map(this.chosen.attention, this.chosen.layer, this.chosen.head, this.units));
    else this.explain();
  }
  choose(layer, head) {
    this.previewed = null;
    change({ layer: String(layer), head: String(head), method: undefined });
    this.refresh();
  }
  // The output up to a place and then another piece: the rest is written anew.
  alternative(at, one) {
    const { text, units } = this.explored.outputs, letters = characters(text), start = units[at].span?.[0] ?? letters.length;
    const before = part(letters, 0, start);
    this.bench.begin(before + (one.joins || !before ? "" : " ") + one.text, [...this.explored.answer.pieces.slice(0, at), one.piece]);
  }
  // A word of the source stands in one of the fields; only there it can be changed.
  place(column) {
    const unit = this.map.columns[column];
    if (!unit?.span || unit.special) return null;
    const text = characters(this.explored.inputs.text), [start, end] = unit.span;
    for (const [name, value] of Object.entries(this.bench.input())) {
      const at = this.explored.inputs.text.indexOf(value), offset = at < 0 ? null : characters(this.explored.inputs.text.slice(0, at)).length;
      if (offset !== null && start >= offset && end <= offset + characters(value).length && part(text, start, end)) return { name, value: characters(value), start: start - offset, end: end - offset };
    }
    return null;
  }
  editable(column) { return this.map !== undefined && this.columnsAreInputs && this.place(column) !== null; }
  get columnsAreInputs() { return !this.live || this.explored.attentions[this.chosen.attention].keys === "inputs"; }
  rewrite(column, text) {
    const found = this.place(column);
    if (found) change({ other: JSON.stringify({ [found.name]: part(found.value, 0, found.start) + text + part(found.value, found.end) }) });
  }
}

const heading = (name) => make("h3", { textContent: say(name) });

function keys() {
  const key = (name) => make("kbd", { textContent: name });
  return make("p", { class: "soft small keys-line" }, key("←"), " ", key("→"), ` ${say("keys.step")} · `, key("Enter"), ` ${say("keys.pin")} · `, key("Esc"), ` ${say("keys.clear")} · `, key("F2"), ` ${say("keys.edit")}`);
}
