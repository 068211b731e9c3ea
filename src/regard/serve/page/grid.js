// Every layer and head as a thumbnail; lines in each show the word that is pointed at.
import { POWER, button, clear, icon, make } from "./dom.js";
import { pixels } from "./colours.js";
import { moved } from "./frames.js";
import { say } from "./strings.js";

const SIDE = 52;

export class Grid {
  constructor(on) {
    this.on = on;
    this.element = make("div", { class: "grid", role: "grid", on: { keydown: (event) => this.key(event), pointerleave: () => on.unpreview() } });
  }
  // `off` tells whether a head is switched off; `attention` has the bytes of all of them.
  show(attention, chosen, off) {
    if (this.attention !== attention || this.theme !== document.documentElement.dataset.theme) this.fill(attention);
    for (const [name, cell] of this.cells) {
      const [layer, head] = name.split("/");
      const mine = Number(layer) === chosen.layer && head === String(chosen.head);
      cell.thumb.setAttribute("aria-pressed", mine);
      cell.thumb.tabIndex = mine || (!chosen.shown && cell === this.cells.values().next().value) ? 0 : -1;
      if (!cell.power) continue;
      const isOff = off(Number(layer), Number(head));
      cell.power.setAttribute("aria-pressed", isOff);
      cell.box.classList.toggle("off", isOff);
    }
  }
  fill(attention) {
    Object.assign(this, { attention, theme: document.documentElement.dataset.theme, cells: new Map() });
    this.element.setAttribute("aria-label", say("grid.label"));
    this.element.style.setProperty("--columns", attention.heads + (attention.heads > 1 ? 2 : 1));
    const heads = [...(attention.heads > 1 ? ["mean"] : []), ...Array(attention.heads).keys()];
    const titles = heads.map((head) => make("span", { class: "title", role: "columnheader", textContent: head === "mean" ? say("head.mean") : say("grid.head", { head: head + 1 }) }));
    const rows = Array.from({ length: attention.layers }, (_, layer) => this.row(layer, heads));
    clear(this.element, make("div", { class: "line", role: "row" }, make("span", { role: "columnheader", "aria-label": say("grid.layers") }), titles), rows);
  }
  row(layer, heads) {
    const title = make("span", { class: "title", role: "rowheader", textContent: say("grid.layer", { layer: layer + 1 }) });
    return make("div", { class: "line", role: "row" }, title, heads.filter((head) => head === "mean" || head < this.attention.headsOf(layer)).map((head) => this.cell(layer, head)));
  }
  cell(layer, head) {
    const name = say(head === "mean" ? "grid.nameMean" : "grid.name", { layer: layer + 1, head: head + 1 });
    const thumb = button("", () => this.on.choose(layer, head), { class: "thumb", "aria-label": name, title: name, "data-at": `${layer}/${head}` });
    thumb.append(thumbnail(this.attention, layer, head));
    thumb.addEventListener("pointerenter", (event) => { moved(event); this.on.preview(layer, head); });
    thumb.addEventListener("focus", () => { if (thumb.matches(":focus-visible")) this.on.preview(layer, head); });
    thumb.addEventListener("blur", () => this.on.unpreview());
    const power = head === "mean" ? null : button("", () => this.on.power(layer, head), { class: "power", "aria-label": say("grid.off", { name }), title: say("grid.off", { name }) });
    power?.append(icon(...POWER));
    const box = make("div", { class: "cell", role: "gridcell" }, thumb, power);
    this.cells.set(`${layer}/${head}`, { thumb, power, box });
    return box;
  }
  key(event) {
    const at = event.target.dataset?.at?.split("/");
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!at || !step) return;
    event.preventDefault();
    event.stopPropagation();
    const heads = [...(this.attention.heads > 1 ? ["mean"] : []), ...Array(this.attention.heads).keys()].map(String);
    this.cells.get(`${Number(at[0]) + step[0]}/${heads[heads.indexOf(at[1]) + step[1]]}`)?.thumb.focus();
  }
  // Lines where the chosen word's row and column are, in every thumbnail at once.
  mark({ row, column }, map) {
    const middle = (at, count) => (at === null ? "-1" : String((at + 0.5) / count));
    this.element.style.setProperty("--row", middle(row, map.height));
    this.element.style.setProperty("--column", middle(column, map.width));
    this.element.classList.toggle("has-row", row !== null);
    this.element.classList.toggle("has-column", column !== null);
  }
}

// A head in few pixels, each as dark as the largest weight in it, so that a thin line stays visible.
function thumbnail(attention, layer, head) {
  const { rows, columns } = attention, high = Math.min(rows, SIDE * 2), wide = Math.min(columns, SIDE * 2);
  const canvas = make("canvas", { width: wide, height: high, "aria-hidden": "true" }), tool = canvas.getContext("2d");
  const image = tool.createImageData(wide, high), points = new Uint32Array(image.data.buffer), { table, steps } = pixels();
  const { most, largest } = pooled(attention, layer, head, high, wide);
  most.forEach((weight, at) => { points[at] = table[steps + Math.round((weight / largest) * steps)]; });
  tool.putImageData(image, 0, 0);
  return canvas;
}

function pooled(attention, layer, head, high, wide) {
  const { rows, columns } = attention, most = new Float32Array(high * wide);
  const source = head === "mean" ? attention.pieces(layer, "mean") : attention.plane(layer, head);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const line = Math.floor((row * high) / rows) * wide;
    for (let column = 0; column < columns; column++) {
      const at = line + Math.floor((column * wide) / columns), weight = source[row * columns + column];
      if (weight > most[at]) { most[at] = weight; if (weight > largest) largest = weight; }
    }
  }
  return { most, largest: largest || 1 };
}
