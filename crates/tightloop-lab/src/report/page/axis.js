// Numbers, ticks and axes.

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
  return value === 0 ? "0" : value.toFixed(decimals);
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
    return this.scale(0, 1)(value);
  }

  /** From values in the view to places between `left` and `left + width`. */
  scale(left, width) {
    const [lo, hi] = this.view.map((v) => this.unfold(v));
    const per = ((this.reversed ? -1 : 1) * width) / (hi - lo);
    const start = this.reversed ? left + width : left;
    return (value) => start + (this.unfold(value) - lo) * per;
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
