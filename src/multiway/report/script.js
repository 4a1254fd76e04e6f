"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const say = (value) => Number(value.toPrecision(4)).toLocaleString("en").replace("-", "\u2212");
  const data = JSON.parse(document.getElementById("readouts").textContent);

  // A cursor on each chart: by pointer, or by arrow keys once the chart has the focus.
  for (const chart of all("[data-chart]")) {
    const { a, s } = data.charts[chart.dataset.chart];
    const { x, t } = data.axes[a];
    const plot = chart.querySelector(".plot");
    let cursor = null, tip = null, at = x.length - 1;
    const clear = () => { cursor?.remove(); tip?.remove(); cursor = tip = null; };
    const show = (index) => {
      at = Math.max(0, Math.min(x.length - 1, index));
      clear();
      cursor = make("i", "cursor");
      cursor.style.left = `${100 * x[at]}%`;
      tip = make("div", "tip");
      tip.setAttribute("role", "status");
      tip.append(make("p", "", t[at]));
      for (const { n, c, v, w, o } of s) {
        const value = v[at - o], upper = w?.[at - o];
        if (value === undefined || value === null || (c[0] === "s" && chart.closest(`.hide${c.slice(1)}`))) continue;
        const line = make("div");
        const shown = upper === undefined || upper === null ? say(value) : `${say(value)} to ${say(upper)}`;
        line.append(w ? make("i", `patch ${c}`) : swatch(c), make("span", "", n), make("data", "", shown));
        tip.append(line);
      }
      tip.style[x[at] > 0.5 ? "right" : "left"] = `calc(${100 * (x[at] > 0.5 ? 1 - x[at] : x[at])}% + 10px)`;
      plot.append(cursor, tip);
    };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const place = (event.clientX - box.left) / box.width;
      let best = 0;
      for (let i = 1; i < x.length; i++) if (Math.abs(x[i] - place) < Math.abs(x[best] - place)) best = i;
      show(best);
    });
    plot.addEventListener("pointerleave", clear);
    chart.addEventListener("blur", clear);
    chart.addEventListener("keydown", (event) => {
      const jump = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
      if (event.key === "Escape") clear();
      if (jump === undefined) return;
      event.preventDefault();
      show(at + jump);
    });
  }

  // Tables: where one is wider than its box, a line below says so.
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("overflows", target.scrollWidth > target.clientWidth + 1);
  });
  for (const box of all(".scroll")) sizes.observe(box);

  function swatch(style) {
    const svg = document.createElementNS(all("svg")[0].namespaceURI, "svg");
    svg.setAttribute("viewBox", "0 0 22 8");
    svg.setAttribute("class", "swatch");
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("d", "M1 4H21");
    path.setAttribute("class", `line ${style}`);
    svg.append(path);
    return svg;
  }

  // Forecasts: which group, which series, which lines.
  for (const part of all("[data-forecasts]")) {
    const groups = all("[data-group]", part);
    const choose = (index) => groups.forEach((group, i) => { group.hidden = i !== index; });
    choose(0);
    for (const radio of all('input[name="group"]', part))
      radio.addEventListener("change", () => choose(Number(radio.value)));
    part.querySelector("[data-search]")?.addEventListener("input", (event) => {
      const words = event.target.value.trim().toLowerCase();
      for (const group of groups) {
        const figures = all("[data-panel]", group);
        for (const figure of figures)
          figure.hidden = !figure.querySelector("figcaption").textContent.toLowerCase().includes(words);
        const left = figures.filter((figure) => !figure.hidden);
        for (const box of all(".panels, .sparks", group)) box.classList.toggle("one", left.length === 1);
        for (const fold of all("[data-rest]", group)) {
          fold.open = words !== "";
          fold.hidden = !left.some((figure) => fold.contains(figure));
        }
      }
    });
    for (const box of all("[data-series]", part))
      box.addEventListener("change", () => {
        part.classList.toggle(`hide${box.dataset.series}`, !box.checked);
        for (const twin of all(`[data-series="${box.dataset.series}"]`, part)) twin.checked = box.checked;
      });
  }

  // Values: the table of one series; all of them as CSV.
  for (const part of all("[data-values]")) {
    const { axis: [head, places], columns, rows } = JSON.parse(part.querySelector("script").textContent);
    const body = part.querySelector("tbody"), said = part.querySelector("output");
    const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const plain = (text) => text.replaceAll(",", "").replace("\u2212", "-");
    const lines = (mark) => [
      ["unique_id", head, ...columns].map(quote).join(mark),
      ...Object.entries(rows).flatMap(([name, figures]) =>
        figures.map((row, place) => [quote(name), places[place], ...row.map(plain)].join(mark))),
    ].join("\n") + "\n";
    const choice = part.querySelector("[data-choose]");
    choice?.append(...Object.keys(rows).map((name) => make("option", "", name)));
    choice?.addEventListener("change", (event) => {
      body.replaceChildren(...Object.values(rows)[event.target.selectedIndex].map((figures, place) => {
        const line = make("tr"), first = make("th", "", places[place]);
        first.scope = "row";
        line.append(first, ...figures.map((figure) => make("td", "", figure)));
        return line;
      }));
    });
    part.querySelector("[data-copy]").addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(lines("\t"));
        said.textContent = "copied";
      } catch { said.textContent = "the browser does not let this page copy"; }
    });
    part.querySelector("[data-download]").addEventListener("click", () => {
      const link = make("a");
      link.href = URL.createObjectURL(new Blob([lines(",")], { type: "text/csv" }));
      link.download = part.dataset.file;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  // Volumes: a slider moves the strip of slices behind its window.
  for (const plane of all("[data-plane]")) {
    const film = plane.querySelector(".film"), words = JSON.parse(plane.dataset.words);
    plane.querySelector(".slider")?.addEventListener("input", (event) => {
      film.style.setProperty("--at", event.target.value);
      plane.querySelector("output").textContent = words[event.target.value];
    });
  }

  // Attention: which layer and head, and the value under the pointer, read from the picture itself.
  for (const figure of all("[data-heat]")) {
    const plot = figure.querySelector(".hplot"), reading = figure.querySelector(".hreading");
    const rows = JSON.parse(plot.dataset.rows), columns = JSON.parse(plot.dataset.columns);
    const pick = { layer: figure.querySelector("select[data-layer]"), head: figure.querySelector("select[data-head]") };
    const wanted = (element) => ["layer", "head"].every((key) => !pick[key] || element.dataset[key] === pick[key].value);
    let cell = null, row = 0, column = 0;
    const picture = () => all("img", plot).find((image) => !image.hidden);
    const clear = () => { cell?.remove(); cell = null; reading.textContent = ""; };
    const choose = () => {
      for (const element of all(".hplot img, .pairs ol", figure)) element.hidden = !wanted(element);
      const image = picture();
      if (image) figure.querySelector(".ramp [data-largest]").textContent = image.dataset.largest;
      clear();
    };
    pick.layer?.addEventListener("change", choose);
    pick.head?.addEventListener("change", choose);
    const weight = () => {
      const image = picture(), canvas = document.createElement("canvas");
      canvas.width = columns.length; canvas.height = rows.length;
      const pen = canvas.getContext("2d");
      pen.drawImage(image, 0, 0);
      return (1 - pen.getImageData(column, row, 1, 1).data[0] / 255) * Number(image.dataset.scale);
    };
    const show = () => {
      if (!picture()) return;
      if (!cell) { cell = make("i", "cell"); plot.append(cell); }
      cell.style.cssText = `left:${100 * column / columns.length}%;top:${100 * row / rows.length}%;` +
        `width:${100 / columns.length}%;height:${100 / rows.length}%`;
      const share = 100 * weight();
      reading.textContent = `${rows[row]} looks at ${columns[column]}: ${share >= 10 ? share.toFixed(0) : share.toFixed(1)}\u202f%`;
    };
    const keep = (value, count) => Math.max(0, Math.min(count - 1, value));
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      column = keep(Math.floor((event.clientX - box.left) / box.width * columns.length), columns.length);
      row = keep(Math.floor((event.clientY - box.top) / box.height * rows.length), rows.length);
      show();
    });
    plot.addEventListener("pointerleave", clear);
    plot.addEventListener("blur", clear);
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (event.key === "Escape") clear();
      if (!step) return;
      event.preventDefault();
      row = keep(row + step[0], rows.length);
      column = keep(column + step[1], columns.length);
      show();
    });
  }
})();
