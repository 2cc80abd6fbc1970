// Links and forms marked `data-swap` fetch their page and put its regions in place of ours. The server draws every
// page; without this file the same links and forms load whole pages.
import { say } from "./toast.js";

const WHOLE = "#main,#twin";
let running = null;
const place = () => location.pathname + location.search;
let shown = place();

export async function visit(address, { push = true, regions = WHOLE, quiet = false, body = null } = {}) {
  running?.abort();
  const mine = (running = new AbortController());
  document.querySelector("#main").setAttribute("aria-busy", "true");
  try {
    const response = await fetch(address, { method: body ? "POST" : "GET", body, headers: { Accept: "text/html" }, signal: mine.signal });
    if (response.status === 503) return say("The server is busy. Try again in a moment.");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.redirected || !page.querySelector("#main")) return location.assign(address);
    if (quiet && (!response.ok || page.querySelector("#box[aria-invalid]"))) {
      return page.querySelector("#box-error:not([data-unfinished])") && put(page, "#box-error"); // the rest stays as it is
    }
    put(page, regions);
    if (push === "replace") history.replaceState(null, "", address);
    else if (push && address !== location.href) history.pushState(null, "", address);
    shown = place();
    document.dispatchEvent(new Event("sparc:swapped"));
  } catch (error) {
    if (error.name !== "AbortError") say("The server does not answer.");
  } finally {
    if (running === mine) {
      running = null;
      document.querySelector("#main").removeAttribute("aria-busy");
    }
  }
  return undefined;
}

function put(page, regions) {
  const focus = remember(document.activeElement);
  const opened = new Map([...document.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  document.title = page.title;
  for (const selector of regions.split(",")) {
    const [ours, theirs] = [document.querySelector(selector), page.querySelector(selector)];
    if (!ours || !theirs) continue;
    for (const one of theirs.querySelectorAll("details[id]")) if (opened.has(one.id)) one.open = opened.get(one.id);
    fill(ours, theirs);
  }
  focus();
}

// A region that announces itself must stay the element it was: its children are exchanged.
function fill(ours, theirs) {
  for (const { name } of [...ours.attributes]) if (!theirs.hasAttribute(name)) ours.removeAttribute(name);
  for (const { name, value } of theirs.attributes) ours.setAttribute(name, value);
  const told = ours.querySelector("[role=status]");
  const news = theirs.querySelector("[role=status]");
  if (told && news) {
    told.replaceChildren(...news.childNodes);
    news.replaceWith(told);
  }
  ours.replaceChildren(...theirs.childNodes);
}

// Focus stays where it was: on the element of the same id, token or name.
function remember(element) {
  const key = element?.id ? `#${CSS.escape(element.id)}`
    : element?.dataset?.token ? `[data-tokens] [data-token="${element.dataset.token}"]`
    : element?.name ? `[name="${CSS.escape(element.name)}"]${["radio", "submit"].includes(element.type) ? `[value="${CSS.escape(element.value)}"]` : ""}`
    : element?.getAttribute?.("href") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]`
    : null;
  const at = element?.selectionStart;
  return () => {
    const again = key && document.querySelector(key);
    if (!again || again === document.activeElement) return;
    if (again.tabIndex < 0) again.tabIndex = -1; // a word of a text, which takes the focus only if it is told so
    again.focus({ preventScroll: true });
    if (typeof at === "number" && again.setSelectionRange) again.setSelectionRange(at, at);
  };
}

export function fieldsOf(form, button = null) {
  const query = new URLSearchParams();
  const cleared = new Set();
  for (const input of form.querySelectorAll("[data-clears]")) {
    if (input.value.trim()) input.dataset.clears.split(",").forEach((name) => cleared.add(name));
  }
  for (const [name, value] of new FormData(form, button)) {
    if (value !== "" && !cleared.has(name)) query.append(name, value);
  }
  return query;
}

function addressOf(form) {
  const text = fieldsOf(form).toString();
  return new URL(form.getAttribute("action") + (text ? `?${text}` : ""), location.origin).href;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap], a.tok");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  visit(new URL(link.getAttribute("href"), location.href).href); // a link within a drawing has no plain `href`
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-swap]")) return;
  event.preventDefault();
  clearTimeout(typing);
  const form = event.target;
  if (form.getAttribute("method") !== "post") return void visit(addressOf(form));
  visit(form.getAttribute("action"), { push: false, body: fieldsOf(form, event.submitter) }); // what is typed there is in no address
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

let typing = 0;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-as-you-type]");
  if (!form || !event.target.matches("[type=search]")) return;
  clearTimeout(typing);
  typing = setTimeout(() => visit(addressOf(form), { push: "replace", regions: form.dataset.asYouType, quiet: true }), 180);
});

// A step to another part of the same page is one for the browser alone.
window.addEventListener("popstate", () => place() === shown || visit(location.href, { push: false }));

// Which explanation is open is part of the address; it is drawn when it is first opened.
document.addEventListener("toggle", async (event) => {
  const { rank, why } = event.target.dataset ?? {};
  if (!rank || !event.target.open) return;
  if (why) {
    delete event.target.dataset.why;
    await explain(event.target, why);
  }
  const here = new URL(location.href);
  if ((here.searchParams.get("rank") ?? "1") === rank) return;
  here.searchParams.set("rank", rank);
  here.searchParams.delete("against");
  history.replaceState(null, "", here);
  shown = place();
}, true);

async function explain(details, address) {
  const place = details.querySelector("[data-explanation]");
  place.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(address, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const theirs = page.querySelector(`details[data-rank="${details.dataset.rank}"] [data-explanation]`);
    if (!response.ok || !theirs) throw new Error(String(response.status));
    place.replaceChildren(...theirs.childNodes);
    document.dispatchEvent(new Event("sparc:swapped"));
  } catch {
    details.dataset.why = address; // to be tried again
    details.open = false;
    say("The server does not answer.");
  } finally {
    place.removeAttribute("aria-busy");
  }
}
