// Pictures: SVG that is drawn at the width of its place, and again when that changes, so that its
// text keeps its size. Colours are classes of style.css. What a picture shows is in its label, or
// in a table beside it.

import { scaleLinear } from "d3-scale";

import { h, svg, type Attributes } from "../dom";

// `draw` gets the width in pixels.
export function picture(
  label: string,
  draw: (width: number) => SVGElement,
  attributes: Attributes = {},
): HTMLElement {
  const place = h("div", { class: "picture", role: "img", "aria-label": label, ...attributes });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (width < 50 || width === drawn) return;
    drawn = width;
    place.replaceChildren(draw(width));
  }).observe(place);
  return place;
}

export function canvas(width: number, height: number, ...children: SVGElement[]): SVGElement {
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": true },
    children,
  );
}

export function rectangle(
  kind: string,
  x: number,
  y: number,
  width: number,
  height: number,
): SVGElement {
  return svg("rect", { class: kind, x, y, width: Math.max(width, 0), height });
}

export function line(kind: string, x1: number, y1: number, x2: number, y2: number): SVGElement {
  return svg("line", { class: kind, x1, y1, x2, y2 });
}

export type Anchor = "start" | "middle" | "end";

export function words(
  kind: string,
  x: number,
  y: number,
  text: string,
  anchor: Anchor = "start",
): SVGElement {
  return svg("text", { class: kind, x, y, "text-anchor": anchor }, text);
}

// An axis below: ticks at round numbers, with room for their words.
export function axis(
  scale: (value: number) => number,
  ticks: number[],
  y: number,
  top: number,
  unit: string,
): SVGElement[] {
  return ticks.flatMap((tick, i) => {
    const x = scale(tick);
    const last = i === ticks.length - 1;
    return [
      line("grid", x, top, x, y),
      words(
        "axis",
        x,
        y + 14,
        last && unit ? `${tick} ${unit}` : String(tick),
        x < 12 ? "start" : last && unit ? "end" : "middle",
      ),
    ];
  });
}

export interface Part {
  kind: string;
  value: number;
  label: string;
}
export interface Bar {
  label: string;
  parts: Part[];
  low?: number; // of the interval of their sum
  high?: number;
}

// Bars of parts side by side, below one another, and a line where the limit is. The value is in the
// axis's unit.
export function bars(
  width: number,
  all: Bar[],
  unit: string,
  limit?: { value: number; label: string },
): SVGElement {
  const above = width < 520; // where labels find no room at the side
  const longest = Math.max(...all.map((bar) => bar.label.length));
  const left = above || longest === 0 ? 0 : Math.min(150, 12 + 7 * longest);
  const row = above && longest > 0 ? 44 : 30;
  const top = limit ? 20 : 4;
  const bottom = top + row * all.length;
  const most = Math.max(
    limit?.value ?? 0,
    ...all.map((bar) =>
      Math.max(
        bar.high ?? 0,
        bar.parts.reduce((sum, part) => sum + part.value, 0),
      ),
    ),
  );
  const scale = scaleLinear([0, most * 1.04], [left, width - 1]);
  const out: SVGElement[] = axis(
    scale,
    scale.ticks(Math.max(2, Math.floor(width / 110))),
    bottom,
    top,
    unit,
  );
  for (const [i, bar] of all.entries()) {
    const y = top + i * row + row - 24;
    out.push(
      above
        ? words("label", 0, y - 5, bar.label)
        : words("label", left - 8, y + 14, bar.label, "end"),
    );
    let sum = 0;
    for (const part of bar.parts) {
      const from = scale(sum);
      sum += part.value;
      const wide = scale(sum) - from;
      // A gap between neighbours, where there is room for one.
      const drawn = rectangle(part.kind, from, y, wide > 3 ? wide - 1 : wide, 20);
      drawn.append(svg("title", {}, part.label));
      out.push(drawn);
    }
    if (bar.low !== undefined && bar.high !== undefined && bar.high > bar.low) {
      const [low, high] = [scale(bar.low), scale(bar.high)];
      const path = `M${low} ${y + 5}v10m0-5H${high}m0-5v10`;
      out.push(svg("path", { class: "halo", d: path }), svg("path", { class: "whisker", d: path }));
    }
  }
  if (limit) {
    const x = scale(limit.value);
    out.push(
      line("limit", x, top - 4, x, bottom),
      words("limit-label", x, top - 8, limit.label, x > width / 2 ? "end" : "start"),
    );
  }
  return canvas(width, bottom + 20, ...out);
}

// The class of the n-th of several kinds that are told apart.
export const kindClass = (n: number): string => `kind k${n % 10}`;

// The key of a kind, in a table beside the picture.
export function key(kind: string): SVGElement {
  return svg(
    "svg",
    { class: "key", width: 14, height: 14, "aria-hidden": true },
    rectangle(kind, 0, 0, 14, 14),
  );
}
