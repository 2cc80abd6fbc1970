// Why: what is one n-gram lights up wherever it stands, and sliders weigh the parts of the answers anew.
const page = () => document.querySelector(".page-why");

// --- light -----------------------------------------------------------------------------------------------------------
function light(source) {
  const root = page();
  if (!root) return;
  for (const lit of root.querySelectorAll(".lit")) lit.classList.remove("lit");
  root.toggleAttribute("data-lit", false);
  if (!source) return;
  const { g, place } = source.dataset;
  const chosen = (g ?? "").split(" ").filter(Boolean).map((number) => `[data-g~="${number}"]`);
  if (place === "first" || place === "last") chosen.push(`.painted .on.${place}`);
  if (place === "span") chosen.push(".painted .on");
  if (!chosen.length) return;
  root.toggleAttribute("data-lit", true);
  for (const element of root.querySelectorAll(chosen.join(","))) element.classList.add("lit");
  source.classList.add("lit");
}

const lamp = (event) => event.target.closest?.(".page-why [data-g], .page-why [data-place]");
document.addEventListener("pointerover", (event) => light(lamp(event)));
document.addEventListener("focusin", (event) => light(lamp(event)));
document.addEventListener("pointerleave", () => light(null));

// The rows of the difference are one stop for the Tab key; arrows walk through them, and the focus lights them up.
const ROWS = ".tug tr[data-g], .tug tr[data-place]";
const rows = () => [...document.querySelectorAll(ROWS)];

function oneStop() {
  const all = rows();
  const stop = all.find((row) => row === document.activeElement) ?? all[0];
  for (const row of all) row.tabIndex = row === stop ? 0 : -1;
}

document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = event.target.closest?.(ROWS);
  if (!step || !row) return;
  event.preventDefault();
  const all = rows();
  all[all.indexOf(row) + step]?.focus();
  oneStop();
});
document.addEventListener("sparc:swapped", oneStop);
oneStop();

// --- what if ---------------------------------------------------------------------------------------------------------
const GROUPS = ["dense", "sparse", "lexical"];
const minus = (text) => text.replace("-", "−");

function factors() {
  return Object.fromEntries([...document.querySelectorAll("[data-group]")].map((slider) => [slider.dataset.group, Number(slider.value)]));
}

function weigh() {
  const list = document.querySelector("[data-reranked]");
  if (!list) return;
  const by = factors();
  const rows = [...list.children].map((item) => {
    const parts = GROUPS.map((group) => Number(item.dataset[group]) * (by[group] ?? 1));
    return { item, parts, score: parts.reduce((sum, part) => sum + part, 0), was: Number(item.dataset.rank) };
  });
  rows.sort((one, other) => other.score - one.score || one.was - other.was);
  // Parts below zero lie left of the line, the others right of it; all rows have one scale.
  const below = Math.min(0, ...rows.map(({ parts }) => parts.reduce((sum, part) => sum + Math.min(part, 0), 0)));
  const above = Math.max(1e-9, ...rows.map(({ parts }) => parts.reduce((sum, part) => sum + Math.max(part, 0), 0)));
  const percent = (value) => `${(100 * value) / (above - below)}%`;
  const focused = document.activeElement;
  rows.forEach(({ item, parts, score, was }, at) => {
    const ends = { left: -below, right: -below };
    [...item.querySelectorAll("rect")].forEach((rect, number) => {
      const part = parts[number];
      if (part < 0) ends.left += part;
      rect.setAttribute("x", percent(part < 0 ? ends.left : ends.right));
      rect.setAttribute("width", percent(Math.abs(part)));
      if (part > 0) ends.right += part;
    });
    for (const end of ["x1", "x2"]) item.querySelector("line").setAttribute(end, percent(-below));
    item.querySelector("[data-score]").textContent = minus(score.toFixed(2));
    item.querySelector(".rank").textContent = at + 1;
    const moved = was - (at + 1);
    item.querySelector("[data-moved]").textContent = moved ? `${moved > 0 ? "▲" : "▼"} ${Math.abs(moved)}` : "";
    item.classList.toggle("up", moved > 0);
    item.classList.toggle("down", moved < 0);
    list.append(item);
  });
  if (list.contains(focused)) focused.focus();
  for (const slider of document.querySelectorAll("[data-group]")) {
    const told = `× ${Number(slider.value).toFixed(2)}`;
    slider.nextElementSibling.textContent = told;
    slider.setAttribute("aria-valuetext", told);
  }
  const reset = document.querySelector("[data-reset]");
  if (reset) reset.hidden = GROUPS.every((group) => by[group] === 1);
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-group]")) weigh();
});
document.addEventListener("click", (event) => {
  if (!event.target.matches("[data-reset]")) return;
  for (const slider of document.querySelectorAll("[data-group]")) slider.value = 1;
  weigh();
  document.querySelector("[data-group]").focus();
});
document.addEventListener("sparc:swapped", weigh);
weigh();
