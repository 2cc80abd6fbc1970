// Runs before the page is drawn, so that a chosen theme does not flash. Without it the system's own setting decides.
"use strict";
(() => {
  const root = document.documentElement;
  const read = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const write = (value) => { try { localStorage.setItem("theme", value); } catch { /* private window: for this page only */ } };
  const stored = read();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  root.classList.add("js");

  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const flip = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    write(root.dataset.theme);
  };
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false;
      button.addEventListener("click", flip);
    }
  });
  document.addEventListener("sparc:flip-theme", flip);
})();
