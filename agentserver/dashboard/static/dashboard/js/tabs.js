// Tabs as ARIA describes them: arrows move, the chosen panel is shown.

/** `opened(id)` is called with the id of the panel that is shown. */
export function tabs(list, opened) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const choose = (tab) => {
    for (const one of all) {
      one.setAttribute("aria-selected", String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
      document.getElementById(one.getAttribute("aria-controls")).hidden = one !== tab;
    }
    opened(tab.getAttribute("aria-controls"));
  };
  for (const tab of all) tab.addEventListener("click", () => choose(tab));
  list.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    choose(next);
  });
}
