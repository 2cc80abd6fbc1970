let timer = 0;

export function say(text) {
  const place = document.querySelector("[data-toast]");
  place.textContent = text;
  place.dataset.shown = "";
  clearTimeout(timer);
  timer = setTimeout(() => delete place.dataset.shown, 2600);
}
