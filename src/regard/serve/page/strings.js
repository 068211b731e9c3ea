// Every sentence of the page in the language that is chosen.
import { CHINESE } from "./chinese.js";
import { ENGLISH } from "./english.js";

export const LANGUAGES = { en: ["English", ENGLISH], zh: ["中文", CHINESE] };
let chosen = "en";

export const preferred = () => (navigator.languages ?? []).map((tag) => tag.slice(0, 2)).find((tag) => tag in LANGUAGES) ?? "en";

export function speak(language) {
  chosen = language in LANGUAGES ? language : preferred();
  document.documentElement.lang = chosen === "zh" ? "zh-CN" : chosen;
  return chosen;
}

// The sentence of that name with its values put in; in English where there is none, and the name itself at last.
export function say(name, values = {}) {
  const sentence = LANGUAGES[chosen][1][name] ?? ENGLISH[name] ?? name;
  return sentence.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

// The sentence of that name, or what the service says itself.
export const sayOr = (name, other) => LANGUAGES[chosen][1][name] ?? other;

// A note of the service in the language that is chosen, where it is one of those we know.
export function retold(text) {
  for (const [name, sentence] of Object.entries(ENGLISH).filter(([name]) => name.startsWith("note."))) {
    const names = [...sentence.matchAll(/\{(\w+)\}/g)].map((found) => found[1]);
    const found = text.match(new RegExp(`^${sentence.replace(/[.()]/g, "\\$&").replace(/\{\w+\}/g, "(.+?)")}$`));
    if (found) return say(name, Object.fromEntries(names.map((one, at) => [one, found[at + 1]])));
  }
  return text;
}

export const percent = (share) => (share > 0 && share < 0.0005 ? "<0.1 %" : `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`);
export const signed = (number, digits = 2) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(digits)}`;
export const whole = (number) => new Intl.NumberFormat(chosen).format(number);
export const short = (number) => new Intl.NumberFormat(chosen, { notation: "compact", maximumFractionDigits: 1 }).format(number);
