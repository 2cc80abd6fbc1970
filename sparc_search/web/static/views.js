// Views of Discover by name, kept by this browser and by nobody else. A view is its address.
import { say } from "./toast.js";

const KEY = "sparc-search views";

function stored() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(({ name, query }) => typeof name === "string" && typeof query === "string") : [];
  } catch {
    return [];
  }
}

function store(views) {
  try {
    localStorage.setItem(KEY, JSON.stringify(views));
    return true;
  } catch {
    say("This browser keeps nothing: take the link instead.");
    return false;
  }
}

function draw() {
  const list = document.querySelector("[data-view-list]");
  list?.replaceChildren(...stored().map(({ name, query }) => {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: `/discover${query.startsWith("?") ? query : ""}`, textContent: name });
    link.dataset.swap = "";
    const away = Object.assign(document.createElement("button"), { type: "button", className: "ghost", textContent: "×", ariaLabel: `Forget ${name}` });
    away.dataset.viewAway = name;
    item.append(link, away);
    return item;
  }));
}

function save() {
  const box = document.querySelector("[data-view-name]");
  const name = box.value.trim() || document.querySelector("[name=q]")?.value.trim() || "everything";
  const others = stored().filter((view) => view.name !== name);
  if (store([...others, { name, query: location.search }])) say(`Saved as ${name}.`);
  box.value = "";
  draw();
}

document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-view-save]")) save();
  const away = event.target.closest("[data-view-away]");
  if (away && store(stored().filter((view) => view.name !== away.dataset.viewAway))) draw();
  if (event.target.closest("[data-copy-link]")) {
    await navigator.clipboard.writeText(location.href).then(() => say("Copied."), () => say("The address of this page is the link."));
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches?.("[data-view-name]")) return;
  event.preventDefault();
  save();
});
document.addEventListener("sparc:swapped", draw);
draw();
