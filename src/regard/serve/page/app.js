// The page: its head, a tab for each bundle, and the one that is open.
import { ask } from "./api.js";
import { Bench } from "./bench.js";
import { button, clear, draw, make } from "./dom.js";
import { change, start, state, watch } from "./state.js";
import { LANGUAGES, say, speak } from "./strings.js";

const THEMES = ["auto", "light", "dark"];
const SHOWN = new Set(["method", "attention", "layer", "head", "units"]);
const TRIED = new Set(["off", "cell", "other", "pieces"]);
const dark = matchMedia("(prefers-color-scheme: dark)");
const kept = new Map();
let models = [], bench = null;

const at = (id) => document.getElementById(id);
const theme = () => (THEMES.includes(state.theme) && state.theme !== "auto" ? state.theme : dark.matches ? "dark" : "light");

function dress() {
  const changed = document.documentElement.dataset.theme !== theme();
  document.documentElement.dataset.theme = theme();
  if (changed && bench?.explorer?.explored) bench.explorer.refresh();
}

function head() {
  const language = (code) => button(LANGUAGES[code][0], () => { change({ lang: code }); open(); }, { "aria-pressed": speak(state.lang) === code, lang: code });
  const look = (name) => button(say(`theme.${name}`), () => { change({ theme: name === "auto" ? undefined : name }); dress(); head(); }, { "aria-pressed": (state.theme ?? "auto") === name });
  clear(at("head"), button(say("skip"), () => at("bench").focus(), { class: "skip" }),
    make("a", { class: "brand", href: "/", "aria-label": "Regard" }, mark(), make("span", { textContent: "Regard" })),
    make("p", { class: "soft tagline", textContent: say("tagline") }),
    make("div", { class: "switches" },
      make("div", { class: "segments", role: "group", "aria-label": say("language.choose") }, Object.keys(LANGUAGES).map(language)),
      make("div", { class: "segments", role: "group", "aria-label": say("theme.choose") }, THEMES.map(look)),
      make("a", { class: "soft small", href: "/docs", textContent: say("docs") })));
}

const mark = () => draw("svg", { viewBox: "0 0 32 32", width: 26, height: 26, "aria-hidden": "true", class: "mark" }, draw("path", { d: "M5 6C5 18 27 14 27 26" }), draw("path", { d: "M16 6C16 16 10 16 10 26", class: "thin" }), draw("path", { d: "M27 6C27 16 17 16 17 26", class: "thin" }));

function tabs() {
  const current = model();
  const made = models.map((one) => button("", () => choose(one.id), { role: "tab", id: `tab-${one.id}`, "aria-selected": one === current, "aria-controls": "bench", tabIndex: one === current ? 0 : -1 }));
  made.forEach((tab, number) => tab.append(make("span", { textContent: models[number].title }), make("small", { class: "soft", textContent: say(`task.${models[number].task}`) })));
  const list = make("div", { class: "tabs", role: "tablist", "aria-label": say("tabs"), on: { keydown: (event) => step(event, made) } }, made);
  clear(at("tabs"), list);
  at("bench").setAttribute("aria-labelledby", `tab-${current.id}`);
  made[models.indexOf(current)]?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function step(event, made) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], now = made.indexOf(document.activeElement);
  if (!by || now < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = (now + by + made.length) % made.length;
  choose(models[next].id);
  at(`tab-${models[next].id}`).focus();
}

const model = () => models.find((one) => one.id === state.model) ?? models[0];

// Another tab; what was there stays as it was left.
function choose(id) {
  const { lang, theme: look, ...mine } = state;
  kept.set(model().id, { ...mine, input: { ...state.input }, settings: { ...state.settings } });
  const before = kept.get(id) ?? { input: Object.create(null), settings: Object.create(null) };
  for (const name of Object.keys(state)) if (name !== "lang" && name !== "theme") delete state[name];
  Object.assign(state, { ...before, model: id });
  change({});
  open();
}

function open() {
  speak(state.lang);
  document.title = say("title", { name: model()?.title ?? "" });
  head();
  if (!models.length) { clear(at("bench"), make("p", { class: "card soft", textContent: say("empty") })); return; }
  bench?.close();
  tabs();
  bench = new Bench(model());
  bench.reopen = open;
  clear(at("bench"), bench.element);
  bench.open();
}

// Keys that work wherever nothing is typed.
function key(event) {
  const typing = event.target.closest?.("input, textarea, select, [role='menu'], dialog");
  if (event.key === "Escape" && !typing) bench?.explorer?.release();
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by || typing || event.altKey || event.ctrlKey || event.metaKey || !bench?.explorer?.map) return;
  event.preventDefault();
  bench.explorer.step(by);
}

function changed(names) {
  const explorer = bench?.explorer;
  if (!explorer?.explored) return;
  if ([...names].some((name) => TRIED.has(name))) explorer.whatif.update();
  if ([...names].some((name) => SHOWN.has(name) || name === "off")) explorer.refresh();
  else if (names.has("pin")) explorer.mark();
}

async function begin() {
  start(() => { dress(); open(); });
  watch(changed);
  dress();
  dark.addEventListener("change", () => dress());
  addEventListener("keydown", key);
  speak(state.lang);
  head();
  try {
    models = (await ask("/v1/models")).data.map((one) => ({ ...one, methods: one.methods ?? {}, settings: one.settings ?? {} }));
    if (state.model && model().id !== state.model) change({ model: undefined });
    open();
  } catch (error) { clear(at("bench"), make("p", { class: "problem", role: "alert", textContent: error.message })); }
}

begin();
