// One plot with its readout. A panel knows nothing of runs and flows: it is given
// members (whose lines to draw) and quantities (which lines each has).

const NARROW = 560;
const MARGIN = { top: 20, right: 14, bottom: 26, left: 56 };
/** A label of so many characters fits below the value axis; a longer one has its own line. */
const SHORT_LABEL = 8;

let waiting = new Set();

/** Draws every panel that waits, once per screen refresh. */
function drawWaiting() {
  const panels = waiting;
  waiting = new Set();
  for (const panel of panels) panel.refresh();
}

/** One plot: its lines, its readout beside it, and what the pointer and keys do. */
class Panel {
  /**
   * `spec`: unit, height, quantities [{key, label, kind, series(member)}], and
   * columns(panel) for the readout. Optional: log (true, false: can be
   * switched), range(panel), front(panel, x, y) and back(panel, x, y) for
   * marks of its own, still (no cursor), text(value) for ticks.
   */
  constructor(figure, axis, members, spec) {
    Object.assign(this, { figure, axis, members, spec, stale: true, drag: null });
    this.heading = figure.querySelector("h3");
    this.tools = element('<div class="tools"></div>');
    this.stage = element('<div class="stage"><svg class="plot"></svg></div>');
    this.svg = this.stage.firstElementChild;
    this.readout = element('<table class="readout"></table>');
    const body = element('<div class="body"></div>');
    body.append(this.stage, this.readout);
    this.heading.after(this.tools);
    figure.append(body);
    if (spec.log !== undefined) {
      this.choose("Scale", ["linear", "log"], spec.log ? "log" : "linear", (name) => {
        spec.log = name === "log";
        if (spec.logX) this.axis.log = spec.log;
        this.touch(true);
      });
    }
    const saveButton = element('<button type="button" class="tool" title="Save this plot as an SVG file">SVG</button>');
    saveButton.onclick = () => save(this);
    this.tools.append(saveButton);
    axis.panels.push(this);
    listen(this);
    new ResizeObserver(() => this.touch(true)).observe(this.stage);
    new IntersectionObserver(([{ isIntersecting }]) => {
      this.near = isIntersecting;
      this.touch(false);
    }, { rootMargin: "300px" }).observe(figure);
  }

  /** Adds a row of buttons of which one is pressed. */
  choose(label, names, chosen, then) {
    const group = element(`<div class="choice" role="group" aria-label="${escapeText(label)}"></div>`);
    for (const name of names) {
      const button = element(`<button type="button" class="tool" aria-pressed="${name === chosen}">${escapeText(name)}</button>`);
      button.onclick = () => {
        for (const other of group.children) other.setAttribute("aria-pressed", other === button);
        then(name);
      };
      group.append(button);
    }
    this.tools.prepend(group);
  }

  /** Asks to be drawn again: all of it, or the cursor alone. */
  touch(all) {
    this.stale ||= all;
    if (!waiting.size) requestAnimationFrame(drawWaiting);
    waiting.add(this);
  }

  /** Draws what has changed, unless it is out of sight and can wait. */
  refresh() {
    if (this.drawn && this.near === false) return;
    if (this.stale) this.draw();
    this.drawCursor();
    this.drawReadout();
  }

  /** Every line that is switched on: [member, quantity, series]. */
  lines() {
    const lines = [];
    for (const quantity of this.spec.quantities) {
      if (quantity.off) continue;
      for (const member of this.members) {
        const series = member.on ? quantity.series(member) : null;
        if (series?.t.length) lines.push([member, quantity, series]);
      }
    }
    return lines;
  }

  axisLabel() {
    return `${this.axis.label}, ${this.axis.unit}`;
  }

  /** Lowest positive and highest value in view. */
  extent(lines) {
    let [lo, hi] = [Infinity, 0];
    for (const [, { kind }, { t, v }] of lines) {
      const stepped = ["step", "ground", "curve"].includes(kind);
      const [from, to] = inView(t, this.axis.view);
      for (let i = from; i < to; i += 1) {
        const outside = t[i] > this.axis.view[1] || (!stepped && t[i] < this.axis.view[0]);
        if (outside || !Number.isFinite(v[i])) continue;
        if (v[i] > hi) hi = v[i];
        if (v[i] > 0 && v[i] < lo) lo = v[i];
      }
    }
    if (hi <= 0) return [0.1, 1];
    return [lo, hi];
  }

  draw() {
    this.stale = false;
    const { spec, axis, stage } = this;
    const width = stage.clientWidth;
    if (!width) return;
    const small = width < NARROW;
    const height = Math.round(spec.height * (small ? 0.85 : 1));
    const left = MARGIN.left - (small ? 8 : 0);
    const below = MARGIN.bottom + (this.axisLabel().length > SHORT_LABEL ? 15 : 0);
    const box = { left, top: MARGIN.top, width: width - left - MARGIN.right, height: height - MARGIN.top - below };
    const bottom = box.top + box.height;
    const lines = this.lines();
    const range = spec.range?.(this) ?? this.valueRange(lines);
    const logY = range.log;
    const fold = logY ? (v) => Math.log10(Math.max(v, range.lo)) : (v) => v;
    const [lo, hi] = [fold(range.lo), fold(range.hi)];
    const x = axis.scale(box.left, box.width);
    const y = (value) => bottom - ((fold(value) - lo) / (hi - lo)) * box.height;
    Object.assign(this, { width, height, box, x, y, drawn: lines });

    const clip = `clip-${this.figure.dataset.panel}`;
    const marks = [...lines].sort((a, b) => (a[1].z ?? 0) - (b[1].z ?? 0)).map((line) => mark(this, ...line));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.innerHTML = `<clipPath id="${clip}"><rect x="${box.left}" y="${box.top - 6}" width="${box.width}" height="${box.height + 11}"/></clipPath>
      ${this.grid(range, small)}
      <g clip-path="url(#${clip})">${spec.back?.(this) ?? ""}${marks.join("")}</g>${spec.front?.(this) ?? ""}
      <path class="frame" d="M${box.left} ${bottom}h${box.width}"/><g class="cursor"></g><rect class="drag" y="${box.top}" height="${box.height}" width="0"/>`;
  }

  valueRange(lines) {
    const [lo, hi] = this.extent(lines);
    if (!this.spec.log || this.spec.logX) return { lo: 0, hi: hi * 1.06, log: false };
    const bottom = Math.max(lo, hi / 1e3, 0.1);
    return { lo: bottom * 0.9, hi: Math.max(hi, bottom * 2) * 1.15, log: true };
  }

  grid(range, small) {
    const { box, axis, x, y, spec } = this;
    const bottom = box.top + box.height;
    const vertical = (range.log ? logTicks : linearTicks)(range.lo, range.hi, box.height / 38);
    const text = spec.text ?? ((value) => tickText(value, vertical.decimals));
    let out = vertical.ticks
      .map((tick) => `<path class="grid" d="M${box.left} ${y(tick).toFixed(1)}h${box.width}"/><text class="tick end" x="${box.left - 7}" y="${(y(tick) + 3.5).toFixed(1)}">${text(tick)}</text>`)
      .join("");
    const { ticks, decimals } = axis.ticks(box.width / (small ? 60 : 80));
    const guides = (spec.guides ?? []).filter((guide) => axis.share(guide) >= 0 && axis.share(guide) <= 1);
    for (const guide of guides) {
      out += `<path class="guide" d="M${x(guide).toFixed(1)} ${box.top}v${box.height + 4}"/><text class="tick middle guide-text" x="${x(guide).toFixed(1)}" y="${bottom + 17}">${guide}</text>`;
    }
    for (const tick of ticks) {
      const at = x(tick);
      if (guides.some((guide) => Math.abs(x(guide) - at) < 28)) continue;
      const words = tickText(tick, decimals);
      // At the very left a longer text would touch the axis's own label.
      const [anchor, tx] = at - box.left < 4 && words.length > 1 ? ["", box.left - 3] : ["middle", at];
      out += `<path class="tick-mark" d="M${at.toFixed(1)} ${bottom}v4"/><text class="tick ${anchor}" x="${tx.toFixed(1)}" y="${bottom + 17}">${words}</text>`;
    }
    const label = this.axisLabel();
    const place = label.length > SHORT_LABEL ? `x="${box.left + box.width}" y="${bottom + 32}"` : `x="${box.left - 10}" y="${bottom + 17}"`;
    return `${out}<text class="axis" x="${box.left - 7}" y="${box.top - 9}">${escapeText(spec.unit)}</text><text class="axis end" ${place}>${escapeText(label)}</text>`;
  }

  drawCursor() {
    const group = this.svg.querySelector(".cursor");
    if (!group || this.spec.still) return;
    const { axis, box, x, y } = this;
    const at = axis.cursor;
    if (at === null || at < axis.view[0] || at > axis.view[1]) {
      group.innerHTML = "";
      return;
    }
    const px = x(at);
    const marks = this.drawn.flatMap(([member, quantity, series]) => {
      const i = quantity.kind === "ground" ? -1 : this.indexAt(quantity, series);
      return i < 0 || !Number.isFinite(series.v[i])
        ? []
        : [`<circle r="3.5" cx="${(["step", "curve"].includes(quantity.kind) ? px : x(series.t[i])).toFixed(1)}" cy="${y(series.v[i]).toFixed(1)}" style="stroke:${member.colour}"/>`];
    });
    const label = `${number(at)} ${axis.unit}`;
    const half = label.length * 3.4 + 5;
    const lx = clamp(px, box.left + half, box.left + box.width - half);
    const ly = box.top + box.height;
    group.innerHTML = `<path d="M${px.toFixed(1)} ${box.top - 4}V${ly}"/>${marks.join("")}<rect x="${lx - half}" y="${ly + 4}" width="${half * 2}" height="17" rx="3"/><text class="middle" x="${lx}" y="${ly + 16.5}">${label}</text>`;
  }

  /** Which point of a line the cursor is at; -1 where the line has none. */
  indexAt({ kind }, { t }) {
    const at = this.axis.cursor;
    const i = above(t, at) - 1;
    if (["step", "ground", "curve"].includes(kind)) return i;
    const near = i + 1 < t.length && (i < 0 || t[i + 1] - at < at - t[i]) ? i + 1 : i;
    const apart = Math.max(this.spec.reach ?? 0, 6 * (this.axis.view[1] - this.axis.view[0]) / (this.box?.width || 1));
    return near >= 0 && Math.abs(t[near] - at) <= apart ? near : -1;
  }

  /** Rebuilds the readout's rows when what it lists has changed; else its numbers. */
  drawReadout() {
    const { spec, axis } = this;
    const { caption, columns } = spec.columns(this);
    const shape = JSON.stringify([columns.map((c) => [c.label, c.quantity?.off]), this.members.map((m) => m.id)]);
    if (shape !== this.shape) {
      this.shape = shape;
      const headings = columns.map((c) => c.quantity && columns.length > 1
        ? `<th scope="col"><button type="button" aria-pressed="${!c.quantity.off}" data-key="${c.quantity.key}"><span class="sample ${c.quantity.weight ?? c.quantity.kind}"></span>${escapeText(c.label)}</button></th>`
        : `<th scope="col">${escapeText(c.label)}</th>`);
      const rows = this.members.map((m) => `<tr><th scope="row"><button type="button" data-member="${m.id}" aria-pressed="${m.on}" title="${escapeText(m.name)}">${swatch(m)}<span>${escapeText(m.name)}</span></button></th>${"<td></td>".repeat(columns.length)}</tr>`);
      this.readout.innerHTML = `<caption></caption><thead><tr><th></th>${headings.join("")}</tr></thead><tbody>${rows.join("")}</tbody>`;
    }
    this.readout.caption.textContent = caption;
    const said = [];
    this.members.forEach((member, row) => {
      const { cells, classList } = this.readout.tBodies[0].rows[row];
      classList.toggle("off", !member.on);
      columns.forEach((column, i) => {
        const text = number(column.cell(member));
        cells[i + 1].textContent = text;
        cells[i + 1].classList.toggle("unused", Boolean(column.quantity?.off));
        if (member.on && text !== "–") said.push(`${member.name} ${column.label} ${text}`);
      });
    });
    if (document.activeElement === this.stage && axis.cursor !== null) {
      this.stage.setAttribute("aria-valuenow", axis.cursor);
      this.stage.setAttribute("aria-valuetext", `${number(axis.cursor)} ${axis.unit}: ${said.join(", ")}`);
    }
  }
}
