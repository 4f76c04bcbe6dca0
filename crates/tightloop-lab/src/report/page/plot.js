// Axes, marks and panels. Knows nothing of runs and flows: a panel is given
// members (whose lines to draw) and quantities (which lines each has).

const NARROW = 560;
const MARGIN = { top: 20, right: 14, bottom: 26, left: 56 };
/** A label of so many characters fits below the value axis; a longer one has its own line. */
const SHORT_LABEL = 8;
const GLYPHS = 7;
const GLYPH_EVERY = 150;

const clamp = (value, lo, hi) => Math.min(Math.max(value, lo), hi);
const escapeText = (text) =>
  String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The one element that `html` describes. */
function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content.firstElementChild;
}

/** A number with about three significant digits and as many decimals as its neighbours. */
function number(value) {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

/** Index of the first of the ascending `list` that is above `value`. */
function above(list, value) {
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const middle = (lo + hi) >> 1;
    if (list[middle] <= value) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/** Round values for tick marks between `lo` and `hi`, about `count` of them. */
function linearTicks(lo, hi, count) {
  const rough = (hi - lo) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const ticks = [];
  for (let n = Math.ceil(lo / step - 1e-9); n * step <= hi + step * 1e-9; n += 1) ticks.push(n * step);
  return { ticks, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** The same on a logarithmic axis: 1, 2, 5 per decade, or decades alone. */
function logTicks(lo, hi, count) {
  const decades = Math.log10(hi / lo);
  if (decades < 0.7) return linearTicks(lo, hi, count);
  const steps = decades * 3 <= count * 1.3 ? [1, 2, 5] : decades <= count * 0.6 ? [1, 3] : [1];
  const ticks = [];
  for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e += 1) {
    for (const step of steps) {
      const tick = step * 10 ** e;
      if (tick >= lo * 0.999 && tick <= hi * 1.001) ticks.push(tick);
    }
  }
  return { ticks, decimals: null };
}

function tickText(value, decimals) {
  if (decimals === null) return value >= 1 || value === 0 ? String(Math.round(value)) : String(Number(value.toPrecision(1)));
  return value.toFixed(decimals);
}

/** A range of values that panels share: its whole, the part in view, a cursor. */
class Axis {
  constructor(label, unit, lo, hi, options = {}) {
    Object.assign(this, { label, unit, log: false, reversed: false, cursor: null, panels: [] }, options);
    this.setWhole(lo, hi);
  }

  setWhole(lo, hi) {
    this.whole = [lo, hi > lo ? hi : lo + 1];
    this.view = [...this.whole];
  }

  get zoomed() {
    return this.view[0] > this.whole[0] || this.view[1] < this.whole[1];
  }

  unfold(value) {
    return this.log ? Math.log10(Math.max(value, this.whole[0])) : value;
  }

  /** Where `value` lies in the view, as a share of its width. */
  share(value) {
    const [lo, hi] = this.view.map((v) => this.unfold(v));
    const share = (this.unfold(value) - lo) / (hi - lo);
    return this.reversed ? 1 - share : share;
  }

  /** The value at a share of the view's width. */
  value(share) {
    const [lo, hi] = this.view.map((v) => this.unfold(v));
    const value = lo + (this.reversed ? 1 - share : share) * (hi - lo);
    return this.log ? 10 ** value : value;
  }

  /** Shows `lo` to `hi`, no less than a ten-thousandth and no more than all. */
  zoom(lo, hi) {
    const least = (this.whole[1] - this.whole[0]) * 1e-4;
    if (hi - lo < least) [lo, hi] = [(lo + hi - least) / 2, (lo + hi + least) / 2];
    this.view = [Math.max(lo, this.whole[0]), Math.min(hi, this.whole[1])];
    this.changed();
  }

  /** Zooms by `factor`, with the value at `share` staying where it is. */
  zoomAt(share, factor) {
    this.zoom(...[this.value(share - share * factor), this.value(share + (1 - share) * factor)].sort((a, b) => a - b));
  }

  /** Moves the view by a share of its width, as far as there is something to see. */
  pan(share) {
    const wanted = [this.value(share), this.value(1 + share)].sort((a, b) => a - b);
    if (wanted[0] >= this.whole[0] && wanted[1] <= this.whole[1]) return this.zoom(...wanted);
    const width = this.view[1] - this.view[0];
    if (this.log) return undefined;
    return wanted[0] < this.whole[0]
      ? this.zoom(this.whole[0], this.whole[0] + width)
      : this.zoom(this.whole[1] - width, this.whole[1]);
  }

  reset() {
    this.zoom(...this.whole);
  }

  point(value) {
    this.cursor = value;
    for (const panel of this.panels) panel.touch(false);
  }

  changed() {
    for (const panel of this.panels) panel.touch(true);
    this.onchange?.();
  }

  ticks(count) {
    return (this.log ? logTicks : linearTicks)(...this.view, count);
  }
}

/** The outline of marker `kind` around a point. */
function glyph(kind, x, y, r) {
  const at = `${x.toFixed(1)} ${y.toFixed(1)}`;
  const d = r * 2;
  switch (kind % GLYPHS) {
    case 0: return `M${at}m${-r} 0a${r} ${r} 0 1 0 ${d} 0a${r} ${r} 0 1 0 ${-d} 0z`;
    case 1: return `M${at}m${-r} ${-r}l${d} ${d}m0 ${-d}l${-d} ${d}`;
    case 2: return `M${at}m0 ${-r * 1.2}l${r * 1.15} ${d}h${-r * 2.3}z`;
    case 3: return `M${at}m0 ${-r * 1.2}v${r * 2.4}m${-r * 1.2} ${-r * 1.2}h${r * 2.4}`;
    case 4: return `M${at}m${-r} ${-r}h${d}v${d}h${-d}z`;
    case 5: return `M${at}m0 ${-r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`;
    default: return `M${at}m0 ${r * 1.2}l${r * 1.15} ${-d}h${-r * 2.3}z`;
  }
}

/** A short sample of a member's line with its marker. */
function swatch(member) {
  const ink = `style="stroke:${member.colour}"`;
  if (member.area) {
    return `<svg class="swatch" width="34" height="12" aria-hidden="true"><path class="ground" d="M1 2H33V12H1Z"/><path class="ground-edge" d="M1 2H33" stroke-dasharray="${member.dash}"/></svg>`;
  }
  return `<svg class="swatch" width="34" height="12" aria-hidden="true"><path d="M0 6H34" ${ink} stroke-dasharray="${member.dash}"/><path class="glyph" d="${glyph(member.glyph, 17, 6, 3.4)}" ${ink}/></svg>`;
}

/** The part of `t` to draw: what is in view and one point on either side. */
function inView(t, [lo, hi]) {
  return [Math.max(0, above(t, lo) - 1), Math.min(t.length, above(t, hi) + 1)];
}

/** Points of a line, thinned to the extremes of each pixel column; null is a gap. */
function points(series, key, view, x, y, width) {
  const { t } = series;
  const v = series[key];
  const [from, to] = inView(t, view);
  const out = [];
  if (to - from <= width * 3) {
    for (let i = from; i < to; i += 1) out.push(Number.isFinite(v[i]) ? [x(t[i]), y(v[i])] : null);
    return out;
  }
  let column = NaN;
  let kept = null;
  const flush = () => {
    if (!kept) return;
    out.push([kept.x, kept.first]);
    if (kept.lo < kept.hi) out.push([kept.x, kept.lo], [kept.x, kept.hi], [kept.x, kept.last]);
    kept = null;
  };
  for (let i = from; i < to; i += 1) {
    if (!Number.isFinite(v[i])) {
      flush();
      out.push(null);
      column = NaN;
      continue;
    }
    const at = Math.round(x(t[i]));
    const height = y(v[i]);
    if (at !== column) {
      flush();
      column = at;
      kept = { x: at, first: height, last: height, lo: height, hi: height };
    }
    kept.last = height;
    kept.lo = Math.min(kept.lo, height);
    kept.hi = Math.max(kept.hi, height);
  }
  flush();
  return out;
}

/** An SVG path through points; `step` holds each value until the next. */
function path(list, step = false, end = null) {
  let d = "";
  let length = 0;
  // A point alone between two gaps is a dash, not nothing.
  const close = () => {
    if (length === 1) d += "m-1 0h2";
    length = 0;
  };
  for (const point of list) {
    if (!point) {
      close();
      continue;
    }
    const [px, py] = [point[0].toFixed(1), point[1].toFixed(1)];
    d += !length ? `M${px} ${py}` : step ? `H${px}V${py}` : `L${px} ${py}`;
    length += 1;
  }
  if (length && step && end !== null) return `${d}H${end.toFixed(1)}`;
  close();
  return d;
}

/** The area between two lists of points over the same times. */
function between(lower, upper) {
  let d = "";
  let run = [];
  const close = () => {
    if (run.length) {
      const back = run.map(([, low]) => low).reverse();
      d += `M${run.map(([up]) => up.map((n) => n.toFixed(1)).join(" ")).join("L")}L${back.map((p) => p.map((n) => n.toFixed(1)).join(" ")).join("L")}Z`;
    }
    run = [];
  };
  upper.forEach((up, i) => {
    if (up && lower[i]) run.push([up, lower[i]]);
    else close();
  });
  close();
  return d;
}

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
    const save = element('<button type="button" class="tool" title="Save this plot as an SVG file">SVG</button>');
    save.onclick = () => this.save();
    this.tools.append(save);
    axis.panels.push(this);
    this.listen();
    new ResizeObserver(() => this.touch(true)).observe(this.stage);
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

  refresh() {
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
      const stepped = kind === "step" || kind === "ground";
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
    const x = (value) => box.left + axis.share(value) * box.width;
    const y = (value) => bottom - ((fold(value) - lo) / (hi - lo)) * box.height;
    Object.assign(this, { width, height, box, x, y, drawn: lines });

    const clip = `clip-${this.figure.dataset.panel}`;
    const marks = [...lines].sort((a, b) => (a[1].z ?? 0) - (b[1].z ?? 0)).map((line) => this.mark(...line));
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
      out += `<path class="tick-mark" d="M${at.toFixed(1)} ${bottom}v4"/><text class="tick middle" x="${at.toFixed(1)}" y="${bottom + 17}">${tickText(tick, decimals)}</text>`;
    }
    const label = this.axisLabel();
    const place = label.length > SHORT_LABEL ? `x="${box.left + box.width}" y="${bottom + 32}"` : `x="${box.left - 10}" y="${bottom + 17}"`;
    return `${out}<text class="axis" x="${box.left - 7}" y="${box.top - 9}">${escapeText(spec.unit)}</text><text class="axis end" ${place}>${escapeText(label)}</text>`;
  }

  /** One line, band or cloud of dots as SVG. */
  mark(member, quantity, series) {
    const { axis, x, y, box } = this;
    const bottom = box.top + box.height;
    const ink = `style="stroke:${member.colour}"`;
    const { kind } = quantity;
    if (kind === "dots") return this.dots(member, series);
    if (kind === "points") {
      return `<path class="glyph big" d="${glyph(member.glyph, x(series.t[0]), y(series.v[0]), 6)}" ${ink}/>`;
    }
    const line = points(series, "v", axis.view, x, y, box.width);
    if (kind === "band") {
      const low = series.low ? points(series, "low", axis.view, x, y, box.width) : [];
      const area = low.length === line.length ? `<path class="band" d="${between(low, line)}" style="fill:${member.colour}"/>` : "";
      return `${area}<path class="line edge" d="${path(line)}" ${ink} stroke-dasharray="${member.dash}"/>`;
    }
    const stepped = kind === "step" || kind === "ground";
    const end = x(clamp(series.end ?? axis.view[1], ...axis.view));
    const d = path(line, stepped, end);
    if (kind === "ground") {
      const first = line.find(Boolean);
      return first
        ? `<path class="ground" d="${d}V${bottom}H${first[0].toFixed(1)}Z"/><path class="ground-edge" d="${d}" stroke-dasharray="${member.dash}"/>`
        : "";
    }
    const weight = quantity.weight ?? "main";
    const dash = weight === "dotted" ? "1 3" : member.dash;
    return `<path class="line ${weight}" d="${d}" ${ink} stroke-dasharray="${dash}"/>${weight === "main" ? this.glyphs(member, line, stepped) : ""}`;
  }

  /** Markers along a line, by which it is known where colours are not. */
  glyphs(member, line, stepped) {
    if (this.members.length < 2) return "";
    let d = "";
    let next = this.box.left + 30 + ((member.glyph * 37) % GLYPH_EVERY);
    for (let i = 1; i < line.length; i += 1) {
      const [a, b] = [line[i - 1], line[i]];
      if (!a || !b) continue;
      while (next <= b[0]) {
        if (next >= a[0]) {
          const share = stepped || b[0] === a[0] ? 0 : (next - a[0]) / (b[0] - a[0]);
          d += glyph(member.glyph, next, a[1] + share * (b[1] - a[1]), 3.4);
        }
        next += GLYPH_EVERY;
      }
    }
    return d && `<path class="halo" d="${d}"/><path class="glyph" d="${d}" style="stroke:${member.colour}"/>`;
  }

  /** One mark per point, those of the same pixel once; a tick for each missing one. */
  dots(member, { t, v, missing }) {
    const { axis, x, y, box } = this;
    const [from, to] = inView(t, axis.view);
    const seen = new Set();
    const few = to - from < 400;
    const round = member.glyph % GLYPHS === 0;
    const r = few ? 3 : 2;
    let d = "";
    for (let i = from; i < to; i += 1) {
      if (!Number.isFinite(v[i])) continue;
      const px = Math.round(x(t[i]));
      const py = Math.round(y(v[i]) * 2) / 2;
      const cell = px * 8192 + py * 2;
      if (seen.has(cell)) continue;
      seen.add(cell);
      d += round ? `M${px} ${py}h0` : glyph(member.glyph, px, py, r);
    }
    let ticks = "";
    for (const i of missing) {
      if (i >= from && i < to) ticks += `M${x(t[i]).toFixed(1)} ${box.top - 6}v8`;
    }
    const ink = `style="stroke:${member.colour}"`;
    return `<path class="dots ${round ? "round" : "shape"} ${few ? "few" : ""}" d="${d}" ${ink}/><path class="rug" d="${ticks}" ${ink}/>`;
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
        : [`<circle r="3.5" cx="${(quantity.kind === "step" ? px : x(series.t[i])).toFixed(1)}" cy="${y(series.v[i]).toFixed(1)}" style="stroke:${member.colour}"/>`];
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
    if (kind === "step" || kind === "ground") return i;
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

  listen() {
    const { stage, axis } = this;
    this.readout.addEventListener("click", ({ target }) => {
      const quantity = this.spec.quantities.find((q) => q.key === target.closest("[data-key]")?.dataset.key);
      if (!quantity) return;
      quantity.off = !quantity.off;
      this.touch(true);
    });
    if (this.spec.still) {
      stage.setAttribute("role", "img");
      stage.setAttribute("aria-label", this.heading.textContent);
      return;
    }
    stage.tabIndex = 0;
    for (const [name, value] of Object.entries({ role: "slider", "aria-label": `${this.heading.textContent}: cursor`, "aria-valuemin": axis.whole[0], "aria-valuemax": axis.whole[1], "aria-valuenow": axis.whole[0] })) stage.setAttribute(name, value);
    const share = (event) => (event.clientX - stage.getBoundingClientRect().left - this.box.left) / this.box.width;
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      stage.setPointerCapture(event.pointerId);
      this.drag = { from: clamp(share(event), 0, 1), pan: event.shiftKey };
    });
    stage.addEventListener("pointermove", (event) => {
      const at = clamp(share(event), 0, 1);
      axis.point(axis.value(at));
      if (!this.drag) return;
      if (this.drag.pan) {
        axis.pan(this.drag.from - at);
        this.drag.from = at;
      } else {
        this.showDrag(this.drag.from, at);
      }
    });
    stage.addEventListener("pointerup", (event) => {
      const { drag } = this;
      this.drag = null;
      this.showDrag(0, 0);
      if (!drag || drag.pan) return;
      const [a, b] = [drag.from, clamp(share(event), 0, 1)].sort((p, q) => p - q);
      if ((b - a) * this.box.width > 5) axis.zoom(...[axis.value(a), axis.value(b)].sort((p, q) => p - q));
    });
    stage.addEventListener("pointercancel", () => {
      this.drag = null;
      this.showDrag(0, 0);
    });
    stage.addEventListener("pointerleave", () => axis.point(null));
    stage.addEventListener("dblclick", () => axis.reset());
    stage.addEventListener("wheel", (event) => {
      const meant = event.ctrlKey || event.metaKey || document.activeElement === stage;
      const outward = event.deltaY > 0 || (event.deltaY === 0 && event.deltaX === 0);
      if (!meant || (outward && !axis.zoomed)) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) axis.pan(event.deltaX / this.box.width);
      else axis.zoomAt(clamp(share(event), 0, 1), Math.exp(clamp(event.deltaY, -200, 200) * 0.002));
    }, { passive: false });
    stage.addEventListener("keydown", (event) => {
      if (this.key(event)) event.preventDefault();
    });
    stage.addEventListener("blur", () => axis.point(null));
  }

  /** What a key does; false if nothing. */
  key({ key, shiftKey, ctrlKey, metaKey, altKey }) {
    if (ctrlKey || metaKey || altKey) return false;
    const { axis } = this;
    const at = axis.cursor === null ? 0.5 : clamp(axis.share(axis.cursor), 0, 1);
    const step = shiftKey ? 0.1 : 0.01;
    const move = (to) => {
      if (to < 0 || to > 1) axis.pan(to < 0 ? to : to - 1);
      axis.point(axis.value(clamp(to, 0, 1)));
    };
    switch (key) {
      case "ArrowLeft": move(at - step); break;
      case "ArrowRight": move(at + step); break;
      case "Home": move(0); break;
      case "End": move(1); break;
      case "+": case "=": axis.zoomAt(at, 0.5); break;
      case "-": axis.zoomAt(at, 2); break;
      case "0": axis.reset(); break;
      case "Escape": axis.point(null); break;
      default: return false;
    }
    return true;
  }

  showDrag(a, b) {
    const rect = this.svg.querySelector(".drag");
    rect?.setAttribute("x", this.box.left + Math.min(a, b) * this.box.width);
    rect?.setAttribute("width", Math.abs(b - a) * this.box.width);
  }

  /** Offers the plot as an SVG file with its title and legend, styles written out. */
  save() {
    const shown = this.members.filter((m) => m.on);
    const rows = Math.ceil(shown.length / 4);
    const top = 30 + rows * 20;
    const legend = shown.map((m, i) => {
      const at = `translate(${MARGIN.left + (i % 4) * 190} ${30 + Math.floor(i / 4) * 20})`;
      return `<g transform="${at}">${swatch(m).replace(/^<svg[^>]*>|<\/svg>$/g, "")}<text class="tick" x="42" y="10">${escapeText(m.name)}</text></g>`;
    });
    const svg = element(`<svg class="plot saved" width="${this.width}" height="${this.height + top}" viewBox="0 0 ${this.width} ${this.height + top}"><rect class="sheet" width="100%" height="100%"/><text class="heading" x="${MARGIN.left - 7}" y="20">${escapeText(this.heading.textContent)}</text><g class="swatch">${legend.join("")}</g><g transform="translate(0 ${top})">${this.svg.innerHTML}</g></svg>`);
    svg.querySelector(".cursor")?.replaceChildren();
    this.stage.append(svg);
    for (const node of svg.querySelectorAll("*")) {
      const style = getComputedStyle(node);
      const kept = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
      const text = node.tagName === "text";
      const written = kept.filter((name) => text || !/^(font|text)/.test(name)).map((name) => `${name}:${style.getPropertyValue(name)}`);
      if (!/^(g|clipPath)$/.test(node.tagName)) node.setAttribute("style", written.join(";"));
      node.removeAttribute("class");
    }
    svg.remove();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
    link.download = `${this.figure.dataset.panel}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  }
}
