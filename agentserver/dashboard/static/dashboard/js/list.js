// The list stays fresh while somebody looks at it; htmx fetches and morphs it.

let waited = 0;

setInterval(() => {
  const list = document.querySelector("[data-live-list]");
  waited += 1;
  // The list says how often: a search costs more.
  if (!list || document.visibilityState !== "visible" || waited < Number(list.dataset.liveList)) return;
  waited = 0;
  htmx.trigger(list, "refresh");
}, 1000);
