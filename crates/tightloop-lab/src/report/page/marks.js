// How lines, bands and dots are drawn: SVG text from values.

const GLYPHS = 7;
const GLYPH_EVERY = 150;
/** Width in pixels of what becomes one point where points are dense. */
const COLUMN = 2;
/** So many dots in view are drawn finer. */
const MANY_DOTS = 4000;

/** The outline of marker `kind`, from its middle. */
function outline(kind, r) {
  const d = r * 2;
  const [wide, tall] = [r * 1.15, r * 1.25].map((n) => Number(n.toFixed(2)));
  switch (kind % GLYPHS) {
    case 0: return `m${-r} 0a${r} ${r} 0 1 0 ${d} 0a${r} ${r} 0 1 0 ${-d} 0z`;
    case 1: return `m${-r} ${-r}l${d} ${d}m0 ${-d}l${-d} ${d}`;
    case 2: return `m0 ${-tall}l${wide} ${d}h${-wide * 2}z`;
    case 3: return `m0 ${-tall}v${tall * 2}m${-tall} ${-tall}h${tall * 2}`;
    case 4: return `m${-r} ${-r}h${d}v${d}h${-d}z`;
    case 5: return `m0 ${-tall}l${tall} ${tall}l${-tall} ${tall}l${-tall} ${-tall}z`;
    default: return `m0 ${tall}l${wide} ${-d}h${-wide * 2}z`;
  }
}

/** Marker `kind` around a point. */
function glyph(kind, x, y, r) {
  return `M${x.toFixed(1)} ${y.toFixed(1)}${outline(kind, r)}`;
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

/**
 * Points of a line; null is a gap. Where there are several to a pixel they
 * become one per column: their mean, with lowest and highest beside it.
 */
function points(series, key, view, x, y, width) {
  const { t } = series;
  const v = series[key];
  const [from, to] = inView(t, view);
  const out = [];
  if (to - from <= width * 2) {
    for (let i = from; i < to; i += 1) out.push(Number.isFinite(v[i]) ? [x(t[i]), y(v[i])] : null);
    return out;
  }
  out.dense = true;
  let column = NaN;
  let [sum, count, lo, hi] = [0, 0, 0, 0];
  const flush = () => {
    if (count) out.push([column, y(sum / count), y(lo), y(hi)]);
    [sum, count, lo, hi] = [0, 0, Infinity, -Infinity];
  };
  flush();
  for (let i = from; i < to; i += 1) {
    const at = Math.round(x(t[i]) / COLUMN) * COLUMN;
    if (at !== column) {
      flush();
      column = at;
    }
    if (!Number.isFinite(v[i])) {
      flush();
      out.push(null);
      continue;
    }
    sum += v[i];
    count += 1;
    lo = Math.min(lo, v[i]);
    hi = Math.max(hi, v[i]);
  }
  flush();
  return out;
}

/** Points of a rising or falling curve, without those too close to be seen apart. */
function curve({ t, v }, view, x, y) {
  const [from, to] = inView(t, view);
  const out = [];
  let last = [NaN, NaN];
  for (let i = from; i < to; i += 1) {
    const point = [x(t[i]), y(v[i])];
    if (Math.abs(point[0] - last[0]) + Math.abs(point[1] - last[1]) < 0.7 && i + 1 < to) continue;
    out.push(point);
    last = point;
  }
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
  const corner = ([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`;
  const close = () => {
    if (run.length) d += `M${run.map(([up]) => corner(up)).join("L")}L${run.reverse().map(([, low]) => corner(low)).join("L")}Z`;
    run = [];
  };
  upper.forEach((up, i) => {
    if (up && lower[i]) run.push([up, lower[i]]);
    else close();
  });
  close();
  return d;
}

/** Markers along a line, by which it is known where colours are not. */
function glyphs(panel, member, line, stepped) {
  if (panel.members.filter((m) => !m.area).length < 2) return "";
  let d = "";
  let next = panel.box.left + 30 + ((member.glyph * 37) % GLYPH_EVERY);
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

/** One mark per point, those of the same place once; a tick for each missing one. */
function dots(panel, member, { t, v, missing }) {
  const { axis, x, y, box } = panel;
  const [from, to] = inView(t, axis.view);
  const few = to - from < 400;
  const round = member.glyph % GLYPHS === 0;
  const many = to - from > MANY_DOTS;
  const shape = round ? "h0" : outline(member.glyph, few ? 3 : many ? 1.5 : 2);
  const cell = many ? 2 : 1;
  const columns = Math.ceil(panel.width / cell) + 1;
  const seen = new Uint8Array(columns * (panel.height + 1));
  let d = "";
  for (let i = from; i < to; i += 1) {
    if (!Number.isFinite(v[i])) continue;
    const [column, row] = [Math.round(x(t[i]) / cell), Math.round(y(v[i]) / cell)];
    const place = row * columns + column;
    if (column < 0 || column >= columns || seen[place]) continue;
    seen[place] = 1;
    d += `M${column * cell} ${row * cell}${shape}`;
  }
  let ticks = "";
  for (const i of missing) {
    if (i >= from && i < to) ticks += `M${x(t[i]).toFixed(1)} ${box.top - 6}v8`;
  }
  const ink = `style="stroke:${member.colour}"`;
  return `<path class="dots ${round ? "round" : "shape"} ${few ? "few" : many ? "many" : ""}" d="${d}" ${ink}/><path class="rug" d="${ticks}" ${ink}/>`;
}

/** One line, band or cloud of dots as SVG. */
function mark(panel, member, quantity, series) {
  const { axis, x, y, box } = panel;
  const bottom = box.top + box.height;
  const ink = `style="stroke:${member.colour}"`;
  const { kind } = quantity;
  if (kind === "dots") return dots(panel, member, series);
  if (kind === "points") {
    return `<path class="glyph big" d="${glyph(member.glyph, x(series.t[0]), y(series.v[0]), 6)}" ${ink}/>`;
  }
  const line = kind === "curve" ? curve(series, axis.view, x, y) : points(series, "v", axis.view, x, y, box.width);
  const area = (low, high) => (low.length === high.length ? `<path class="band" d="${between(low, high)}" style="fill:${member.colour}"/>` : "");
  if (kind === "band") {
    const low = points(series, "low", axis.view, x, y, box.width);
    // Of several bins in a column the highest counts: peaks must not vanish.
    const high = line.dense ? line.map((point) => point && [point[0], point[3]]) : line;
    return `${area(low, high)}<path class="line edge" d="${path(high)}" ${ink} stroke-dasharray="${member.dash}"/>`;
  }
  const stepped = ["step", "ground", "curve"].includes(kind);
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
  const reach = line.dense && weight === "main" ? area(line.map((p) => p && [p[0], p[2]]), line.map((p) => p && [p[0], p[3]])) : "";
  return `${reach}<path class="line ${weight}" d="${d}" ${ink} stroke-dasharray="${dash}"/>${weight === "main" ? glyphs(panel, member, line, stepped) : ""}`;
}
