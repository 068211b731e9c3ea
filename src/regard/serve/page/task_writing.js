// Translation and summaries: one text in, another out, live as one types; words of the output offer what else could stand.
import { button, characters, choice, clear, dropper, labelled, make, part } from "./dom.js";
import { labelOf } from "./maps.js";
import { examples, notes, panel, textField } from "./parts.js";
import { say, percent } from "./strings.js";

const BEST = [1, 3, 5];

export function writing(bench) {
  const [field] = bench.model.fields, task = bench.model.task;
  const source = textField(named(bench, field, `${task}.source`), bench.input()[field], (text) => bench.set({ [field]: text }), { rows: task === "summarization" ? 8 : 4 });
  const output = make("div", { class: "output big", role: "region", "aria-live": "polite", "aria-label": named(bench, target(task), `${task}.output`) });
  const more = make("div", { class: "more" });
  const element = make("div", {}, make("div", { class: "sides" }, panel(null, source.element, examples(bench)), panel(named(bench, target(task), `${task}.output`), output, more, settings(bench))));
  return {
    element, output,
    example(text) { clear(output, text); clear(more); },
    growing(text) { clear(output, make("span", { class: "soft", textContent: text })); },
    result(result) { clear(output, result.text || make("span", { class: "soft", textContent: say("output.empty") })); clear(more, begun(bench), notes(result), best(result)); },
    explored(explored) { if (explored.result || bench.shown() === explored.outputs.text) clear(output, words(bench, explored)); },
  };
}

const target = (task) => ({ translation: "target", summarization: "summary" })[task] ?? "output";

function named(bench, field, key) {
  const languages = bench.model.languages?.[field];
  return languages?.length ? `${say(key)} · ${languages.join(", ")}` : say(key);
}

function settings(bench) {
  const best = choice(BEST.map((count) => [count, String(count)]), bench.setting("search.best") ?? 1, (count) => bench.choose(several(bench, Number(count))));
  const beams = choice([1, 2, 3, 5, 8].map((count) => [count, String(count)]), bench.setting("search.beams") ?? 5, (count) => bench.choose({ "search.beams": Number(count), "search.best": Math.min(Number(bench.setting("search.best") ?? 1), Number(count)) }));
  return make("div", { class: "row wrap settings" }, labelled(say("settings.best"), best, { class: "inline-field" }), labelled(say("settings.beams"), beams, { class: "inline-field" }));
}

// As many outputs cannot come of fewer beams, nor of none.
const several = (bench, count) => ({ "search.best": count, "search.beams": Math.max(Number(bench.setting("search.beams") ?? 5), count), ...(count > 1 && bench.setting("search.method") === "greedy" ? { "search.method": "beam" } : {}) });

const begun = (bench) => (bench.prefix ? make("p", { class: "chips" }, make("span", { class: "chip" }, say("prefix.chip", { text: bench.prefix }), dropper(() => bench.begin(), say("prefix.clear")))) : null);

function best(result) {
  const others = (result.alternatives ?? []).slice(1);
  if (!others.length) return null;
  return make("div", {}, make("h4", { class: "label", textContent: say("best.title") }), make("ol", { class: "best" }, others.map((one) => make("li", {}, make("span", { textContent: one.text }), make("span", { class: "number soft", title: say("best.score"), textContent: one.score.toFixed(2) })))));
}

// Every word of the output, as a button that opens what else could stand there.
function words(bench, explored) {
  const { text, units } = explored.outputs, letters = characters(text), known = explored.answer.alternatives;
  const runs = explored.words?.outputs ?? units.map((_, at) => [at, at + 1]), found = [];
  let done = 0;
  for (const [first, end] of runs) {
    const spans = units.slice(first, end).filter((unit) => unit.span && !unit.special).map((unit) => unit.span);
    if (!spans.length) continue;
    const [start, stop] = [spans[0][0], spans.at(-1)[1]], word = part(letters, start, stop), lead = word.length - word.trimStart().length;
    found.push(part(letters, done, start), word.slice(0, lead), known ? wordButton(bench, explored, first, word.slice(lead)) : word.slice(lead));
    done = stop;
  }
  return [...found, part(letters, done)];
}

function wordButton(bench, explored, first, word) {
  const made = button(word, () => offer(bench, explored, first, made), { class: "word-button", "aria-haspopup": "menu", "aria-expanded": "false" });
  return made;
}

// A small menu under a word: what else could stand there, and how likely.
function offer(bench, explored, at, near) {
  const close = () => { menu.remove(); near.setAttribute("aria-expanded", "false"); document.removeEventListener("pointerdown", outside, true); };
  const outside = (event) => { if (!menu.contains(event.target)) close(); };
  const items = explored.answer.alternatives[at].map((one) => {
    const item = button("", () => { close(); bench.explorer.alternative(at, one); }, { role: "menuitem", disabled: one.piece === undefined || one.ends });
    item.append(make("span", { textContent: labelOf(one) }), make("span", { class: "number soft", textContent: percent(one.probability) }));
    return item;
  });
  const menu = make("div", { class: "menu", role: "menu", "aria-label": say("alternatives.title") }, items);
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], now = items.indexOf(document.activeElement);
    if (step) { event.preventDefault(); items[(now + step + items.length) % items.length].focus(); }
    if (event.key === "Escape") { event.stopPropagation(); close(); near.focus(); }
  });
  near.parentElement.append(menu);
  menu.style.left = `${Math.min(near.offsetLeft, near.parentElement.clientWidth - 190)}px`;
  menu.style.top = `${near.offsetTop + near.offsetHeight + 4}px`;
  near.setAttribute("aria-expanded", "true");
  document.addEventListener("pointerdown", outside, true);
  items[0]?.focus();
}
