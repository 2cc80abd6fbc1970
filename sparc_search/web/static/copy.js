// Buttons that put a text of the page on the clipboard: of the element they name, or else of the one before them.
import { say } from "./toast.js";

const show = () => document.querySelectorAll("[data-copy], [data-copy-curl]").forEach((button) => { button.hidden = false; });

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : button.previousElementSibling;
  try {
    await navigator.clipboard.writeText(source.textContent);
    say("Copied.");
  } catch { // no clipboard without TLS: show the text, chosen
    source.closest("details")?.setAttribute("open", "");
    getSelection().selectAllChildren(source);
    say("Press Ctrl+C to copy.");
  }
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-curl]");
  if (!button) return;
  const address = new URL(button.dataset.copyCurl, location.href).href.replaceAll("'", "%27");
  await navigator.clipboard.writeText(`curl '${address}'`).then(() => say("Copied."), () => say(address));
});
document.addEventListener("sparc:swapped", show);
show();
