// `/` goes to the search box, `J` and `K` through what is listed, `T` turns light into dark.
const typing = (element) => element?.matches?.("input:not([type=radio]), select, textarea");

function walk(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  if (!items.length) return;
  const here = items.findIndex((item) => item.contains(document.activeElement));
  const next = items[Math.min(Math.max(here + step, 0), items.length - 1)];
  const target = next.querySelector("[data-open]") ?? next.querySelector("summary, a");
  target?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const ACTIONS = {
  "/": () => {
    const box = document.querySelector("[data-main-search]");
    box?.focus();
    box?.select();
  },
  j: () => walk(1),
  k: () => walk(-1),
  t: () => document.dispatchEvent(new Event("sparc:flip-theme")),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && typing(event.target)) event.target.blur();
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = ACTIONS[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
});
