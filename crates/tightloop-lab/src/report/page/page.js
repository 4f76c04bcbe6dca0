// This report: its members, its panels, its tables.

const report = JSON.parse(document.getElementById("report").textContent);
const RATE_WEIGHTS = ["main", "thin", "dotted"];
const GUIDES = [33, 100, 200];
/** A value axis starts out logarithmic where the highest is so many times the typical lowest. */
const LOG_FROM = 25;

const members = [];
const flows = [];
const links = [];
const capacities = [];

function add(list, member) {
  member.id = `m${members.length}`;
  member.on = true;
  members.push(member);
  list.push(member);
}

{
  const several = report.runs.length > 1;
  const controllers = new Set(report.runs.flatMap((run) => run.flows.map((flow) => flow.controller)));
  report.runs.forEach((run, r) => {
    run.flows.forEach((flow, f) => {
      const index = flows.length;
      const parts = [several && run.name, (run.flows.length > 1 || !several) && flow.name, !several && (controllers.size > 1 || run.flows.length < 2) && flow.controller];
      add(flows, {
        flow, run,
        name: parts.filter(Boolean).join(" · "),
        colour: `var(--c${index % 7})`,
        dash: report.dashes[(several ? r : f) % report.dashes.length],
        glyph: index,
      });
    });
    run.links.forEach((link, l) => {
      const index = links.length;
      const parts = [several && run.name, (run.links.length > 1 || !several) && link.name];
      add(links, {
        link, run,
        name: parts.filter(Boolean).join(" · "),
        colour: `var(--c${index % 7})`,
        dash: report.dashes[(several ? r : l) % report.dashes.length],
        glyph: index,
      });
    });
  });
  // Runs of one scenario have one capacity: it is shown once.
  const seen = new Map();
  for (const run of report.runs) {
    if (!run.capacity.t.length) continue;
    const key = JSON.stringify(run.capacity);
    if (seen.has(key)) seen.get(key).runs.push(run);
    else seen.set(key, { runs: [run], series: { ...run.capacity, end: run.duration } });
  }
  for (const { runs, series } of seen.values()) {
    add(capacities, {
      capacity: series,
      area: true,
      colour: "var(--ground-ink)",
      name: seen.size > 1 ? `capacity · ${runs.map((run) => run.name).join(", ")}` : "capacity",
      dash: seen.size > 1 ? report.dashes[report.runs.indexOf(runs[0]) % report.dashes.length] : "",
      glyph: 0,
    });
  }
}

const time = new Axis("time", "s", 0, Math.max(...report.runs.map((run) => run.duration), 0));
const panels = [];

const ms = (value) => `${Math.round(value)} ms`;
const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN);
const percent = (share, digits = 1) => (Number.isFinite(share) ? `${(share * 100).toFixed(digits)} %` : "–");

/** The value below which a share `q` of the sorted `list` lies. */
const quantile = (list, q) => (list.length ? list[Math.min(list.length - 1, Math.ceil(list.length * q) - 1)] : NaN);

/** The finite values of a series within the axis's view. */
function viewed({ t, v }, [lo, hi]) {
  return v.slice(above(t, lo - 1e-9), above(t, hi)).filter(Number.isFinite);
}

/** The same in ascending order. */
const sortedValues = (series, view) => Float64Array.from(viewed(series, view)).sort();

/** The mean over time of a stepped series within the view. */
function steppedMean({ t, v, end = time.whole[1] }, [lo, hi]) {
  let [sum, span] = [0, 0];
  for (let i = Math.max(0, above(t, lo) - 1); i < t.length && t[i] < hi; i += 1) {
    const held = Math.min(t[i + 1] ?? end, hi) - Math.max(t[i], lo);
    if (!Number.isFinite(v[i]) || held <= 0) continue;
    sum += v[i] * held;
    span += held;
  }
  return span ? sum / span : NaN;
}

function rangeText(axis) {
  const [lo, hi] = axis.view;
  const digits = hi - lo < 2 ? 2 : hi - lo < 30 ? 1 : 0;
  return `${lo.toFixed(digits)}–${hi.toFixed(digits)} ${axis.unit}`;
}

/** Readout columns of plain quantities: values at the cursor, else over the view. */
function quantityColumns(panel) {
  const { axis, spec } = panel;
  const idle = axis.cursor === null;
  const columns = spec.quantities.filter((q) => !q.silent).map((quantity) => ({
    label: idle && quantity.idleLabel ? quantity.idleLabel : quantity.label,
    quantity,
    cell: (member) => {
      // An area's member has one value: it goes into the first column.
      const own = member.area && quantity === spec.quantities[0] ? spec.quantities.find((q) => q.kind === "ground") : quantity;
      const series = own.series(member);
      if (!series?.t.length) return NaN;
      if (!idle) return series.v[panel.indexAt(own, series)] ?? NaN;
      if (own.kind === "step" || own.kind === "ground") return steppedMean(series, axis.view);
      const values = viewed(series, axis.view);
      return own.idleLabel ? values.reduce((a, b) => Math.max(a, b), -Infinity) : mean(values);
    },
  }));
  const unit = spec.unit ? `, ${spec.unit}` : "";
  return { caption: idle ? `mean over ${rangeText(axis)}${unit}` : `at ${axis.cursor.toFixed(2)} ${axis.unit}${unit}`, columns };
}

function panel(name, axis, list, spec) {
  const figure = document.querySelector(`[data-panel="${name}"]`);
  const present = list.filter((m) => spec.quantities.some((q) => q.series(m)?.t.length));
  if (!present.some((m) => !m.area)) {
    figure.remove();
    return null;
  }
  const made = new Panel(figure, axis, present, { columns: quantityColumns, reach: report.bin * 0.75, ...spec });
  panels.push(made);
  return made;
}

/** Whether lists of values are better told apart on a logarithmic axis. */
function spreads(lists) {
  const sorted = lists.map((list) => list.filter((v) => v > 0).sort((a, b) => a - b)).filter((l) => l.length);
  const low = Math.min(...sorted.map((l) => quantile(l, 0.5)));
  const high = Math.max(...sorted.map((l) => quantile(l, 1)));
  return high / low > LOG_FROM;
}

panel("rate", time, [...flows, ...capacities], {
  unit: "Mbit/s",
  height: 300,
  quantities: [
    { key: "received", label: "received", kind: "line", weight: "main", z: 3, series: (m) => m.flow?.received },
    { key: "sent", label: "sent", kind: "line", weight: "thin", z: 1, off: flows.length > 1, series: (m) => m.flow?.sent },
    { key: "target", label: "target", kind: "step", weight: "dotted", z: 2, off: flows.length > 2, series: (m) => m.flow && { ...m.flow.target, end: m.run.duration } },
    { key: "capacity", label: "capacity", kind: "ground", z: 0, silent: true, series: (m) => m.capacity },
  ],
});

for (const key of ["delay", "queueing"]) {
  panel(key, time, flows, {
    unit: "ms",
    height: 230,
    log: spreads(flows.map((m) => m.flow[key].p95)),
    quantities: [
      { key: "mean", label: "mean", kind: "line", z: 2, series: (m) => ({ t: m.flow[key].t, v: m.flow[key].mean }) },
      { key: "p95", label: "p95", idleLabel: "max p95", kind: "band", z: 1, off: flows.length > 4, series: (m) => ({ t: m.flow[key].t, v: m.flow[key].p95, low: m.flow[key].mean }) },
    ],
  });
}

const frameSeries = (m) => ({ t: m.flow.frames.t, v: m.flow.frames.latency, missing: m.flow.frames.missing });
for (const m of flows) {
  m.missing = new Set(m.flow.frames.missing);
}

panel("frames", time, flows, {
  unit: "ms",
  height: 250,
  log: spreads(flows.map((m) => m.flow.frames.latency)),
  reach: 0.05,
  quantities: [{ key: "latency", label: "latency", kind: "dots", series: frameSeries }],
  columns: (self) => {
    const { axis } = self;
    if (axis.cursor !== null) {
      const at = (m) => self.indexAt({ kind: "dots" }, frameSeries(m));
      return {
        caption: `nearest frame at ${axis.cursor.toFixed(2)} s, ms`,
        columns: [
          { label: "latency", cell: (m) => m.flow.frames.latency[at(m)] ?? NaN },
          { label: "frame", cell: (m) => (at(m) < 0 ? NaN : `#${at(m)}`) },
          { label: "shown", cell: (m) => (at(m) < 0 ? NaN : m.missing.has(at(m)) ? "never" : "yes") },
        ],
      };
    }
    const sorted = new Map(self.members.map((m) => [m, sortedValues(frameSeries(m), axis.view)]));
    return {
      caption: `frames of ${rangeText(axis)}, ms`,
      columns: [["median", 0.5], ["p95", 0.95], ["max", 1]].map(([label, q]) => ({ label, cell: (m) => quantile(sorted.get(m), q) })),
    };
  },
});

// Inside the sender: two panels, each showing one group of gauges.
{
  const groups = new Map();
  for (const { flow } of flows) {
    for (const { group, unit, name } of flow.gauges) {
      const key = `${group} ${unit}`;
      if (!groups.has(key)) groups.set(key, { group, label: unit ? `${group}, ${unit}` : group, unit, names: new Set() });
      groups.get(key).names.add(name);
    }
  }
  const keys = [...groups.keys()];
  const quantities = (key) =>
    [...groups.get(key).names].map((name, i) => ({
      key: name,
      label: name,
      kind: "step",
      weight: RATE_WEIGHTS[Math.min(i, 2)],
      z: -i,
      off: i > 2,
      series: (m) => {
        const gauge = m.flow.gauges.find((g) => g.name === name && `${g.group} ${g.unit}` === key);
        return gauge && { t: gauge.t, v: gauge.v, end: m.run.duration };
      },
    }));
  ["gauges-a", "gauges-b"].forEach((name, nth) => {
    const key = keys[nth];
    if (key === undefined) {
      document.querySelector(`[data-panel="${name}"]`).remove();
      return;
    }
    const shown = panel(name, time, flows, { unit: groups.get(key).unit, height: 210, log: false, quantities: quantities(key) });
    if (!shown) return;
    shown.heading.textContent = groups.get(key).group;
    const select = element(`<select class="tool" aria-label="Quantity">${keys.map((k) => `<option value="${escapeText(k)}">${escapeText(groups.get(k).label)}</option>`).join("")}</select>`);
    select.value = key;
    select.onchange = () => {
      Object.assign(shown.spec, { quantities: quantities(select.value), unit: groups.get(select.value).unit });
      shown.heading.textContent = groups.get(select.value).group;
      shown.touch(true);
    };
    shown.tools.prepend(select);
  });
}

// Distribution of frame latency, of all frames or of those in view above.
{
  const state = { tail: false, follow: false };
  const kept = new Map();
  const sortedOf = (m) => {
    const key = state.follow ? time.view.join() : "all";
    if (kept.get(m)?.key !== key) {
      const list = sortedValues(frameSeries(m), state.follow ? time.view : [-Infinity, Infinity]);
      const n = list.length;
      kept.set(m, { key, list, within: list.map((_, i) => (i + 1) / n), later: list.map((_, i) => (n - i - 1) / n) });
    }
    return kept.get(m);
  };
  const within = (m, latency) => {
    const { list } = sortedOf(m);
    return list.length ? above(list, latency) / list.length : NaN;
  };
  const withFrames = flows.filter((m) => m.flow.frames.t.length);
  const all = withFrames.flatMap((m) => [sortedOf(m).list[0], sortedOf(m).list.at(-1)]).filter(Number.isFinite);
  const lowest = Math.max(Math.min(...all, GUIDES[0]), 0.1);
  const highest = Math.max(...all, GUIDES.at(-1) * 1.1);
  const latency = new Axis("frame latency", "ms", lowest * 0.9, highest * 1.05, { log: true });
  const most = Math.max(...withFrames.map((m) => sortedOf(m).list.length), 10);
  const figure = document.querySelector('[data-panel="cdf"]');
  const caption = figure.querySelector(".caption").textContent;
  const cdf = panel("cdf", latency, flows, {
    unit: "share of frames within",
    height: 300,
    log: true,
    logX: true,
    quantities: [{ key: "share", label: "share", kind: "curve", weight: "main", series: (m) => ({ t: sortedOf(m).list, v: state.tail ? sortedOf(m).later : sortedOf(m).within, end: state.tail ? sortedOf(m).list.at(-1) : undefined }) }],
    range: () => (state.tail ? { lo: 0.7 / most, hi: 1, log: true } : { lo: 0, hi: 1, log: false }),
    text: (value) => `${Number((value * 100).toPrecision(2))} %`,
    guides: GUIDES,
    columns: ({ axis }) => {
      const frames = state.follow ? `frames of ${rangeText(time)}` : "all frames";
      const share = (m, at) => percent(state.tail ? 1 - within(m, at) : within(m, at), 2);
      if (axis.cursor !== null) {
        return { caption: `${frames}, ${state.tail ? "later than" : "within"} ${ms(axis.cursor)}`, columns: [{ label: "share", cell: (m) => share(m, axis.cursor) }] };
      }
      return {
        caption: `${frames}, ${state.tail ? "later than" : "within"}`,
        columns: GUIDES.map((guide) => ({ label: ms(guide), cell: (m) => share(m, guide) })),
      };
    },
  });
  if (cdf) {
    cdf.choose("Distribution", ["CDF", "1 − CDF"], "CDF", (name) => {
      state.tail = name !== "CDF";
      cdf.spec.unit = state.tail ? "share of frames later than" : "share of frames within";
      figure.querySelector("h3").textContent = state.tail ? "Share of frames later than a latency" : "Share of frames within a latency";
      figure.querySelector(".caption").textContent = state.tail ? "Lower and further left is better. The last step of a line is its single latest frame." : caption;
      cdf.touch(true);
    });
    cdf.choose("Frames", ["all frames", "time in view"], "all frames", (name) => {
      state.follow = name !== "all frames";
      cdf.touch(true);
    });
    time.panels.push({ touch: (all) => all && state.follow && cdf.touch(true) });
  }
}

// Throughput against delay, better to the upper right.
{
  const at = (m) => [m.flow.summary.delay_p95, m.flow.summary.throughput];
  const placed = flows.filter((m) => at(m).every(Number.isFinite));
  const delays = placed.map((m) => at(m)[0]);
  const wide = Math.max(...delays) / Math.min(...delays) > 6;
  const axis = new Axis("95th percentile one-way delay", "ms", 0, 1, { reversed: true });
  let spanned = null;
  const span = (log) => {
    const [lo, hi] = [Math.min(...delays), Math.max(...delays)];
    axis.log = log;
    const room = Math.max((hi - lo) * 0.35, hi * 0.15);
    axis.setWhole(log ? lo / 1.6 : Math.max(0, lo - room), log ? hi * 1.6 : hi + room);
    spanned = log;
  };
  span(wide);
  const cap = (m) => m.run.capacity.t.length && steppedMean({ ...m.run.capacity, end: m.run.duration }, [0, m.run.duration]);
  const guides = [...new Set(placed.filter((m) => m.run.flows.length === 1).map((m) => cap(m)).filter((c) => c > 0))];
  const scatter = panel("scatter", axis, flows, {
    unit: "Mbit/s",
    height: 300,
    log: wide,
    logX: true,
    still: true,
    quantities: [{ key: "point", label: "point", kind: "points", series: (m) => (at(m).every(Number.isFinite) ? { t: [at(m)[0]], v: [at(m)[1]] } : null) }],
    range: (self) => {
      const values = [...self.lines().map(([, , s]) => s.v[0]), ...guides];
      const [lo, hi] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
      const room = Math.max((hi - lo) * 0.3, hi * 0.1);
      return { lo: Math.max(0, lo - room), hi: hi + room, log: false };
    },
    back: ({ y, box }) => guides.map((c) => `<path class="guide" d="M${box.left} ${y(c).toFixed(1)}h${box.width}"/>`).join(""),
    front: (self) => {
      const { x, y, box } = self;
      const shown = self.lines().map(([m, , s]) => ({ m, px: x(s.t[0]), py: y(s.v[0]) })).sort((a, b) => a.py - b.py);
      // Names move down where they would cover each other.
      const taken = [];
      const names = shown.map(({ m, px, py }) => {
        const length = m.name.length * 6.6 + 14;
        const left = px + length > box.left + box.width;
        let ly = py + 4;
        const start = left ? px - length : px;
        while (taken.some((o) => Math.abs(o.ly - ly) < 14 && start < o.start + o.length && o.start < start + length)) ly += 14;
        taken.push({ ly, start, length });
        return `<text class="name ${left ? "end" : ""}" x="${px + (left ? -11 : 11)}" y="${ly.toFixed(1)}">${escapeText(m.name)}</text>`;
      });
      const [ax, ay] = [box.left + box.width - 12, box.top + 14];
      const line = guides.map((c) => `<text class="tick" x="${box.left + 6}" y="${(y(c) - 5).toFixed(1)}">mean capacity</text>`);
      return `${names.join("")}${line.join("")}<g class="better"><text class="end" x="${ax - 20}" y="${ay + 8}">better</text><path d="M${ax - 14} ${ay + 12}L${ax} ${ay - 2}m-7 0h7v7"/></g>`;
    },
    columns: () => ({
      caption: "whole run",
      columns: [
        { label: "Mbit/s", cell: (m) => at(m)[1] ?? NaN },
        { label: "p95, ms", cell: (m) => at(m)[0] ?? NaN },
      ],
    }),
  });
  if (scatter) {
    const touch = scatter.touch.bind(scatter);
    scatter.touch = (all) => {
      if (axis.log !== spanned) span(axis.log);
      touch(all);
    };
  }
}

panel("queue", time, links, {
  unit: "kB",
  height: 210,
  log: false,
  quantities: [{ key: "queue", label: "waiting", kind: "line", weight: "main", series: (m) => m.link.queue }],
  back: ({ members: list, x, box, axis }) => {
    const rug = (times, length) => {
      const [from, to] = inView(times, axis.view);
      const columns = new Set(times.slice(from, to).map((t) => Math.round(x(t) * 2) / 2));
      return [...columns].map((px) => `M${px} ${box.top - 6}v${length}`).join("");
    };
    return list.filter((m) => m.on).map((m) => `<path class="rug" d="${rug(m.link.drops, 10)}${rug(m.link.marks, 5)}" style="stroke:${m.colour}"/>`).join("");
  },
  columns: (self) => {
    const { caption, columns } = quantityColumns(self);
    const count = (times) => above(times, time.view[1]) - above(times, time.view[0] - 1e-9);
    if (time.cursor !== null) return { caption, columns };
    return { caption, columns: [...columns, { label: "drops", cell: (m) => String(count(m.link.drops)) }, { label: "marks", cell: (m) => String(count(m.link.marks)) }] };
  },
});
