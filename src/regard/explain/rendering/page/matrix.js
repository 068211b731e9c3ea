// The matrix on a canvas no larger than its window, however many cells there are.
const GAP = 10, FONT = 13;
// Labels closer than this would run into one another; those above the columns are slanted.
const LINE = 15, SLANTED = 19;

class MatrixView {
  constructor(on) {
    this.frame = element("div", "frame");
    this.spacer = element("div");
    this.canvas = element("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", SAY.matrix);
    this.spacer.append(this.canvas);
    this.frame.append(this.spacer);
    this.zoom = 1;
    this.on = on;
    this.frame.addEventListener("scroll", () => this.later());
    this.canvas.addEventListener("pointermove", (event) => { const cell = this.cellAt(event); cell ? on.point(...cell) : on.leave(); });
    this.canvas.addEventListener("pointerleave", () => on.leave());
    this.canvas.addEventListener("click", (event) => { const cell = this.cellAt(event); if (cell) on.pin(...cell); });
    new ResizeObserver(() => this.measure()).observe(this.frame);
  }
  show(map, state) {
    this.state = state;
    if (this.map !== map) { this.map = map; this.image = map.image(); this.measure(); } else this.later();
  }
  repaint() { if (this.map) { this.image = this.map.image(); this.later(); } }
  enlarge(factor) { this.zoom = Math.min(64, Math.max(1, this.zoom * factor)); this.measure(); }
  measure() {
    if (!this.map || !this.frame.clientWidth) return;
    const { map } = this;
    const pen = this.canvas.getContext("2d");
    pen.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
    const widest = (axis) => axis.units.reduce((most, _, n) => (n > 3000 ? most : Math.max(most, pen.measureText(short(label(axis, n))).width)), 20);
    this.left = Math.min(190, widest(map.outputs)) + 14 + (map.probabilities ? 38 : 0);
    this.slope = Math.min(190, widest(map.inputs)) * 0.71 + 14;
    this.top = this.slope + 4;
    const fit = (this.frame.clientWidth - this.left - GAP - this.slope * 0.6) / Math.max(1, map.width);
    // A short text keeps all its labels and is scrolled; a long one is seen whole.
    this.cell = Math.min(30, Math.max(fit, map.width <= 120 ? SLANTED : 0.25)) * this.zoom;
    this.tall = map.height <= 120 ? Math.max(this.cell, Math.min(30, 20 * this.zoom)) : this.cell;
    this.on.size(Math.min(this.cell, this.tall));
    const wide = this.left + map.width * this.cell + GAP + this.slope * 0.9;
    const high = this.top + map.height * this.tall + GAP + 4;
    this.frame.style.height = `${Math.min(high + 16, innerHeight * 0.78)}px`;
    this.spacer.style.width = `${Math.max(wide, 1)}px`;
    this.spacer.style.height = `${Math.max(high, 1)}px`;
    this.later();
  }
  later() { this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.draw(); }); }
  x(place) { return place * this.cell + (place >= this.map.columns.text && this.map.columns.text ? GAP : 0); }
  y(place) { return place * this.tall + (place >= this.map.rows.text && this.map.rows.text ? GAP : 0); }
  // The row and column under the pointer, as numbers of units.
  cellAt(event) {
    const inside = this.canvas.getBoundingClientRect();
    const x = event.clientX - inside.left - this.left + this.frame.scrollLeft;
    const y = event.clientY - inside.top - this.top + this.frame.scrollTop;
    if (event.clientX - inside.left < this.left || event.clientY - inside.top < this.top) return null;
    const along = (at, size, text, count) => { const place = Math.floor((at >= text * size && text ? at - GAP : at) / size); return place >= 0 && place < count ? place : null; };
    const row = along(y, this.tall, this.map.rows.text, this.map.height);
    const column = along(x, this.cell, this.map.columns.text, this.map.width);
    return row === null || column === null ? null : [this.map.rows.order[row], this.map.columns.order[column]];
  }
  reveal(row, column) {
    const { frame } = this;
    if (row !== null) {
      const y = this.y(this.map.rows.order.indexOf(row));
      if (y < frame.scrollTop) frame.scrollTop = y - this.tall;
      if (y + this.tall > frame.scrollTop + frame.clientHeight - this.top) frame.scrollTop = y + 2 * this.tall - frame.clientHeight + this.top;
    }
    if (column !== null) {
      const x = this.x(this.map.columns.order.indexOf(column));
      if (x < frame.scrollLeft) frame.scrollLeft = x - this.cell;
      if (x + this.cell > frame.scrollLeft + frame.clientWidth - this.left) frame.scrollLeft = x + 2 * this.cell - frame.clientWidth + this.left;
    }
  }
  draw() {
    const { canvas, frame, map } = this;
    const sharp = devicePixelRatio || 1, width = frame.clientWidth, height = frame.clientHeight;
    if (!map || !width) return;
    if (canvas.width !== Math.round(width * sharp) || canvas.height !== Math.round(height * sharp)) {
      canvas.width = Math.round(width * sharp); canvas.height = Math.round(height * sharp);
      canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    const look = getComputedStyle(document.body);
    const root = getComputedStyle(document.documentElement);
    this.colours = { ink: root.getPropertyValue("--ink"), faint: root.getPropertyValue("--faint"), paper: root.getPropertyValue("--paper") };
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `${FONT}px ${look.fontFamily}`;
    pen.save();
    pen.beginPath(); pen.rect(this.left, this.top, width, height); pen.clip();
    pen.translate(this.left - frame.scrollLeft, this.top - frame.scrollTop);
    this.cells(pen);
    this.crosshair(pen);
    pen.restore();
    this.rowLabels(pen, height);
    this.columnLabels(pen, width);
  }
  cells(pen) {
    const { map, cell, tall } = this;
    pen.imageSmoothingEnabled = Math.min(cell, tall) < 1;
    const cut = (text, count) => [[0, text], [text, count]].filter(([from, to]) => to > from);
    for (const [top, bottom] of cut(map.rows.text, map.height)) {
      for (const [left, right] of cut(map.columns.text, map.width)) {
        const box = [this.x(left), this.y(top), (right - left) * cell, (bottom - top) * tall];
        pen.drawImage(this.image, left, top, right - left, bottom - top, ...box);
        if (Math.min(cell, tall) >= 8) this.lines(pen, box, right - left, bottom - top);
        if (left >= map.columns.text) { pen.fillStyle = this.hatch(pen); pen.fillRect(...box); }
      }
    }
  }
  lines(pen, [x, y, wide, high], columns, rows) {
    pen.strokeStyle = this.colours.paper; pen.lineWidth = cellGap(this.cell);
    pen.beginPath();
    for (let n = 0; n <= columns; n++) { pen.moveTo(x + n * this.cell, y); pen.lineTo(x + n * this.cell, y + high); }
    for (let n = 0; n <= rows; n++) { pen.moveTo(x, y + n * this.tall); pen.lineTo(x + wide, y + n * this.tall); }
    pen.stroke();
  }
  hatch(pen) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const small = tile.getContext("2d");
    small.strokeStyle = "rgb(128 140 155 / 0.75)";
    small.beginPath();
    for (const at of [-6, 0, 6]) { small.moveTo(at, 6); small.lineTo(at + 6, 0); }
    small.stroke();
    return pen.createPattern(tile, "repeat");
  }
  crosshair(pen) {
    const { row, column, pinned } = this.state, { map, cell, tall } = this;
    const wide = this.x(map.width), high = this.y(map.height);
    pen.strokeStyle = this.colours.ink; pen.lineWidth = pinned ? 2 : 1;
    const y = row === null ? null : this.y(map.rows.order.indexOf(row));
    const x = column === null ? null : this.x(map.columns.order.indexOf(column));
    if (y !== null) pen.strokeRect(0, y, wide, Math.max(tall, 1));
    if (x !== null) pen.strokeRect(x, 0, Math.max(cell, 1), high);
    if (y !== null && x !== null) { pen.lineWidth = 3; pen.strokeRect(x, y, Math.max(cell, 3), Math.max(tall, 3)); }
  }
  // Every so many, so that none runs into the next; the chosen one always.
  visible(order, chosen, every, from, to) {
    const at = chosen === null ? -1 : order.indexOf(chosen);
    const found = [];
    for (let n = Math.max(0, Math.ceil(from / every) * every); n < Math.min(order.length, to); n += every) if (at < 0 || n === at || Math.abs(n - at) >= every) found.push(n);
    return at < 0 || found.includes(at) ? found : [...found, at];
  }
  rowLabels(pen, height) {
    const { map, frame } = this, { order } = map.rows;
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const n of this.visible(order, this.state.row, Math.ceil(LINE / this.tall), (frame.scrollTop - GAP) / this.tall - 1, (frame.scrollTop + height) / this.tall + 1)) {
      const y = this.top + this.y(n) + this.tall / 2 - frame.scrollTop, mine = order[n] === this.state.row;
      if (y < this.top - 2) continue;
      pen.fillStyle = this.colours.faint;
      if (map.probabilities) pen.fillText(`${Math.round(map.probabilities[order[n]] * 100)}%`, this.left - 8, y);
      pen.fillStyle = mine || this.state.row === null ? this.colours.ink : this.colours.faint;
      pen.fillText(short(label(map.outputs, order[n])), this.left - 8 - (map.probabilities ? 38 : 0), y, 190);
    }
  }
  columnLabels(pen, width) {
    const { map, frame } = this, { order } = map.columns;
    pen.textAlign = "left"; pen.textBaseline = "middle";
    for (const n of this.visible(order, this.state.column, Math.ceil(SLANTED / this.cell), (frame.scrollLeft - GAP) / this.cell - 1, (frame.scrollLeft + width) / this.cell + 1)) {
      const x = this.left + this.x(n) + this.cell / 2 - frame.scrollLeft;
      if (x < this.left - 2) continue;
      pen.save();
      pen.translate(x, this.top - 6); pen.rotate(-Math.PI / 4);
      pen.fillStyle = order[n] === this.state.column || this.state.column === null ? this.colours.ink : this.colours.faint;
      pen.fillText(short(label(map.inputs, order[n])), 0, 0, 190);
      pen.restore();
    }
  }
}
const cellGap = (cell) => (cell >= 16 ? 2 : 1);
