// Choosing in a passage: drag (or Shift and arrows) over words for a phrase; a plain click is a link like any other.
// Where `data-selects` is checked, or Alt is held, a drag selects text as anywhere else.
import { fieldsOf, visit } from "./swap.js";
import { say } from "./toast.js";

let from = null;
let to = null;
let dragged = false;
let selecting = false; // kept when a region is swapped
let plain = false; // the drag that has begun selects text

// A link or a button chooses its own word by itself.
const acts = (token) => Boolean(token.href) || token.type === "submit";

// A phrase is of one text: that in which it was begun, or that of the focus.
const place = () => (from ?? document.activeElement)?.closest?.("[data-tokens]") ?? document.querySelector("[data-tokens]");
const tokens = () => [...(place()?.querySelectorAll(".tok") ?? [])];

function range() {
  const all = tokens();
  const [a, b] = [all.indexOf(from), all.indexOf(to)].sort((x, y) => x - y);
  return a < 0 ? [] : all.slice(a, b + 1);
}

function draw() {
  const inside = new Set(range());
  for (const token of document.querySelectorAll("[data-tokens] .tok")) token.classList.toggle("dragging", inside.has(token));
}

function choose() {
  const phrase = range();
  if (!phrase.length) return;
  const address = new URL(location.href);
  address.hash = "";
  const { name = "span", clears = "token,phrase,rows", set, value, form } = place().dataset;
  const span = `${phrase[0].dataset.from}-${phrase.at(-1).dataset.to}`;
  if (form) { // a text that is in no address
    const body = fieldsOf(document.querySelector(form));
    body.set(name, span);
    visit(address.href, { push: false, body });
    return;
  }
  for (const other of clears.split(",")) address.searchParams.delete(other);
  address.searchParams.set(name, span);
  if (set) address.searchParams.set(set, value);
  visit(address.href);
}

document.addEventListener("pointerdown", (event) => {
  const token = event.target.closest?.("[data-tokens] .tok");
  if (event.button) return;
  plain = selecting || event.altKey;
  if (!token || plain) { // begun elsewhere, or text is to be selected
    from = to = null;
    draw();
    return;
  }
  if (!event.shiftKey) from = token;
  to = token;
  dragged = false;
});

document.addEventListener("pointermove", (event) => {
  if (!from || !event.buttons) return;
  const over = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-tokens] .tok");
  if (!over || over === to) return;
  to = over;
  dragged = true;
  draw();
});

document.addEventListener("pointerup", () => {
  if (from && dragged) choose();
});

document.addEventListener("click", (event) => {
  const token = event.target.closest?.("[data-tokens] .tok");
  if (!token) return;
  if (event.detail && (selecting || event.altKey)) { // by mouse; the Enter key chooses all the same
    event.preventDefault();
    event.stopPropagation();
  } else if (dragged) {
    event.preventDefault();
    event.stopPropagation();
    dragged = false;
  } else if (!acts(token) && !event.shiftKey) {
    from = to = token;
    choose();
  } else if (event.shiftKey) {
    event.preventDefault();
    from ??= document.querySelector("[data-tokens] .tok.on") ?? token;
    to = token;
    choose();
  }
}, true);

document.addEventListener("selectstart", (event) => {
  if (!plain && event.target.parentElement?.closest("[data-tokens] .tok")) event.preventDefault();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-selects]")) return;
  selecting = event.target.checked;
  from = to = null;
  draw();
  readable();
});

// Within a link no browser lets a selection begin, so meanwhile words are none.
function readable() {
  for (const box of document.querySelectorAll("[data-selects]")) box.checked = selecting;
  for (const word of document.querySelectorAll("a.tok")) {
    if (selecting && word.hasAttribute("href")) {
      word.dataset.href = word.getAttribute("href");
      word.removeAttribute("href");
    } else if (!selecting && word.dataset.href) word.setAttribute("href", word.dataset.href);
  }
}

// With nothing selected, copying takes the phrase that is chosen in the text that was last looked at.
document.addEventListener("copy", (event) => {
  const chosen = place()?.querySelectorAll(".tok.on");
  if (!chosen?.length || !getSelection().isCollapsed || event.target.matches?.("input, textarea")) return;
  const range = document.createRange();
  range.setStartBefore(chosen[0]);
  range.setEndAfter(chosen[chosen.length - 1]);
  const text = range.cloneContents();
  for (const number of text.querySelectorAll("small")) number.remove();
  event.clipboardData.setData("text/plain", text.textContent.trim());
  event.preventDefault();
  say(`Copied “${text.textContent.trim()}”.`);
});

document.addEventListener("dragstart", (event) => {
  if (event.target.closest?.(".tok")) event.preventDefault();
});

// One stop for the Tab key; arrows walk through the text.
function roving() {
  for (const text of document.querySelectorAll("[data-tokens]")) oneStop([...text.querySelectorAll(".tok")]);
}

function oneStop(all) {
  const stop = all.find((token) => token === document.activeElement) ?? all.find((token) => token.classList.contains("on")) ?? all[0];
  for (const token of all) {
    token.tabIndex = token === stop ? 0 : -1;
    if (!acts(token)) token.setAttribute("role", "button");
  }
}

document.addEventListener("keydown", (event) => {
  const token = event.target.closest?.("[data-tokens] .tok");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!token) return;
  if (from && place() !== token.closest("[data-tokens]")) from = to = null;
  if (event.key === "Enter" && (!acts(token) || (from && to && from !== to))) {
    event.preventDefault();
    from ??= token;
    to ??= token;
    choose();
  }
  if (!step) return;
  const all = tokens();
  const next = all[all.indexOf(token) + step];
  if (!next) return;
  event.preventDefault();
  if (event.shiftKey) {
    from ??= token;
    to = next;
    draw();
  } else {
    from = to = next;
    draw();
  }
  next.focus();
  roving();
});

document.addEventListener("sparc:swapped", () => {
  from = to = null;
  readable();
  roving();
});
roving();
