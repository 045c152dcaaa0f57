// A click on a picture shows it as large as the window, and lets it be moved where it is larger.
document.addEventListener("click", ({ target }) => {
  const picture = target.closest(".md-content img, .md-content svg.picture");
  if (!picture || picture.closest("a, dialog")) return;
  const dialog = document.body.appendChild(document.createElement("dialog"));
  dialog.className = "zoom md-typeset";
  dialog.append(picture.cloneNode(true));
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
});
