// The page: which map, output and input are looked at, and everything drawn from that.
const MAPS = DATA.maps.map((stored) => new Weights(stored));
const state = { map: 0, row: null, column: null, pinned: false };
const here = () => MAPS[state.map];
const app = document.getElementById("app");
const head = element("header"), title = element("h1"), source = element("p", "faint"), about = element("div");
head.append(title, source);
const crowded = element("p", "faint");
const readout = element("output", "readout");
readout.setAttribute("aria-live", "polite");
const outputs = new TextView("outputs", {
  point: (row) => { if (!state.pinned) look(row, null); },
  leave: () => {},
  pin: (row) => look(row, null, true),
});
const inputs = new TextView("inputs", {
  point: (column) => { if (!state.pinned) look(state.row, column); },
  leave: () => { if (!state.pinned) look(state.row, null); },
  pin: (column) => look(state.row, column, true),
});
const matrix = new MatrixView({
  point: (row, column) => { if (!state.pinned) look(row, column); },
  leave: () => { if (!state.pinned) look(state.row, null); },
  size: (cell) => { crowded.textContent = cell < 1 ? SAY.averaged : ""; },
  pin: (row, column) => look(row, column, !(state.pinned && state.row === row && state.column === column)),
});

function look(row, column, pinned = false) {
  if (state.row === row && state.column === column && state.pinned === pinned) return;
  Object.assign(state, { row, column, pinned });
  refresh();
}

function refresh(follow = false) {
  const map = here();
  outputs.show(map.outputs);
  inputs.show(map.inputs);
  const mean = state.row === null ? map.columns.order.reduce((all, n) => { all[n] = map.mean(n) / map.scale; return all; }, []) : null;
  inputs.paint((number) => (mean ? mean[number] : map.share(state.row, number)));
  // With an input in view but no output, the outputs show what they took from it.
  outputs.paint((number) => (state.column === null || map.height < 2 ? null : map.share(number, state.column)));
  outputs.mark(state.row, null, follow);
  inputs.mark(null, state.column, follow);
  matrix.show(map, state);
  if (follow) matrix.reveal(state.row, state.column);
  tell();
}

function tell() {
  const map = here(), { row, column } = state;
  const name = row === null ? SAY.mean : label(map.outputs, row);
  const sure = row !== null && map.probabilities ? ` (${Math.round(map.probabilities[row] * 100)}%)` : "";
  const first = element("div");
  if (column === null) first.append(`${name}${sure}`);
  else first.append(`${name}${sure} ← ${label(map.inputs, column)}: `, element("b", "", map.told(row, column)), map.columns.apart.has(column) ? ` (${SAY.apart})` : "");
  const strength = (n) => Math.abs(row === null ? map.mean(n) : map.weight(row, n));
  const text = map.columns.order.slice(0, map.columns.text);
  const top = (row === null && map.width * map.height > 1e5 ? [] : text.map((n) => [strength(n), n]).sort((a, b) => b[0] - a[0] || a[1] - b[1])).slice(0, 6);
  const most = top.filter(([value]) => value > 0).map(([, n]) => `${short(label(map.inputs, n))} ${map.told(row, n)}`);
  readout.replaceChildren(first, element("div", "faint", most.length ? `${SAY.most}: ${most.join(" · ")}` : ""));
}

function legend() {
  const map = here(), box = element("div", "scale"), bar = element("canvas");
  const low = map.signed ? -1 : 0;
  bar.width = 230; bar.height = 1;
  const pen = bar.getContext("2d");
  for (let x = 0; x < 230; x++) { pen.fillStyle = colour(low + ((1 - low) * x) / 229); pen.fillRect(x, 0, 1, 1); }
  const [left, middle, right] = [low, (low + 1) / 2, 1].map((share) => (share ? map.figure(share * map.scale) : "0"));
  box.append(bar, element("span", "", map.signed ? `${left} ${SAY.against}` : left), element("span", "", middle), element("span", "", map.signed ? `${right} ${SAY.for}` : right));
  return box;
}

function zoom() {
  const box = element("div", "zoom");
  for (const [sign, factor, name] of [["−", 1 / 1.5, SAY.smaller], ["+", 1.5, SAY.larger]]) {
    const button = element("button", "", sign);
    button.title = name; button.setAttribute("aria-label", name);
    button.addEventListener("click", () => matrix.enlarge(factor));
    box.append(button, " ");
  }
  return box;
}

const bar = element("div", "bar");
const tools = element("div", "tools"), thumbs = element("div", "thumbs");
function choose(number) {
  const before = here();
  state.map = (number + MAPS.length) % MAPS.length;
  const map = here();
  const same = before.outputs === map.outputs && before.inputs === map.inputs;
  if (!same || state.row >= map.height || state.column >= map.width) Object.assign(state, { row: null, column: null, pinned: false });
  if (!same && map.height) state.row = map.rows.order[0];
  title.textContent = map.method;
  source.textContent = map.source;
  about.replaceChildren(...map.notes.map((note) => element("p", "faint", note)));
  tools.replaceChildren(legend());
  [...thumbs.children].forEach((one, n) => one.setAttribute("aria-selected", n === state.map));
  refresh();
}

const layered = MAPS.every((map) => map.layer !== null && map.head !== null);
function drawThumbs() {
  const across = layered ? new Set(MAPS.map((map) => map.head)).size : Math.min(MAPS.length, 10);
  thumbs.style.gridTemplateColumns = `repeat(${across}, minmax(72px, max-content))`;
  thumbs.setAttribute("role", "listbox");
  thumbs.setAttribute("aria-label", layered ? SAY.heads : SAY.maps);
  thumbs.replaceChildren(...MAPS.map((map, number) => {
    const button = element("button"), canvas = element("canvas");
    canvas.width = canvas.height = 62;
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = Math.max(map.width, map.height) > 62;
    pen.drawImage(map.image(), 0, 0, 62, 62);
    const name = layered ? `${SAY.layer} ${map.layer}, ${SAY.head} ${map.head}` : short(map.source || map.method);
    button.append(canvas, layered ? `${map.layer} · ${map.head}` : name);
    button.title = name;
    button.setAttribute("role", "option"); button.setAttribute("aria-label", name);
    button.setAttribute("aria-selected", number === state.map);
    button.addEventListener("click", () => choose(number));
    return button;
  }));
}

function step(order, now, by) {
  const at = now === null ? (by > 0 ? -1 : order.length) : order.indexOf(now);
  return order[Math.max(0, Math.min(order.length - 1, at + by))] ?? null;
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const map = here(), { key } = event;
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (by && thumbs.contains(document.activeElement)) {
    choose(state.map + by);
    thumbs.children[state.map].focus();
  } else if (by) {
    const across = state.pinned && state.column !== null && (key === "ArrowRight" || key === "ArrowLeft");
    if (across) state.column = step(map.columns.order, state.column, by);
    else state.row = step(map.rows.order, state.row, by);
    refresh(true);
  } else if (key === "Escape") look(map.height === 1 ? 0 : null, null);
  else if (key === "+" || key === "=") matrix.enlarge(1.5);
  else if (key === "-") matrix.enlarge(1 / 1.5);
  else if (key === "]" || key === "[") choose(state.map + (key === "]" ? 1 : -1));
  else if ((key === "Enter" || key === " ") && document.activeElement === matrix.canvas) look(state.row, state.column ?? map.columns.order[0] ?? null, true);
  else return;
  event.preventDefault();
});

dark.addEventListener("change", () => { TABLE = table(); matrix.repaint(); if (MAPS.length > 1) drawThumbs(); choose(state.map); });

document.documentElement.lang = LANGUAGE === "zh" ? "zh-CN" : "en";
const keys = element("p", "faint keys");
SAY.keys.forEach(([key, does], number) => { if (number < 4 || MAPS.length > 1) keys.append(element("kbd", "", key), ` ${does}   `); });
app.append(head);
if (MAPS.length > 1) { drawThumbs(); app.append(element("h2", "", layered ? SAY.heads : SAY.maps), thumbs); }
app.append(element("h2", "", SAY.outputs), outputs.box, element("h2", "", SAY.inputs), inputs.box, tools, readout);
bar.append(element("h2", "", SAY.matrix), crowded, zoom());
app.append(bar, matrix.frame, about, keys);
state.row = here().height ? here().rows.order[0] : null;
choose(0);
