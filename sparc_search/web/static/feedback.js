// Thumbs: said without leaving the page.
import { say } from "./toast.js";

document.addEventListener("submit", async (event) => {
  if (!event.target.matches("form[data-feedback]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(event.target, event.submitter));
  const answer = await fetch("/feedback", { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) return void say("That could not be kept. Try again in a moment.");
  for (const button of event.target.querySelectorAll("button")) button.ariaPressed = String(button === event.submitter);
  const wrong = event.submitter.value === "down";
  say(wrong ? "Kept. Open the passage and drag over the right answer, if it is there." : "Kept.");
});
