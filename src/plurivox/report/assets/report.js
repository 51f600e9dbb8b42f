"use strict";
(() => {
  const FIRST = 25;
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const say = (text) => { byId("said").textContent = text; };
  const made = (tag, text, cls) => {
    const one = document.createElement(tag);
    if (text !== undefined) one.textContent = text;
    if (cls) one.className = cls;
    return one;
  };

  // Light or dark: as the system has it, until the reader chooses.
  const theme = byId("theme");
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    theme.setAttribute("aria-pressed", String(dark));
    theme.textContent = dark ? "Light" : "Dark";
  };
  setTheme(root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
  theme.addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  const print = byId("print");
  if (print) print.addEventListener("click", () => window.print());

  const save = (name, blob) => {
    const link = made("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // Tables are kept as data and drawn when they are first seen: the first rows until asked for all; sort, search, copy.
  class Table {
    constructor(box) {
      this.box = box;
      this.columns = JSON.parse(box.querySelector("script").textContent);
      this.order = [...(this.columns[0] ? this.columns[0].v : []).keys()];
      this.all = false;
      this.more = box.querySelector(".more");
      this.search = box.querySelector("[data-search]");
      this.more.firstElementChild.addEventListener("click", () => { this.all = true; this.fill(); });
      if (this.search) this.search.addEventListener("input", () => { this.fill(); say(`${this.found} rows found`); });
      box.querySelector("[data-copy]").addEventListener("click", (event) => this.copy(event.currentTarget));
    }

    value(column, row) { return column.w ? column.w[column.v[row]] : column.v[row]; }

    written(column, value) {
      if (value === null) return "–";
      if (typeof value !== "number") return value;
      column.form ??= new Intl.NumberFormat("en", { minimumFractionDigits: column.d, maximumFractionDigits: column.d });
      const shown = column.form.format(value);
      return /^-[0.,]+$/.test(shown) ? shown.slice(1) : shown;
    }

    // A value, its interval if one is known, and what is after it.
    text(column, row) {
      const value = this.value(column, row), low = column.l ? column.l[row] : null, after = column.a ? column.a[row] : "";
      const ends = value === null || low === null ? "" : ` [${this.written(column, low)}, ${this.written(column, column.h[row])}]`;
      if (value === null && after) return after;
      return this.written(column, value) + ends + (after ? ` ${after}` : "");
    }

    holds(column, row, wanted) {
      column.low ??= column.v.map((_, at) => this.text(column, at).toLowerCase());
      return column.low[row].includes(wanted);
    }

    draw() {
      if (this.body) return;
      const table = made("table"), head = made("tr");
      table.append(made("caption", this.box.querySelector(".scroll").getAttribute("aria-label"), "sr"));
      this.columns.forEach((column, at) => {
        const cell = made("th", undefined, "d" in column ? "n" : "t"), button = made("button", column.n);
        cell.scope = "col";
        button.type = "button";
        button.addEventListener("click", () => this.sort(at, cell));
        cell.append(button);
        head.append(cell);
      });
      const top = made("thead");
      top.append(head);
      this.head = head;
      this.body = made("tbody");
      table.append(top, this.body);
      this.box.querySelector(".scroll").append(table);
      this.fill();
    }

    fill() {
      const wanted = this.search ? this.search.value.trim().toLowerCase() : "";
      const hit = (row) => !wanted || this.columns.some((column) => this.holds(column, row, wanted));
      const rows = this.order.filter(hit);
      this.found = rows.length;
      this.body.replaceChildren(...rows.slice(0, this.all ? rows.length : FIRST).map((row) => this.row(row)));
      this.more.hidden = this.all || rows.length <= FIRST;
      this.more.firstElementChild.textContent = `Show all ${rows.length.toLocaleString("en")} rows`;
    }

    row(row) {
      const line = made("tr");
      for (const column of this.columns) {
        const cell = made("td", this.text(column, row), "d" in column ? "n" : "t");
        if (!("d" in column)) cell.dir = "auto";
        line.append(cell);
      }
      return line;
    }

    sort(at, cell) {
      const column = this.columns[at], up = cell.getAttribute("aria-sort") !== "ascending";
      for (const other of this.head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      const far = { "∞": Infinity, "−∞": -Infinity };
      const key = (row) => { const value = this.value(column, row); return value in far ? far[value] : value; };
      this.order.sort((a, b) => {
        const [one, other] = [key(a), key(b)];
        if (one === null || other === null) return (one === null) - (other === null) || a - b;
        const step = "d" in column ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
        return (up ? step : -step) || a - b;
      });
      this.fill();
      say(`Sorted by ${column.n}, ${up ? "ascending" : "descending"}`);
    }

    async copy(button) {
      const quote = (value) => {
        const text = value === null ? "" : String(value);
        const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
        return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
      };
      const parts = (column, row) => [this.value(column, row), ...(column.l ? [column.l[row], column.h[row]] : [])];
      const lines = [this.columns.flatMap((column) => (column.l ? ["", " low", " high"] : [""]).map((end) => column.n + end))];
      for (const row of this.order) lines.push(this.columns.flatMap((column) => parts(column, row)));
      const text = lines.map((line) => line.map(quote).join(",")).join("\n");
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        save(`${this.box.id}.csv`, new Blob([text], { type: "text/csv" }));
        button.textContent = "Saved";
      }
      say(button.textContent);
      setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
    }

    says(wanted) {
      return this.columns.some((column) => column.n.toLowerCase().includes(wanted) || this.order.some((row) => this.holds(column, row, wanted)));
    }
  }
  const tables = new Map();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { tables.get(entry.target).draw(); seen.unobserve(entry.target); }
  }, { rootMargin: "600px" });
  const addTable = (box) => { tables.set(box, new Table(box)); seen.observe(box); };
  window.addEventListener("beforeprint", () => {
    for (const [box, table] of tables) if (box.offsetParent !== null) table.draw();
  });

  // A switch shows one chart of several.
  const addSwitch = (one) => {
    const buttons = [...one.querySelectorAll("[data-show]")];
    const show = (id) => {
      for (const button of buttons) {
        const on = button.dataset.show === id;
        button.setAttribute("aria-pressed", String(on));
        const choice = byId(button.dataset.show).parentElement;
        choice.hidden = !on;
        choice.classList.toggle("later", !on);
      }
    };
    for (const button of buttons) button.addEventListener("click", () => { show(button.dataset.show); say(button.textContent); });
    show(buttons[0].dataset.show);
    one.addEventListener("reveal", (event) => show(event.detail));
  };

  // The value of a mark, beside the pointer, and with the arrow keys once a chart has the focus.
  const tip = byId("tip");
  const point = (chart, mark) => {
    for (const other of chart.querySelectorAll(".at")) other.classList.remove("at");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("aria-label");
    const at = mark.getBoundingClientRect();
    const left = Math.min(at.left + at.width / 2 + 8, root.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${window.scrollX + Math.max(8, left)}px`;
    tip.style.top = `${window.scrollY + at.top - tip.offsetHeight - 8}px`;
  };
  const addChart = (chart) => {
    const wide = chart.querySelectorAll(".on-wide [aria-label]");
    chart.querySelectorAll("[data-said]").forEach((mark, at) => mark.setAttribute("aria-label", wide[at].getAttribute("aria-label")));
    for (const mark of chart.querySelectorAll("svg [aria-label]")) mark.setAttribute("role", "img");
    const marks = () => [...chart.querySelectorAll("svg [aria-label]")].filter((one) => one.getClientRects().length);
    const value = chart.parentElement.querySelector(".value");
    let place = -1;
    chart.addEventListener("pointerover", (event) => {
      const mark = event.target.closest("[aria-label]");
      point(chart, mark === chart ? null : mark);
    });
    chart.addEventListener("pointerleave", () => point(chart, null));
    chart.addEventListener("blur", () => point(chart, null));
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") { place = -1; point(chart, null); }
      const all = step ? marks() : [];
      if (!all.length) return;
      event.preventDefault();
      place = place < 0 && step < 0 ? all.length - 1 : (place + step + all.length) % all.length;
      point(chart, all[place]);
      all[place].classList.add("at");
      value.textContent = all[place].getAttribute("aria-label");
    });
  };

  // Charts as files, in the fonts and colours of a light page.
  const addFigure = (figure) => {
    const source = () => {
      const svg = figure.querySelector(".on-wide svg").cloneNode(true);
      svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      for (const text of svg.querySelectorAll("text:not([fill])")) text.setAttribute("fill", "#222222");
      svg.setAttribute("font-family", "Arial, 'Liberation Sans', Helvetica, sans-serif");
      svg.setAttribute("font-size", "11");
      svg.setAttribute("overflow", "visible");
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
          const canvas = made("canvas");
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
  };

  // What is in a part of the page works from here on; parts that come later bring it along themselves.
  const known = new WeakSet();
  const add = (part) => {
    for (const [name, set] of [[".table", addTable], [".switch", addSwitch], [".chart", addChart], ["figure", addFigure]]) {
      for (const one of [...(part.matches(name) ? [part] : []), ...part.querySelectorAll(name)]) {
        if (!known.has(one)) { known.add(one); set(one); }
      }
    }
  };
  add(root);
  root.addEventListener("plurivox:added", (event) => add(event.target));

  // A link leads to its evidence, wherever that is folded away, and the keyboard goes along.
  const reveal = (id) => {
    const target = byId(id);
    if (!target) return;
    for (let one = target; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") one.open = true;
      if (one.classList && one.classList.contains("switch")) {
        const figure = target.closest("figure");
        if (figure) one.dispatchEvent(new CustomEvent("reveal", { detail: figure.id }));
      }
    }
    for (const [box, table] of tables) {  // drawn on the way, they would push it out of sight
      if (box.offsetParent !== null && box.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING) table.draw();
    }
    target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) reveal(link.getAttribute("href").slice(1));
  });
  if (location.hash) reveal(decodeURIComponent(location.hash.slice(1)));

  // Search in the appendix: what does not hold the words is hidden.
  const find = byId("find");
  if (find) {
    const blocks = [...document.querySelectorAll("#appendix .block")].filter((one) => !one.parentElement.closest("#appendix .block"));
    const shown = (one) => (one.tagName === "SCRIPT" ? "" : one.firstChild ? [...one.childNodes].map(shown).join("") : one.textContent);
    const texts = new Map();
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      let found = 0;
      for (const block of blocks) {
        const own = [...block.querySelectorAll(".table"), ...(block.matches(".table") ? [block] : [])];
        if (!texts.has(block)) texts.set(block, [...block.childNodes].map(shown).join(" ").toLowerCase());
        const hit = !wanted || texts.get(block).includes(wanted) || own.some((box) => tables.get(box).says(wanted));
        block.classList.toggle("missed", !hit);
        block.hidden = !hit;
        found += hit;
      }
      for (const one of document.querySelectorAll("#appendix .switch")) {  // of its charts, one that holds the words
        const hits = [...one.querySelectorAll("figure")].filter((figure) => !figure.hidden);
        if (hits.length && hits.every((figure) => figure.parentElement.hidden)) one.dispatchEvent(new CustomEvent("reveal", { detail: hits[0].id }));
      }
      for (const part of document.querySelectorAll("#appendix section, #appendix .switch")) {
        part.hidden = !blocks.some((one) => !one.hidden && part.contains(one));
      }
      byId("hits").textContent = wanted ? `${found} of ${blocks.length} parts` : "";
    });
  }
})();
