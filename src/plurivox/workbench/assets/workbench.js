"use strict";
(() => {
  const root = document.documentElement;
  const say = (text) => { document.getElementById("said").textContent = text; };

  document.getElementById("theme").addEventListener("click", () => {
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* storage is turned off */ }
  });

  // What is deleted is asked about before.
  document.addEventListener("submit", (event) => {
    const asked = event.target.dataset.confirm;
    if (asked && !window.confirm(asked)) event.preventDefault();
  });

  // Files can be dropped anywhere on their form, and go off by themselves.
  const drops = (part) => {
    for (const form of part.querySelectorAll("[data-drop]")) {
      const input = form.querySelector("input[type=file]");
      form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
      form.addEventListener("dragleave", () => form.classList.remove("over"));
      form.addEventListener("drop", (event) => {
        event.preventDefault();
        form.classList.remove("over");
        input.files = event.dataTransfer.files;
        if (input.files.length && !form.querySelector("select")) form.requestSubmit();
      });
    }
  };

  // Points of a scale are put in order with buttons, and taken over into their field.
  const orders = (part) => {
    for (const box of part.querySelectorAll("[data-order]")) {
      const list = box.querySelector("ol");
      list.addEventListener("click", (event) => {
        const line = event.target.closest("li");
        if (event.target.matches("[data-up]") && line.previousElementSibling) line.previousElementSibling.before(line);
        else if (event.target.matches("[data-down]") && line.nextElementSibling) line.nextElementSibling.after(line);
        else return;
        event.target.focus();
        say(`${line.querySelector("span").textContent} is now number ${[...list.children].indexOf(line) + 1}`);
      });
      box.querySelector("[data-take]").addEventListener("click", () => {
        const field = document.getElementById(box.dataset.order);
        field.value = [...list.querySelectorAll("span")].map((one) => one.textContent).join(",");
        field.focus();
        say("The order was entered in the field");
      });
    }
  };

  const copies = (part) => {
    for (const button of part.querySelectorAll("[data-copy-text]")) {
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
          button.textContent = "Copied";
        } catch {
          window.getSelection().selectAllChildren(button.parentElement.querySelector("code"));
          button.textContent = "Selected";
        }
        say(button.textContent);
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  };

  // Marks that the arrow keys have come to are opened with Enter.
  document.addEventListener("keydown", (event) => {
    const link = event.key === "Enter" && event.target.matches?.(".chart") && event.target.querySelector("a.to .at");
    if (link) window.location.assign(link.closest("a").getAttribute("href"));
  });
  // What is saved as a file leads nowhere: there are no pages of this machine in it.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-save]")) return;
    const links = [...event.target.closest("figure").querySelectorAll("a.to")].map((one) => [one, one.getAttribute("href")]);
    for (const [one] of links) one.removeAttribute("href");
    setTimeout(() => { for (const [one, address] of links) one.setAttribute("href", address); });
  }, { capture: true });

  const add = (part) => { drops(part); orders(part); copies(part); };
  add(document);
  // htmx gives new elements the style attributes of those before them, such as the height of a field that somebody
  // pulled larger, and the content policy forbids that. What stays (a note being written) gets its own back.
  let styles = [];
  document.addEventListener("htmx:before:swap", () => {
    styles = [...document.querySelectorAll("#main [id][style]")].map((one) => [one, one.style.cssText]);
    for (const [one] of styles) one.removeAttribute("style");
  });
  document.addEventListener("htmx:after:swap", (event) => {
    for (const [one, text] of styles) if (one.isConnected) one.style.cssText = text;
    styles = [];
    const main = document.getElementById("main");
    if (!main || !event.target) return;
    if (!main.dataset.known) { main.dataset.known = "1"; add(main); }
    main.dispatchEvent(new CustomEvent("plurivox:added", { bubbles: true }));
  });
  const first = document.getElementById("main");
  if (first) first.dataset.known = "1";
})();
