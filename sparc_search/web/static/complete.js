// What may follow in the box of Discover: a list below it, walked with the arrow keys, taken with Enter or Tab.
let timer = 0;
let asked = 0;

const listOf = (box) => document.querySelector(box.dataset.complete);
const options = (list) => [...list.children];

function close(box) {
  const list = listOf(box);
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function prepare(box) {
  for (const [name, value] of [["role", "combobox"], ["aria-controls", listOf(box).id], ["aria-autocomplete", "list"]]) box.setAttribute(name, value);
  if (!box.hasAttribute("aria-expanded")) box.setAttribute("aria-expanded", "false");
}

function show(box, completions) {
  const list = listOf(box);
  list.replaceChildren(...completions.map(({ typed, term, passages }, number) => {
    const option = Object.assign(document.createElement("li"), { id: `completion-${number}`, role: "option" });
    option.dataset.typed = typed;
    option.setAttribute("aria-selected", "false");
    option.append(Object.assign(document.createElement("span"), { textContent: term, dir: "auto" }));
    if (passages !== null) option.append(Object.assign(document.createElement("small"), { textContent: passages }));
    return option;
  }));
  list.hidden = !completions.length;
  box.setAttribute("aria-expanded", String(!list.hidden));
}

function take(box, option) {
  box.value = option.dataset.typed + (option.dataset.typed.endsWith(":") ? "" : " ");
  close(box);
  box.focus();
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

function walk(box, step) {
  const all = options(listOf(box));
  const here = all.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const next = all[(here + step + all.length + (here < 0 && step < 0 ? 1 : 0)) % all.length];
  for (const option of all) option.setAttribute("aria-selected", String(option === next));
  box.setAttribute("aria-activedescendant", next.id);
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("input", (event) => {
  const box = event.target;
  if (!box.dataset?.complete) return;
  prepare(box);
  clearTimeout(timer);
  const mine = ++asked;
  if (!box.value || box.value.endsWith(" ")) return void close(box);
  timer = setTimeout(async () => {
    const answer = await fetch(`/api/v1/complete?${new URLSearchParams({ q: box.value })}`).catch(() => null);
    if (!answer?.ok || mine !== asked || document.activeElement !== box) return;
    show(box, (await answer.json()).completions);
  }, 120);
});

document.addEventListener("keydown", (event) => {
  const box = event.target;
  if (!box.dataset?.complete || listOf(box).hidden) return;
  const chosen = options(listOf(box)).find((option) => option.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    walk(box, event.key === "ArrowDown" ? 1 : -1);
  } else if (chosen && (event.key === "Enter" || event.key === "Tab")) {
    event.preventDefault();
    take(box, chosen);
  } else if (event.key === "Escape") {
    event.preventDefault();
    event.stopImmediatePropagation();
    close(box);
  } else if (event.key === "Enter") close(box);
}, true);

document.addEventListener("pointerdown", (event) => {
  const option = event.target.closest?.(".completions [role=option]");
  const box = document.querySelector("[data-complete]");
  if (option) {
    event.preventDefault();
    take(box, option);
  } else if (box && event.target !== box) close(box);
});

document.addEventListener("focusout", (event) => {
  if (event.target.dataset?.complete) close(event.target);
});
