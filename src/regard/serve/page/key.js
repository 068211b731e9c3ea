// The question for the service's key. It is kept for this tab only.
import { button, clear, labelled, make } from "./dom.js";
import { say } from "./strings.js";

let open = null;

// The key somebody types; whoever asks meanwhile gets the same.
export function askForKey(reason, before) {
  open ??= asked(reason, before).finally(() => { open = null; });
  return open;
}

function asked(reason, before) {
  const dialog = document.getElementById("key");
  const field = make("input", { type: "password", autocomplete: "off", required: true });
  return new Promise((resolve) => {
    const form = make("form", { on: { submit: (event) => { event.preventDefault(); dialog.close(); resolve(field.value.trim()); } } },
      make("h2", { textContent: say("key.title"), id: "key-title" }),
      make("p", { class: "soft", textContent: before ? say("key.wrong") : say("key.why") }),
      make("p", { class: "soft small", textContent: reason }),
      labelled(say("key.label"), field),
      make("div", { class: "row end" }, make("button", { class: "primary", textContent: say("key.use") })),
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    clear(dialog, form);
    if (!dialog.open) dialog.showModal();
    field.focus();
  });
}
