// What the colours mean: a bar of the scale with its numbers.
import { make } from "./dom.js";
import { shade } from "./colours.js";
import { pen } from "./frames.js";
import { say } from "./strings.js";

const WIDE = 190, HIGH = 10;

export function legend(map) {
  const canvas = make("canvas", { "aria-hidden": "true" }), low = map.signed ? -1 : 0;
  canvas.style.width = `${WIDE}px`;
  canvas.style.height = `${HIGH}px`;
  const tool = pen(canvas, WIDE, HIGH);
  for (let x = 0; x < WIDE; x++) { tool.fillStyle = shade(low + ((1 - low) * x) / (WIDE - 1)); tool.fillRect(x, 0, 1.5, HIGH); }
  const numbers = (map.signed ? [-map.scale, 0, map.scale] : [0, map.scale / 2, map.scale]).map((number) => make("span", { textContent: written(number) }));
  const title = map.signed ? say("legend.signed") : say(map.answer ? "legend.counts" : "legend.weight");
  return make("figure", { class: "legend" }, make("figcaption", { textContent: title }), canvas, make("div", { class: "numbers" }, numbers));
}

const written = (number) => (number === 0 ? "0" : Math.abs(number) >= 0.01 ? number.toFixed(2) : number.toExponential(0));
