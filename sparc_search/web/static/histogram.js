// What a column of a histogram stands for, told below it: under the pointer, or walked to with the arrow keys.
const COLUMNS = ".histogram svg > rect, .histogram svg > a";

const columnsOf = (svg) => [...svg.children].filter((column) => column.matches(COLUMNS));

function tell(column) {
  const figure = column.closest(".histogram");
  for (const other of figure.querySelectorAll(".told")) other.classList.remove("told");
  column.classList.add("told");
  figure.querySelector("output").textContent = column.querySelector("title").textContent;
}

// One stop for the Tab key: the drawing, or where its columns are links one of them.
function stops() {
  for (const svg of document.querySelectorAll(".histogram svg")) {
    const links = columnsOf(svg).filter((column) => column.matches("a"));
    const stop = links.find((link) => link === document.activeElement) ?? links[0];
    for (const link of links) link.setAttribute("tabindex", link === stop ? 0 : -1);
    if (!links.length) svg.setAttribute("tabindex", 0);
  }
}

document.addEventListener("pointerover", (event) => {
  const column = event.target.closest?.(COLUMNS);
  if (column) tell(column);
});

document.addEventListener("focusin", (event) => {
  if (event.target.matches?.(".histogram a")) tell(event.target);
});

document.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const svg = event.target.closest?.(".histogram svg");
  if (!step || !svg) return;
  event.preventDefault();
  const all = columnsOf(svg);
  const here = all.findIndex((column) => column === document.activeElement || column.matches(".told"));
  const next = all[Math.min(Math.max(here + step, 0), all.length - 1)];
  tell(next);
  if (!next.matches("a")) return;
  next.focus();
  stops();
});

document.addEventListener("sparc:swapped", stops);
stops();
