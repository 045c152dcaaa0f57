// Runs before everything else, and also where the rest cannot: a browser does not load modules and workers from files.

if (location.protocol === "file:") {
  document.addEventListener("DOMContentLoaded", () => {
    const folder = decodeURIComponent(location.pathname).replace(/[^/]*$/, "");
    const place = document.getElementById("message")!;
    const command = document.createElement("code");
    command.textContent = `python3 -m http.server 8000 --bind 127.0.0.1 --directory '${folder.replaceAll("'", "'\\''")}'`;
    place.replaceChildren(
      "A browser does not run this page from a file. Serve its folder with this command: ",
      command,
      " and then open 127.0.0.1:8000 in the browser.",
    );
    place.hidden = false;
    place.classList.add("problem");
    document.getElementById("top")!.hidden = true;
    for (const panel of document.querySelectorAll<HTMLElement>("main > section")) panel.hidden = true;
  });
}
