// What the pointer and the keys do to a panel.

/** Makes a panel answer to pointer, wheel and keys. */
function listen(panel) {
  const { stage, axis } = panel;
  panel.readout.addEventListener("click", ({ target }) => {
    const quantity = panel.spec.quantities.find((q) => q.key === target.closest("[data-key]")?.dataset.key);
    if (!quantity) return;
    quantity.off = !quantity.off;
    panel.touch(true);
  });
  if (panel.spec.still) {
    stage.setAttribute("role", "img");
    stage.setAttribute("aria-label", panel.heading.textContent);
    return;
  }
  stage.tabIndex = 0;
  for (const [name, value] of Object.entries({ role: "slider", "aria-label": `${panel.heading.textContent}: cursor`, "aria-valuemin": axis.whole[0], "aria-valuemax": axis.whole[1], "aria-valuenow": axis.whole[0] })) stage.setAttribute(name, value);
  const share = (event) => (event.clientX - stage.getBoundingClientRect().left - panel.box.left) / panel.box.width;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    stage.setPointerCapture(event.pointerId);
    panel.drag = { from: clamp(share(event), 0, 1), pan: event.shiftKey };
  });
  stage.addEventListener("pointermove", (event) => {
    const at = clamp(share(event), 0, 1);
    axis.point(axis.value(at));
    if (!panel.drag) return;
    if (panel.drag.pan) {
      axis.pan(panel.drag.from - at);
      panel.drag.from = at;
    } else {
      showDrag(panel, panel.drag.from, at);
    }
  });
  stage.addEventListener("pointerup", (event) => {
    const { drag } = panel;
    panel.drag = null;
    showDrag(panel, 0, 0);
    if (!drag || drag.pan) return;
    const [a, b] = [drag.from, clamp(share(event), 0, 1)].sort((p, q) => p - q);
    if ((b - a) * panel.box.width > 5) axis.zoom(...[axis.value(a), axis.value(b)].sort((p, q) => p - q));
  });
  stage.addEventListener("pointercancel", () => {
    panel.drag = null;
    showDrag(panel, 0, 0);
  });
  stage.addEventListener("pointerleave", () => axis.point(null));
  stage.addEventListener("dblclick", () => axis.reset());
  stage.addEventListener("wheel", (event) => {
    const meant = event.ctrlKey || event.metaKey || document.activeElement === stage;
    const outward = event.deltaY > 0 || (event.deltaY === 0 && event.deltaX === 0);
    if (!meant || (outward && !axis.zoomed)) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) axis.pan(event.deltaX / panel.box.width);
    else axis.zoomAt(clamp(share(event), 0, 1), Math.exp(clamp(event.deltaY, -200, 200) * 0.002));
  }, { passive: false });
  stage.addEventListener("keydown", (event) => {
    if (press(panel, event)) event.preventDefault();
  });
  stage.addEventListener("blur", () => axis.point(null));
}

/** What a key does; false if nothing. */
function press(panel, { key, shiftKey, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey) return false;
  const { axis } = panel;
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

/** Shades what is about to be zoomed into. */
function showDrag(panel, a, b) {
  const rect = panel.svg.querySelector(".drag");
  rect?.setAttribute("x", panel.box.left + Math.min(a, b) * panel.box.width);
  rect?.setAttribute("width", Math.abs(b - a) * panel.box.width);
}
