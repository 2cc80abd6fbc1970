// Drag over the histogram of Discover: the weights between where it began and where it ended.
import { visit } from "./swap.js";

let from = null;
let to = null;

const bar = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-brush] a");

function inside() {
  const all = [...from.parentNode.querySelectorAll("a")];
  const [a, b] = [all.indexOf(from), all.indexOf(to)].sort((x, y) => x - y);
  return all.slice(a, b + 1);
}

document.addEventListener("pointerdown", (event) => {
  from = event.button ? null : event.target.closest?.("[data-brush] a") ?? null;
  to = from;
});

document.addEventListener("pointermove", (event) => {
  const over = from && event.buttons ? bar(event) : null;
  if (!over || over.parentNode !== from.parentNode) return;
  to = over;
  const chosen = new Set(inside());
  for (const one of from.parentNode.querySelectorAll("a")) one.classList.toggle("brushed", chosen.has(one));
});

document.addEventListener("click", (event) => {
  if (!from || !to || from === to) return;
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("pointerup", () => {
  if (!from || !to || from === to) return;
  const chosen = inside();
  const { brush, others } = from.closest("[data-brush]").dataset;
  const address = new URL(location.href);
  const limits = [`${brush}>=${+chosen[0].dataset.least}`, `${brush}<${+chosen.at(-1).dataset.below}`];
  address.searchParams.set("q", [others, chosen.at(-1).nextElementSibling ? limits.join(" ") : limits[0]].filter(Boolean).join(" "));
  for (const name of ["offset", "open", "text", "where", "without", "feature", "without_feature", "document"]) address.searchParams.delete(name);
  visit(address.href);
  setTimeout(() => { from = to = null; });
});

document.addEventListener("dragstart", (event) => {
  if (event.target.closest?.("[data-brush]")) event.preventDefault();
});
