// What is pointed at, in words and numbers: a row, a column, or a cell with its formula and a slider to change it.
import { Newest, ask } from "./api.js";
import { button, calm, clear, make } from "./dom.js";
import { labelOf, strongestPieces } from "./maps.js";
import { percent, say } from "./strings.js";
import { putCell, setCell } from "./whatif.js";

const MOST = 5;

export class Readout {
  constructor(bench, on) {
    Object.assign(this, { bench, on, newest: new Newest() });
    this.told = make("div", { class: "told", "aria-live": "polite", "aria-atomic": "true" });
    this.formula = make("div", { class: "formula" });
    this.others = make("div", { class: "others" });
    this.element = make("div", { class: "readout" }, this.told, this.formula, this.others);
    this.later = calm((place) => this.compute(place), 120);
    this.slide = calm((...parts) => putCell(...parts), 120);
  }
  show(mark, view) {
    const { row, column } = mark, { map } = view;
    if (row === null && column === null) clear(this.told, make("p", { class: "soft", textContent: say("readout.hint") }));
    else if (row !== null && column !== null) clear(this.told, this.cell(map, row, column));
    else clear(this.told, this.list(map, row, column));
    this.alternatives(view, row);
    this.ask(mark, view);
  }
  cell(map, row, column) {
    const weight = map.at(row, column);
    return make("p", {}, make("b", { textContent: labelOf(map.rows[row]) }), ` ${say(map.answer ? "readout.counts" : "readout.looks")} `, make("b", { textContent: labelOf(map.columns[column]) }), make("span", { class: "number", textContent: ` ${weight.toFixed(3)}` }));
  }
  list(map, row, column) {
    const mine = row !== null ? map.rows[row] : map.columns[column], others = row !== null ? map.columns : map.rows;
    const title = say(`readout.${row !== null ? "row" : "column"}${map.answer ? "Counts" : ""}`, { word: labelOf(mine) });
    const top = map.ranked(row, column).slice(0, MOST).filter(([, weight]) => weight !== 0);
    const items = top.map(([at, weight]) => make("li", {}, make("span", { textContent: labelOf(others[at]) }), make("i", { class: weight < 0 ? "bar against" : "bar", style: { "--share": Math.abs(weight) / map.scale } }), make("span", { class: "number", textContent: weight.toFixed(3) })));
    return [make("p", { textContent: title }), make("ol", { class: "bars" }, items)];
  }
  // What else could stand at the word that is chosen, piece by piece.
  alternatives(view, row) {
    const { explored, map, rowsAreOutputs } = view, known = explored?.answer.alternatives;
    if (!known || row === null || !rowsAreOutputs) return clear(this.others);
    const [first, end] = map.pieces ? map.pieces.rows[row] : [row, row + 1];
    const lines = known.slice(first, end).map((found, at) => this.place(explored, first + at, found));
    return clear(this.others, make("h4", { textContent: say("alternatives.title") }), lines);
  }
  place(explored, at, found) {
    const written = explored.outputs.units[at];
    const chips = found.map((one) => button("", () => this.on.alternative(at, one), { class: `alternative${one.text.trim() === written.text.trim() ? " mine" : ""}`, disabled: one.piece === undefined || one.ends, title: one.piece === undefined || one.ends ? null : say("alternatives.take") }));
    chips.forEach((chip, number) => chip.append(make("span", { textContent: labelOf(found[number]) }), make("small", { textContent: percent(found[number].probability) })));
    return make("div", { class: "chips", role: "group", "aria-label": say("alternatives.at", { word: labelOf(written) }) }, chips);
  }
  ask({ row, column, pinned }, view) {
    this.later.stop();
    const key = [row, column, pinned, view.chosen.attention, view.chosen.layer, view.chosen.head, view.units].join();
    if (row === null || column === null || !view.explored || view.map.answer) { this.newest.stop(); this.key = null; return clear(this.formula); }
    if (key === this.key && view.explored === this.explored) return null;
    Object.assign(this, { key, explored: view.explored });
    clear(this.formula, pinned ? this.slider(view, row, column) : null);
    return this.later({ view, row, column });
  }
  // Of several heads the one that looks most; of a word its strongest pieces.
  place_({ view, row, column }) {
    const [pieceRow, pieceColumn] = strongestPieces(view.map, row, column), { attention, layer, head } = view.chosen;
    const found = view.explored.attentions[attention], at = pieceRow * found.columns + pieceColumn;
    const heads = Array.from({ length: found.headsOf(layer) }, (_, one) => found.plane(layer, one)[at] / 255);
    return { row: pieceRow, column: pieceColumn, attention: found, layer, heads, head: head === "mean" ? heads.indexOf(Math.max(...heads)) : Number(head) };
  }
  async compute(given) {
    const at = this.place_(given);
    const body = { model: this.bench.model.id, input: this.bench.given(), pieces: this.explored.answer.pieces, attention: at.attention.name, layer: at.layer, head: at.head, row: at.row, column: at.column };
    try {
      const found = await this.newest.run((signal) => ask("/v1/explore/cell", body, signal));
      if (found) this.formula.prepend(...this.told_(found, at, given.view));
    } catch (error) { this.formula.prepend(make("p", { class: "soft small", textContent: error.message })); }
  }
  told_(found, at, view) {
    const { map, chosen } = view, lines = [make("p", { class: "mono", textContent: `${found.formula}` }), make("p", { class: "mono strong", textContent: found.text })];
    const fine = map.pieces ? say("cell.pieces", { row: labelOf(map.pieces.map.rows[at.row]), column: labelOf(map.pieces.map.columns[at.column]) }) : "";
    const mean = chosen.head === "mean" && at.heads.length > 1 ? say("cell.heads", { head: at.head + 1, all: at.heads.map((weight) => weight.toFixed(2)).join("  ") }) : "";
    return [...lines, fine || mean ? make("p", { class: "soft small", textContent: [mean, fine].filter(Boolean).join(" ") }) : null].filter(Boolean);
  }
  slider(view, row, column) {
    const at = this.place_({ view, row, column }), { attention, layer, head } = view.chosen, set = setCell();
    const mine = set && set.row === at.row && set.column === at.column && set.layer === layer;
    const value = mine ? set.value : view.map.at(row, column);
    const number = make("output", { class: "number", textContent: value.toFixed(2) });
    const field = make("input", { type: "range", min: 0, max: 1, step: 0.01, value: Math.min(1, Math.max(0, value)), "aria-label": say("cell.set") });
    field.addEventListener("input", () => { number.textContent = Number(field.value).toFixed(2); this.slide(attention, layer, head, at.row, at.column, field.value); });
    return make("label", { class: "slide" }, make("span", { textContent: say("cell.set") }), field, number);
  }
}
