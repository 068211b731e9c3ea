// The matrix on two canvases no larger than their window, however many cells there are: cells below, marks above.
import { make } from "./dom.js";
import { family, named, pixels, theme } from "./colours.js";
import { later, moved, pen } from "./frames.js";
import { labelOf, sameUnits } from "./maps.js";
import { say } from "./strings.js";

// Up to ROOMY units every row has a label, and a column is never narrower than NARROW; SHARE is as wide as 100 %.
const FONT = 12.5, SHARE = 48, ROOMY = 90, NARROW = 5, LINE = 15, SLANTED = 17, LONGEST = 150, TALLEST = 520;

export class Matrix {
  constructor(on) {
    this.on = on;
    this.canvases = [make("canvas"), make("canvas", { class: "over" })];
    this.window = make("div", { class: "window", tabIndex: 0, role: "application", "aria-roledescription": say("matrix.kind") }, this.canvases);
    this.spacer = make("div", { class: "spacer" }, this.window);
    this.element = make("div", { class: "matrix" }, this.spacer);
    this.zoom = 1;
    this.mark_ = { row: null, column: null, pinned: false };
    this.listen();
  }
  listen() {
    this.element.addEventListener("scroll", () => this.redraw(), { passive: true });
    this.window.addEventListener("pointermove", (event) => { moved(event); const cell = this.cellAt(event); if (cell) this.on.point(...cell); else this.on.leave(); });
    this.window.addEventListener("pointerleave", () => this.on.leave());
    this.window.addEventListener("click", (event) => { const cell = this.cellAt(event); if (cell) this.on.pin(...cell); });
    this.window.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.measure()).observe(this.element);
  }
  key(event) {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
    const { row, column } = this.mark_, held = (at, count) => Math.max(0, Math.min(count - 1, at));
    if (event.key === "Enter" && row !== null) this.on.pin(row, column ?? 0);
    else if (down || right) this.on.step(held((row ?? 0) + (row === null ? 0 : down), this.map.height), held((column ?? 0) + (column === null ? 0 : right), this.map.width));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  show(map) {
    this.window.setAttribute("aria-label", say("matrix.label", { rows: map.height, columns: map.width }));
    const other = !this.map || !sameUnits(this.map.rows, map.rows) || !sameUnits(this.map.columns, map.columns) || !this.map.probabilities !== !map.probabilities;
    this.map = map;
    this.image = bitmap(map);
    if (other) this.measure(); else this.redraw();
  }
  enlarge(factor) { this.zoom = Math.min(32, Math.max(1, this.zoom * factor)); this.measure(); }
  measure() {
    if (!this.map || !this.element.clientWidth) return;
    const { map } = this, tool = this.canvases[0].getContext("2d"), wide = this.element.clientWidth;
    tool.font = font();
    const widest = (units) => units.reduce((most, unit) => Math.max(most, tool.measureText(clipped(unit)).width), 16);
    this.left = Math.min(LONGEST, widest(map.rows)) + 14 + (map.probabilities ? SHARE : 0);
    this.top = Math.min(LONGEST, widest(map.columns)) * 0.72 + 16;
    const fit = (wide - this.left - this.top * 0.62) / map.width;
    this.cell = Math.min(30, Math.max(fit, map.width <= ROOMY ? NARROW : 0.25)) * this.zoom;
    this.tall = map.height <= ROOMY ? Math.max(Math.min(this.cell, 30), 18 * this.zoom) : Math.min(this.cell, (TALLEST - this.top) / map.height * this.zoom);
    this.spacer.style.width = `${Math.max(wide, this.left + map.width * this.cell + this.top * 0.62)}px`;
    this.spacer.style.height = `${this.top + map.height * this.tall + 8}px`;
    this.size = [wide, Math.min(TALLEST, this.top + map.height * this.tall + 8)];
    this.window.style.width = `${this.size[0]}px`;
    this.window.style.height = `${this.size[1]}px`;
    this.redraw();
  }
  redraw() { this.stale = true; later(this); }
  mark(mark, scroll) { this.mark_ = mark; if (scroll) this.reveal(); later(this); }
  reveal() {
    const { element, mark_: { row, column } } = this;
    if (!this.size) return;
    const within = (at, size, from, room) => (at < from ? at : at + size > from + room ? at + size - room : from);
    if (row !== null) element.scrollTop = within(row * this.tall, this.tall, element.scrollTop, this.size[1] - this.top);
    if (column !== null) element.scrollLeft = within(column * this.cell, this.cell, element.scrollLeft, this.size[0] - this.left - 20);
  }
  cellAt(event) {
    const box = this.window.getBoundingClientRect(), x = event.clientX - box.left - this.left, y = event.clientY - box.top - this.top;
    const row = Math.floor((y + this.element.scrollTop) / this.tall), column = Math.floor((x + this.element.scrollLeft) / this.cell);
    const rowInside = row >= 0 && row < this.map.height && y >= 0, columnInside = column >= 0 && column < this.map.width && x >= 0;
    if (rowInside && columnInside) return [row, column];
    if (rowInside && x < 0) return [row, null];
    return columnInside && y < 0 ? [null, column] : null;
  }
  draw() {
    if (!this.map || !this.size) return;
    const { scrollLeft, scrollTop } = this.element;
    if (this.stale) { this.drawBase(pen(this.canvases[0], ...this.size), scrollLeft, scrollTop); this.stale = false; }
    this.drawMarks(pen(this.canvases[1], ...this.size), scrollLeft, scrollTop);
  }
  // The part of the window in which cells stand.
  inside(tool, scrollLeft, scrollTop, act) {
    tool.save();
    tool.beginPath();
    tool.rect(this.left, this.top, this.size[0], this.size[1]);
    tool.clip();
    tool.translate(this.left - scrollLeft, this.top - scrollTop);
    act();
    tool.restore();
  }
  drawBase(tool, scrollLeft, scrollTop) {
    const { map, cell, tall } = this;
    this.inside(tool, scrollLeft, scrollTop, () => {
      tool.imageSmoothingEnabled = Math.min(cell, tall) < 1;
      tool.drawImage(this.image, 0, 0, map.width * cell, map.height * tall);
      if (Math.min(cell, tall) >= 6) this.gaps(tool);
      this.hatch(tool);
    });
    tool.font = font();
    this.rowLabels(tool, scrollTop);
    this.columnLabels(tool, scrollLeft);
  }
  gaps(tool) {
    const { map, cell, tall } = this;
    tool.strokeStyle = named("card");
    tool.lineWidth = cell >= 14 ? 2 : 1;
    tool.beginPath();
    for (let at = 0; at <= map.width; at++) { tool.moveTo(at * cell, 0); tool.lineTo(at * cell, map.height * tall); }
    for (let at = 0; at <= map.height; at++) { tool.moveTo(0, at * tall); tool.lineTo(map.width * cell, at * tall); }
    tool.stroke();
  }
  // Columns that are no text are told apart.
  hatch(tool) {
    const { map, cell, tall } = this;
    tool.strokeStyle = named("hatch");
    tool.lineWidth = 1;
    tool.beginPath();
    map.columns.forEach((unit, at) => {
      if (!unit.special || cell < 4) return;
      for (let y = 0; y < map.height * tall; y += 6) { tool.moveTo(at * cell + 1, y + Math.min(6, cell)); tool.lineTo((at + 1) * cell - 1, y); }
    });
    tool.stroke();
  }
  rowLabels(tool, scrollTop) {
    const every = Math.ceil(LINE / this.tall);
    for (let at = 0; at < this.map.height; at += every) {
      const y = this.top + (at + 0.5) * this.tall - scrollTop;
      if (y >= this.top && y < this.size[1] + LINE) this.rowLabel(tool, at, y, false);
    }
  }
  rowLabel(tool, at, y, strong) {
    const { map } = this;
    Object.assign(tool, { textAlign: "right", textBaseline: "middle", font: font(strong), fillStyle: named("soft") });
    if (map.probabilities) tool.fillText(percent0(map.probabilities[at]), this.left - 8, y);
    tool.fillStyle = named(map.rows[at].special ? "soft" : "ink");
    tool.fillText(clipped(map.rows[at]), this.left - 8 - (map.probabilities ? SHARE : 0), y, LONGEST);
  }
  columnLabels(tool, scrollLeft) {
    const every = Math.ceil(SLANTED / this.cell);
    for (let at = 0; at < this.map.width; at += every) {
      const x = this.left + (at + 0.5) * this.cell - scrollLeft;
      if (x >= this.left && x < this.size[0]) this.columnLabel(tool, at, x, false);
    }
  }
  columnLabel(tool, at, x, strong) {
    tool.save();
    tool.translate(x, this.top - 7);
    tool.rotate(-Math.PI / 4);
    Object.assign(tool, { textAlign: "left", textBaseline: "middle", font: font(strong) });
    const text = clipped(this.map.columns[at]);
    if (strong) { tool.fillStyle = named("card"); tool.fillRect(-2, -9, Math.min(LONGEST, tool.measureText(text).width) + 4, 18); }
    tool.fillStyle = named(this.map.columns[at].special ? "soft" : "ink");
    tool.fillText(text, 0, 0, LONGEST);
    tool.restore();
  }
  drawMarks(tool, scrollLeft, scrollTop) {
    const { row, column, pinned } = this.mark_, { map, cell, tall } = this, wide = Math.max(cell, 1.5), high = Math.max(tall, 1.5);
    this.inside(tool, scrollLeft, scrollTop, () => {
      tool.strokeStyle = named("ink");
      tool.lineWidth = pinned ? 2 : 1.25;
      if (row !== null) tool.strokeRect(0.5, row * tall, map.width * cell - 1, high);
      if (column !== null) tool.strokeRect(column * cell, 0.5, wide, map.height * tall - 1);
      if (row !== null && column !== null) { tool.lineWidth = 3; tool.strokeRect(column * cell, row * tall, Math.max(cell, 4), Math.max(tall, 4)); }
    });
    if (row !== null && row < map.height) this.strongRow(tool, row, this.top + (row + 0.5) * tall - scrollTop);
    if (column !== null && column < map.width) this.columnLabel(tool, column, this.left + (column + 0.5) * cell - scrollLeft, true);
  }
  strongRow(tool, row, y) {
    if (y < this.top) return;
    tool.fillStyle = named("card");
    tool.fillRect(0, y - 9, this.left - 4, 18);
    this.rowLabel(tool, row, y, true);
  }
}

const percent0 = (share) => `${Math.round(share * 100)} %`;
const font = (strong) => `${strong ? "600 " : ""}${FONT}px ${family()}`;
function clipped(unit) {
  const letters = Array.from(labelOf(unit));
  return letters.length > 22 ? `${letters.slice(0, 21).join("")}…` : letters.join("");
}

// One pixel a cell; made once for a map and theme.
function bitmap(map) {
  if (map.drawn?.theme !== theme()) map.drawn = { theme: theme(), image: painted(map) };
  return map.drawn.image;
}

function painted(map) {
  const canvas = make("canvas", { width: Math.max(1, map.width), height: Math.max(1, map.height) });
  const tool = canvas.getContext("2d"), image = tool.createImageData(canvas.width, canvas.height);
  const points = new Uint32Array(image.data.buffer), { table, steps } = pixels();
  for (let at = 0; at < map.weights.length; at++) {
    const share = Math.max(-1, Math.min(1, map.weights[at] / map.scale));
    points[at] = table[Math.round((share + 1) * steps)];
  }
  tool.putImageData(image, 0, 0);
  return canvas;
}
