// The files that differ from the last commit of the workspace, each with its difference.

import { Refused, call } from "./api.js";
import { difference } from "./diff.js";
import { h } from "./dom.js";

const SIGNS = { ADDED: "A", UPDATED: "M", DELETED: "D", MOVED: "R" };
const MOST = 300;

export async function showChanges(place, conversation) {
  place.replaceChildren(h("p", { class: "loading" }, "Looking …"));
  const api = `/api/conversations/${conversation}/git`;
  let changes;
  try {
    changes = await call("GET", `${api}/changes?path=.`);
  } catch (error) {
    const away = error instanceof Refused && error.status !== 0;
    const text = away ? "The workspace is not in a git repository, so there is nothing to compare with. Edits of files stand in the timeline." : error.message;
    place.replaceChildren(h("p", { class: "help" }, text));
    return;
  }
  const again = h("button", { class: "button small", on: { click: () => showChanges(place, conversation) } }, "Look again");
  if (!changes.length) {
    place.replaceChildren(h("p", { class: "help" }, "No file differs from the last commit."), h("p", {}, again));
    return;
  }
  const more = changes.length > MOST ? h("p", { class: "help" }, `${changes.length - MOST} more files.`) : "";
  place.replaceChildren(h("ul", { class: "changes" }, changes.slice(0, MOST).map((one) => file(api, one))), more, h("p", {}, again));
}

function file(api, { status, path }) {
  const box = h("details", {}, h("summary", {}, h("b", { title: status }, SIGNS[status] ?? "?"), String(path)));
  box.addEventListener("toggle", async () => {
    if (!box.open || box.dataset.loaded) return;
    box.dataset.loaded = "yes";
    try {
      const { original, modified } = await call("GET", `${api}/diff?path=${encodeURIComponent(path)}`);
      box.append(difference("", original, modified));
    } catch (error) {
      box.append(h("p", { class: "help" }, error.message));
    }
  });
  return h("li", {}, box);
}
