// Pictures and data to take away, and the address to share.
import { file } from "./api.js";
import { button, make } from "./dom.js";
import { settle } from "./state.js";
import { say } from "./strings.js";

const FORMATS = ["png", "svg", "json", "html"];

export function exporting(request, told) {
  const buttons = FORMATS.map((format) => button(format.toUpperCase(), () => save(format, request(), told), { class: "small", title: say(`export.${format}`) }));
  return make("div", { class: "export", role: "group", "aria-label": say("export.title") }, make("span", { class: "soft small", textContent: say("export.title") }), buttons, button(say("export.link"), () => copy(told), { class: "small" }));
}

async function save(format, body, told) {
  try {
    const found = await file("/v1/explain", { ...body, format });
    const link = make("a", { href: URL.createObjectURL(found), download: `regard-${body.method}.${format}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    told(say("export.done", { name: link.download }));
  } catch (error) { told(error.message); }
}

async function copy(told) {
  settle();
  try {
    await navigator.clipboard.writeText(location.href);
    told(say("export.copied"));
  } catch { told(location.href); }
}
