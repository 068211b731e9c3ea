// What forms are made of: fields that grow, examples, bars, notes, text with marks in it.
import { button, characters, make, part, unique } from "./dom.js";
import { percent, say, sayOr } from "./strings.js";

export function textField(text, value, act, settings = {}) {
  const id = unique("text");
  const field = make("textarea", { id, rows: settings.rows ?? 3, spellcheck: "false", value, lang: settings.lang, placeholder: settings.hint });
  const grow = () => { field.style.height = "auto"; field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight * 0.5)}px`; };
  field.addEventListener("input", () => { grow(); act(field.value); });
  new ResizeObserver(grow).observe(field.ownerDocument.documentElement);
  requestAnimationFrame(grow);
  return { field, element: make("div", { class: "field" }, make("label", { htmlFor: id, textContent: text }), field), put(next) { field.value = next; grow(); } };
}

// Inputs whose outputs are known; one click tries another.
export function examples(bench) {
  const golden = bench.model.golden ?? [];
  if (golden.length < 2) return null;
  const named = (entry) => { const letters = characters(label(entry.input, bench.model.fields)); return letters.length > 30 ? `${part(letters, 0, 29)}…` : letters.join(""); };
  return make("div", { class: "examples", role: "group", "aria-label": say("examples") }, make("span", { class: "soft small", textContent: say("examples") }), golden.slice(0, 5).map((entry) => button(named(entry), () => bench.example(entry), { class: "chip-button" })));
}

const label = (input, fields) => {
  const text = String(input[fields[0]] ?? "");
  try { const turns = JSON.parse(text); return Array.isArray(turns) ? String(turns.at(-1)) : text; } catch { return text; }
};

// How a result was made, where that has to be told.
export function notes(result) {
  const told = (result.status ?? []).filter((one) => one !== "complete");
  return told.length ? make("ul", { class: "notes" }, told.map((one) => make("li", { textContent: sayOr(`status.${one}`, one) }))) : null;
}

// Names with a bar and a number each, the largest first.
export function bars(pairs, settings = {}) {
  const items = pairs.map(([name, share, act]) => make("li", { class: settings.first === name ? "first" : "" },
    act ? button(name, act, { class: "plain name" }) : make("span", { class: "name", textContent: name }),
    make("i", { class: "bar", style: { "--share": Math.max(0, Math.min(1, share)) } }), make("span", { class: "number", textContent: percent(share) })));
  return make("ol", { class: "bars wide" }, items);
}

// A text with stretches of it wrapped; spans are [start, end, wrap].
export function marked(text, spans) {
  const letters = characters(text), found = [];
  let done = 0;
  for (const [start, end, wrap] of [...spans].sort((one, other) => one[0] - other[0])) {
    if (start < done) continue;
    found.push(part(letters, done, start), wrap(part(letters, start, end)));
    done = end;
  }
  return [...found, part(letters, done)];
}

export function slider(text, { min, max, step, value, shown = String }, act) {
  const id = unique("slider"), number = make("output", { class: "number", htmlFor: id, textContent: shown(value) });
  const field = make("input", { id, type: "range", min, max, step, value });
  field.addEventListener("input", () => { number.textContent = shown(Number(field.value)); act(Number(field.value)); });
  return make("div", { class: "field slide-field" }, make("label", { htmlFor: id, textContent: text }), field, number);
}

export const panel = (title, ...children) => make("div", { class: "panel" }, title ? make("h3", { class: "label", textContent: title }) : null, children);
