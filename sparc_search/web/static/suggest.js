// Names to choose from while someone types one.
let timer = 0;

document.addEventListener("input", (event) => {
  const list = event.target.dataset?.suggest && document.querySelector(event.target.dataset.suggest);
  if (!list) return;
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const text = event.target.value;
    if (!text.trim()) return list.replaceChildren();
    const answer = await fetch(`/api/suggest?${new URLSearchParams({ text })}`).catch(() => null);
    if (!answer?.ok) return undefined;
    const { features } = await answer.json();
    return list.replaceChildren(...features.map(({ text: name }) => Object.assign(document.createElement("option"), { value: name })));
  }, 150);
});
