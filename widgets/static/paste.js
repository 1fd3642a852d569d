/** A box for texts and files that a reader brings: paste, drop or choose. Nothing leaves the page. */
import { button, h, setText, uid } from "./dom.js";

/**
 * Calls `take(texts)` for what was pasted, dropped or chosen (a list of texts, one a file).
 * Returns {view, say(text, wrong), clear()}; attributes are the text area's.
 */
export function pasteBox({ label, choose, attributes = {}, accept, many = false, take }) {
  const says = h("p", { role: "status" }), id = uid("ep-paste");
  const area = h("textarea", { id, spellcheck: "false", autocomplete: "off", ...attributes });
  const read = async (files) => {
    const texts = await Promise.all([...files].slice(0, many ? undefined : 1).map((file) => file.text()));
    if (!texts.length) return;
    area.value = texts.join("\n");
    take(texts);
  };
  const chooser = h("input", { type: "file", accept, multiple: many, hidden: true });
  chooser.addEventListener("change", async () => { await read(chooser.files); chooser.value = ""; });
  area.addEventListener("input", () => take([area.value]));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    area.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      area.classList.toggle("is-over", kind === "dragover");
      if (kind === "drop") read(event.dataTransfer.files);
    });
  }
  const buttons = h("p", {}, button("ep-button", choose, () => chooser.click()), chooser);
  return {
    view: h("div", { class: "ep-paste" }, h("label", { for: id }, label), area, buttons, says),
    buttons,
    say(text, wrong = false) { setText(says, text); says.classList.toggle("ep-wrong", wrong); },
    clear() { area.value = ""; setText(says, ""); },
  };
}
