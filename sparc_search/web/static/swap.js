// Links and forms marked `data-swap` fetch their page and put its regions in place of ours. The server draws every
// page; without this file the same links and forms load whole pages.
import { say } from "./toast.js";

const WHOLE = "#main,#twin";
let running = null;

export async function visit(address, { push = true, regions = WHOLE, quiet = false } = {}) {
  running?.abort();
  const mine = (running = new AbortController());
  const root = document.documentElement;
  root.dataset.busy = "";
  try {
    const response = await fetch(address, { headers: { Accept: "text/html" }, signal: mine.signal });
    if (response.status === 503) return say("The server is busy. Try again in a moment.");
    if (!response.ok && quiet) return undefined;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.redirected || !page.querySelector("#main")) return location.assign(address);
    put(page, regions);
    if (push && address !== location.href) history.pushState(null, "", address);
    document.dispatchEvent(new Event("sparc:swapped"));
  } catch (error) {
    if (error.name !== "AbortError") say("The server does not answer.");
  } finally {
    if (running === mine) {
      running = null;
      delete root.dataset.busy;
    }
  }
  return undefined;
}

function put(page, regions) {
  const focus = remember(document.activeElement);
  document.title = page.title;
  for (const selector of regions.split(",")) {
    const [ours, theirs] = [document.querySelector(selector), page.querySelector(selector)];
    if (ours && theirs) ours.replaceWith(theirs);
  }
  focus();
}

// Focus stays where it was: on the element of the same id, token or name.
function remember(element) {
  const key = element?.id ? `#${CSS.escape(element.id)}`
    : element?.dataset?.token ? `[data-tokens] [data-token="${element.dataset.token}"]`
    : element?.name ? `[name="${CSS.escape(element.name)}"]${element.type === "radio" ? `[value="${CSS.escape(element.value)}"]` : ""}`
    : element?.getAttribute?.("href") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]`
    : null;
  const at = element?.selectionStart;
  return () => {
    const again = key && document.querySelector(key);
    if (!again || again === document.activeElement) return;
    again.focus({ preventScroll: true });
    if (typeof at === "number" && again.setSelectionRange) again.setSelectionRange(at, at);
  };
}

export function addressOf(form) {
  const query = new URLSearchParams();
  const cleared = new Set();
  for (const input of form.querySelectorAll("[data-clears]")) {
    if (input.value.trim()) input.dataset.clears.split(",").forEach((name) => cleared.add(name));
  }
  for (const [name, value] of new FormData(form)) {
    if (value !== "" && !cleared.has(name)) query.append(name, value);
  }
  const text = query.toString();
  return new URL(form.getAttribute("action") + (text ? `?${text}` : ""), location.origin).href;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap], a.tok");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  visit(link.href);
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-swap]")) return;
  event.preventDefault();
  visit(addressOf(event.target));
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

let typing = 0;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-as-you-type]");
  if (!form || !event.target.matches("[type=search]")) return;
  clearTimeout(typing);
  typing = setTimeout(() => {
    const address = addressOf(form);
    visit(address, { push: false, regions: form.dataset.asYouType, quiet: true });
    history.replaceState(null, "", address);
  }, 180);
});

window.addEventListener("popstate", () => visit(location.href, { push: false }));

// Which explanation is open is part of the address.
document.addEventListener("toggle", (event) => {
  const { rank } = event.target.dataset ?? {};
  if (!rank || !event.target.open) return;
  const here = new URL(location.href);
  if ((here.searchParams.get("rank") ?? "1") === rank) return;
  here.searchParams.set("rank", rank);
  here.searchParams.delete("against");
  history.replaceState(null, "", here);
}, true);
