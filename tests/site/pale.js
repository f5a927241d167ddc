// Words in pictures that stand out too little from what is painted below them, with their contrast,
// and how many words there are. axe leaves pictures out.
() => {
  const WANTED = 4.5;
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const colour = (text) => {
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = (below, above, opacity) =>
    below.map((value, i) => value + (above[i] - value) * above[3] * opacity);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const opacity = (element, root) => {
    let share = 1;
    for (let e = element; e && e !== root.parentElement; e = e.parentElement)
      share *= getComputedStyle(e).opacity;
    return share;
  };
  const page = (svg) => {
    const layers = [];
    for (let e = svg; e; e = e.parentElement) layers.unshift(getComputedStyle(e).backgroundColor);
    return layers.reduce((below, above) => over(below, colour(above), 1), [255, 255, 255]);
  };
  const clipped = (shape, { x, y }) => {
    const name = /#([^)"]+)/.exec(shape.closest("[clip-path]")?.getAttribute("clip-path") ?? "");
    const frame = name && document.getElementById(name[1])?.querySelector("rect");
    if (!frame) return false;
    const [left, top, width, height] = ["x", "y", "width", "height"].map((key) =>
      Number(frame.getAttribute(key)),
    );
    return x < left || x > left + width || y < top || y > top + height;
  };
  let seen = 0;
  const pale = [];
  for (const svg of document.querySelectorAll("article svg")) {
    if (!svg.checkVisibility() || svg.closest("[hidden]")) continue;
    const shapes = [...svg.querySelectorAll("rect, path, circle, ellipse, polygon")].filter(
      (shape) => !shape.closest("defs, clipPath, pattern, marker"),
    );
    for (const text of svg.querySelectorAll("text")) {
      const words = text.textContent.trim();
      if (!words || text.closest("defs") || !text.checkVisibility({ visibilityProperty: true }))
        continue;
      const box = text.getBoundingClientRect();
      if (!box.width) continue;
      const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
      let below = page(svg);
      for (const shape of shapes) {
        const after = text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (after) break;
        const style = getComputedStyle(shape);
        if (style.fill === "none" || style.fill.startsWith("url")) continue;
        const edge = shape.getBoundingClientRect();
        if (edge.x > middle.x || edge.right < middle.x) continue;
        if (edge.y > middle.y || edge.bottom < middle.y) continue;
        const inside = middle.matrixTransform(shape.getScreenCTM().inverse());
        if (!shape.isPointInFill(inside) || clipped(shape, inside)) continue;
        below = over(below, colour(style.fill), style.fillOpacity * opacity(shape, svg));
      }
      const style = getComputedStyle(text.querySelector("tspan") ?? text);
      const ink = over(below, colour(style.fill), style.fillOpacity * opacity(text, svg));
      const found = contrast(ink, below);
      seen++;
      if (found < WANTED) pale.push(`${words}: ${found.toFixed(2)}`);
    }
  }
  return { seen, pale };
};
