// Language models and conversations: text that is written as one watches, and sampled again at will.
import { button, clear, make } from "./dom.js";
import { examples, notes, panel, slider, textField } from "./parts.js";
import { say } from "./strings.js";

const EVERY = 100;

function dials(bench) {
  const sampled = (more) => bench.choose({ "search.method": "sample", ...more }), number = (name, usual) => Number(bench.setting(name) ?? usual);
  const lengthName = "predict.pieces" in bench.model.settings ? "predict.pieces" : "search.longest_extra";
  return make("div", { class: "row wrap settings" },
    slider(say("settings.temperature"), { min: 0.1, max: 2, step: 0.05, value: number("search.temperature", 1), shown: (value) => value.toFixed(2) }, (value) => sampled({ "search.temperature": value })),
    slider(say("settings.top_k"), { min: 0, max: EVERY, step: 1, value: number("search.top_k", 0), shown: (value) => (value ? String(value) : say("settings.all")) }, (value) => sampled({ "search.top_k": value || null })),
    slider(say("settings.length"), { min: 5, max: 300, step: 5, value: number(lengthName, 100) }, (value) => bench.choose({ [lengthName]: value })));
}

const again = (bench) => bench.choose({ "search.method": "sample", "search.seed": (Number(bench.setting("search.seed") ?? 0) || 0) + 1 });

export function language(bench) {
  const prompt = textField(say("language.prompt"), bench.input().text, (value) => bench.set({ text: value }), { rows: 3 });
  const output = make("div", { class: "output big", role: "region", "aria-live": "polite", "aria-label": say("language.output") });
  const more = make("div");
  const stop = button(say("stop"), () => bench.stop(), { hidden: true });
  const element = make("div", { class: "stack" }, panel(null, prompt.element, examples(bench)), dials(bench),
    make("div", { class: "row wrap" }, button(say("language.write"), () => bench.run(), { class: "primary" }), button(say("language.again"), () => again(bench)), stop),
    panel(say("language.output"), output, more));
  const write = (text, growing = false) => clear(output, make("span", { class: "soft", textContent: bench.asking?.text ?? bench.input().text }), make("span", { textContent: text }), growing ? make("span", { class: "caret", "aria-hidden": "true" }) : null);
  return {
    element,
    streams: true, sampled: true,
    busy(is) { stop.hidden = !is; output.setAttribute("aria-busy", is); },
    example(text) { write(text); clear(more); },
    growing(text) { write(text, true); },
    result(result) { write(result.prompt ? result.text.slice(result.prompt.length) : result.text); clear(more, notes(result)); },
  };
}

export function dialogue(bench) {
  const turns = () => { try { const found = JSON.parse(bench.input().turns); return Array.isArray(found) ? found.map(String) : [bench.input().turns]; } catch { return bench.input().turns.split(bench.model.between ?? "\t"); } };
  const talk = make("div", { class: "talk", role: "log", "aria-live": "polite", "aria-label": say("dialogue.talk") });
  const message = make("input", { class: "grow", "aria-label": say("dialogue.message"), placeholder: say("dialogue.message"), autocomplete: "off" });
  let reply = "";
  const bubble = (text, who, growing) => make("div", { class: `bubble ${who}` }, make("span", { class: "hidden-text", textContent: `${say(`dialogue.${who}`)}: ` }), text, growing ? make("span", { class: "caret", "aria-hidden": "true" }) : null);
  // The last turn is the person's; turns alternate before it.
  const show = (growing = false) => {
    const all = turns();
    clear(talk, all.map((text, at) => bubble(text, (all.length - at) % 2 ? "you" : "model")), reply || growing ? bubble(reply, "model", growing) : null);
    talk.scrollTop = talk.scrollHeight;
  };
  const send = () => {
    const text = message.value.trim();
    if (!text) return;
    const before = reply ? [...turns(), reply] : turns().slice(0, -1);
    message.value = "";
    reply = "";
    bench.set({ turns: JSON.stringify([...before, text]) }, { now: true });
    show(true);
  };
  message.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); send(); } });
  const stop = button(say("stop"), () => bench.stop(), { hidden: true });
  const fresh = () => { reply = ""; bench.set({ turns: "[]" }, { quiet: true }); clear(talk); message.focus(); };
  const more = make("div");
  const element = make("div", { class: "stack" }, panel(null, talk, more, make("div", { class: "row" }, message, button(say("dialogue.send"), send, { class: "primary" })), make("div", { class: "row wrap" }, button(say("dialogue.again"), () => { reply = ""; again(bench); }), button(say("dialogue.fresh"), fresh), stop), examples(bench)), dials(bench));
  return {
    element,
    streams: true, sampled: true,
    busy(is) { stop.hidden = !is; talk.setAttribute("aria-busy", is); },
    example(text) { reply = text; clear(more); show(); },
    growing(text) { reply = text; show(true); },
    result(result) { reply = result.text; show(); clear(more, notes(result)); },
  };
}
