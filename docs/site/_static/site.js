// What scrolls by itself must be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll("article pre, article table, .math")) one.tabIndex = 0;
});
