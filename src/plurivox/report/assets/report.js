"use strict";
(() => {
  const FIRST = 25;
  const root = document.documentElement;
  const say = (text) => { document.getElementById("said").textContent = text; };

  // Light or dark: as the system has it, until the reader chooses.
  const theme = document.getElementById("theme");
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    theme.setAttribute("aria-pressed", String(dark));
    theme.textContent = dark ? "Light" : "Dark";
  };
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(system.matches);
  theme.addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  document.getElementById("print").addEventListener("click", () => window.print());

  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // Tables: the first rows until asked for all; sort, search, copy.
  const value = (cell) => ("v" in cell.dataset ? cell.dataset.v : cell.textContent);
  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    const body = table.tBodies[0];
    const more = box.querySelector(".more");
    const search = box.querySelector("[data-search]");
    let all = false;
    const show = () => {
      const wanted = search ? search.value.trim().toLowerCase() : "";
      let found = 0;
      for (const row of body.rows) {
        const hit = !wanted || row.textContent.toLowerCase().includes(wanted);
        if (hit) found += 1;
        row.hidden = !hit || (!all && found > FIRST);
      }
      more.hidden = all || found <= FIRST;
      more.firstElementChild.textContent = `Show all ${found.toLocaleString("en")} rows`;
      if (wanted) say(`${found} rows found`);
    };
    more.firstElementChild.addEventListener("click", () => { all = true; show(); });
    if (search) search.addEventListener("input", show);
    table.tHead.querySelectorAll("[data-sort]").forEach((button, column) => {
      button.addEventListener("click", () => {
        const head = button.parentElement;
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numbers = head.classList.contains("n");
        const key = (row) => {
          const text = value(row.cells[column]);
          return numbers ? (text === "" ? NaN : Number(text)) : text;
        };
        const rows = [...body.rows].map((row, place) => ({ row, place, key: key(row) }));
        rows.sort((a, b) => {
          if (numbers) {
            if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number.isNaN(a.key) - Number.isNaN(b.key) || a.place - b.place;
            return (up ? a.key - b.key : b.key - a.key) || a.place - b.place;
          }
          return (up ? 1 : -1) * a.key.localeCompare(b.key, "en", { numeric: true }) || a.place - b.place;
        });
        body.append(...rows.map((entry) => entry.row));
        show();
        say(`Sorted by ${button.textContent}, ${up ? "ascending" : "descending"}`);
      });
    });
    box.querySelector("[data-copy]").addEventListener("click", async (event) => {
      const quote = (text) => {
        const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
        return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
      };
      const lines = [[...table.tHead.rows[0].cells].map((cell) => cell.textContent), ...[...body.rows].map((row) => [...row.cells].map(value))];
      const text = lines.map((line) => line.map(quote).join(",")).join("\n");
      const button = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        save(`${box.id}.csv`, new Blob([text], { type: "text/csv" }));
        button.textContent = "Saved";
      }
      say(button.textContent);
      setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
    });
    show();
  }

  // Charts as files, in ink that is legible on white.
  for (const figure of document.querySelectorAll("figure")) {
    const source = () => {
      const svg = figure.querySelector(".chart svg").cloneNode(true);
      svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      svg.setAttribute("color", "#222222");
      return svg;
    };
    for (const button of figure.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => {
        const svg = source();
        const blob = new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
        if (button.dataset.save === "svg") { save(`${figure.id}.svg`, blob); return; }
        const image = new Image();
        image.onload = () => {
          const scale = 2;
          const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
          const canvas = document.createElement("canvas");
          canvas.width = width * scale;
          canvas.height = height * scale;
          const context = canvas.getContext("2d");
          context.fillStyle = "#ffffff";
          context.fillRect(0, 0, canvas.width, canvas.height);
          context.drawImage(image, 0, 0, canvas.width, canvas.height);
          canvas.toBlob((png) => save(`${figure.id}.png`, png));
          URL.revokeObjectURL(image.src);
        };
        image.src = URL.createObjectURL(blob);
      });
    }
  }

  // A finding leads to its evidence, and the keyboard goes along.
  for (const link of document.querySelectorAll(".findings a, nav a")) {
    link.addEventListener("click", () => {
      const target = document.getElementById(link.getAttribute("href").slice(1));
      if (target) { target.setAttribute("tabindex", "-1"); target.focus({ preventScroll: true }); }
    });
  }
})();
