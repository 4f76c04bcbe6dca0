// Switches, sorting and copying: what is around the plots.

// The bar that stays in sight: switches for flows, and the time in view.
{
  const bar = document.getElementById("bar");
  const chips = flows.map((m) => `<button type="button" class="chip" data-member="${m.id}" aria-pressed="true">${swatch(m)}<span>${escapeText(m.name)}</span></button>`);
  bar.innerHTML = `<div class="chips" title="Click to hide or show; Shift-click to show one alone">${chips.join("")}</div><div class="view"><output></output><button type="button" class="tool" data-do="in" title="Zoom in" aria-label="Zoom in">+</button><button type="button" class="tool" data-do="out" title="Zoom out" aria-label="Zoom out">−</button><button type="button" class="tool" data-do="all">Reset</button></div>`;
  bar.hidden = !flows.length;
  const output = bar.querySelector("output");
  time.onchange = () => {
    output.textContent = rangeText(time);
    bar.classList.toggle("zoomed", time.zoomed);
  };
  time.onchange();
  bar.addEventListener("click", ({ target }) => {
    const verb = target.closest("[data-do]")?.dataset.do;
    if (verb === "in") time.zoomAt(0.5, 0.5);
    if (verb === "out") time.zoomAt(0.5, 2);
    if (verb === "all") time.reset();
  });
}

document.addEventListener("click", ({ target, shiftKey }) => {
  const id = target.closest("[data-member]")?.dataset.member;
  const member = members.find((m) => m.id === id);
  if (!member) return;
  const peers = [flows, links, capacities].find((list) => list.includes(member));
  if (shiftKey) {
    const alone = peers.every((m) => m.on === (m === member));
    for (const peer of peers) peer.on = alone || peer === member;
  } else {
    member.on = !member.on;
  }
  for (const button of document.querySelectorAll("[data-member]")) {
    button.setAttribute("aria-pressed", members.find((m) => m.id === button.dataset.member).on);
  }
  for (const each of panels) each.touch(true);
});

for (const place of document.querySelectorAll("svg[data-flow]")) {
  place.outerHTML = swatch(flows[place.dataset.flow]);
}

for (const section of document.querySelectorAll("section.plots")) {
  if (!section.querySelector("figure, table")) section.remove();
}

// Tables sort by a click on a heading: best guess first, then the other way.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  headings.forEach((heading, column) => {
    const button = element('<button type="button"></button>');
    button.append(...heading.childNodes);
    heading.append(button);
    button.onclick = () => {
      const order = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "–" || y === "–") return (x === "–") - (y === "–");
        return order * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    };
  });
}

{
  const commands = document.getElementById("commands");
  const copy = commands && element('<button type="button" class="tool copy">Copy</button>');
  if (copy) copy.onclick = async () => {
    getSelection().selectAllChildren(commands.firstElementChild);
    try {
      await navigator.clipboard.writeText(commands.firstElementChild.textContent);
      copy.textContent = "Copied";
    } catch {
      // Without the permission the text is selected, which is half the way.
      copy.textContent = "Selected";
    }
  };
  if (copy) commands.before(copy);
}
addEventListener("beforeprint", () => {
  for (const each of panels) {
    each.near = true;
    each.refresh();
  }
});
document.documentElement.classList.add("drawn");
