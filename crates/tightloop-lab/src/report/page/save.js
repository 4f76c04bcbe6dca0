// A plot as a file of its own.

/** What it takes with it of the page's styles. */
const PAINT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity"];
const TYPE = ["font-family", "font-size", "font-style", "font-weight", "text-anchor"];

/** Offers the plot as an SVG file with its title and legend, styles written out. */
function save(panel) {
  const shown = panel.members.filter((m) => m.on);
  const rows = Math.ceil(shown.length / 4);
  const top = 30 + rows * 20;
  const legend = shown.map((m, i) => {
    const at = `translate(${MARGIN.left + (i % 4) * 190} ${30 + Math.floor(i / 4) * 20})`;
    return `<g transform="${at}">${swatch(m).replace(/^<svg[^>]*>|<\/svg>$/g, "")}<text class="tick" x="42" y="10">${escapeText(m.name)}</text></g>`;
  });
  const svg = element(`<svg class="plot saved" width="${panel.width}" height="${panel.height + top}" viewBox="0 0 ${panel.width} ${panel.height + top}"><rect class="sheet" width="100%" height="100%"/><text class="heading" x="${MARGIN.left - 7}" y="20">${escapeText(panel.heading.textContent)}</text><g class="swatch">${legend.join("")}</g><g transform="translate(0 ${top})">${panel.svg.innerHTML}</g></svg>`);
  svg.querySelector(".cursor")?.replaceChildren();
  panel.stage.append(svg);
  // All styles are read before any class goes, as they depend on each other.
  const nodes = [...svg.querySelectorAll("path, text, circle, rect")];
  const styles = nodes.map((node) => {
    const style = getComputedStyle(node);
    return [...PAINT, ...(node.tagName === "text" ? TYPE : [])].map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
  });
  nodes.forEach((node, i) => node.setAttribute("style", styles[i]));
  for (const node of svg.querySelectorAll("[class]")) node.removeAttribute("class");
  svg.remove();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  link.download = `${panel.figure.dataset.panel}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
}
