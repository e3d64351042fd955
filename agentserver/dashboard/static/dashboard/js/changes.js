// The files that differ from the last commit of the workspace, each with its difference.

import { call } from "./api.js";
import { difference } from "./diff.js";
import { h } from "./dom.js";

const SIGNS = { ADDED: "A", UPDATED: "M", DELETED: "D", MOVED: "R" };
const MOST = 300;

/** Fill `place`. `workspace`: the directory of the conversation. */
export async function showChanges(place, conversation, workspace) {
  place.replaceChildren(h("p", { class: "loading" }, "Looking …"));
  const api = `/api/conversations/${conversation}/git`;
  const again = h("button", { class: "button small", on: { click: () => showChanges(place, conversation, workspace) } }, "Look again");
  let changes;
  try {
    changes = await call("GET", `${api}/changes?path=${encodeURIComponent(workspace)}`);
  } catch (error) {
    place.replaceChildren(h("p", { class: "help" }, error.message), h("p", {}, again));
    return;
  }
  if (!changes.length) {
    place.replaceChildren(h("p", { class: "help" }, "No file differs from the last commit, or the workspace is in no git repository. Edits stand in the timeline in any case."), h("p", {}, again));
    return;
  }
  const more = changes.length > MOST ? h("p", { class: "help" }, `${changes.length - MOST} more files.`) : "";
  place.replaceChildren(h("ul", { class: "changes" }, changes.slice(0, MOST).map((one) => file(api, workspace, one))), more, h("p", {}, again));
}

function file(api, workspace, { status, path }) {
  const box = h("details", {}, h("summary", {}, h("b", { title: status }, SIGNS[status] ?? "?"), String(path)));
  box.addEventListener("toggle", async () => {
    if (!box.open || box.dataset.loaded) return;
    box.dataset.loaded = "yes";
    try {
      const { original, modified } = await call("GET", `${api}/diff?path=${encodeURIComponent(`${workspace}/${path}`)}`);
      box.append(difference("", original, modified));
    } catch (error) {
      box.append(h("p", { class: "help" }, error.message));
    }
  });
  return h("li", {}, box);
}
