// Buttons that put a text of the page on the clipboard.
import { say } from "./toast.js";

const show = () => document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    say("Copied.");
  } catch { // no clipboard without TLS: show the text, chosen
    source.closest("details")?.setAttribute("open", "");
    getSelection().selectAllChildren(source);
    say("Press Ctrl+C to copy.");
  }
});
document.addEventListener("sparc:swapped", show);
show();
