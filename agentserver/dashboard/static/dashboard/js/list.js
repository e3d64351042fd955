// The list stays fresh while somebody looks at it; htmx fetches and morphs it.

const SECONDS = 3;

setInterval(() => {
  const list = document.querySelector("[data-live-list]");
  // A list that somebody works in with the keyboard is left alone, and so is one nobody sees.
  if (list && document.visibilityState === "visible") htmx.trigger(list, "refresh");
}, SECONDS * 1000);
