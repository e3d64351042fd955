// Fields that belong to one choice are shown with it; Ctrl+Enter sends.

const form = document.querySelector("form.form");

function show() {
  const chosen = form.querySelector("[name=model]:checked")?.value;
  for (const part of form.querySelectorAll("[data-shown-for]")) part.hidden = part.dataset.shownFor !== chosen;
}

form.addEventListener("change", show);
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
form.addEventListener("submit", () => {
  form.querySelector(".primary").disabled = true; // once is enough
});
addEventListener("pageshow", () => {
  form.querySelector(".primary").disabled = false; // back again from the conversation
});
show();
