// The roofline: FLOP/s against FLOPs a byte, both by powers of ten.

import { svg } from "../../dom";
import { shortScaled, threeDigits } from "../../numbers";
import { canvas, line, words } from "../../picture/picture";

export interface Point {
  kind: string;
  label: string;
  intensity: number; // FLOP a byte
  rate: number; // FLOP/s
  low?: number;
  high?: number;
}

export interface Roof {
  peak: number; // FLOP/s
  bandwidth: number; // bytes a second
}

type Scale = (value: number) => number;

// Powers of ten, and where there are few of them 2 and 5 of each, too.
function ticksOf(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const count = Math.ceil(Math.log10(high)) - first + 1;
  const steps = count > 4 ? [1] : [1, 2, 5];
  return Array.from({ length: count }, (_, i) => 10 ** (first + i))
    .flatMap((power) => steps.map((step) => step * power))
    .filter((tick) => tick >= low && tick <= high);
}

function grid(x: Scale, y: Scale, width: number, bottom: number, ends: number[]): SVGElement[] {
  const [left, right, low, high] = ends as [number, number, number, number];
  const across = ticksOf(left, right).flatMap((tick) => {
    const at = x(tick);
    const anchor = at < 20 ? "start" : at > width - 20 ? "end" : "middle";
    return [
      line("grid", at, 0, at, bottom),
      words("axis", at, bottom + 14, shortScaled(tick, "").trim(), anchor),
    ];
  });
  const up = ticksOf(low, high).flatMap((tick) => [
    line("grid", 0, y(tick), width, y(tick)),
    words("axis", 0, y(tick) - 4, shortScaled(tick, "FLOP/s")),
  ]);
  return [...across, ...up];
}

// `curve` are points that a line joins.
export function roofline(width: number, roof: Roof, points: Point[], curve: Point[]): SVGElement {
  const ridge = roof.peak / roof.bandwidth;
  const all = [...points, ...curve].map((each) => each.intensity);
  const left = Math.min(ridge / 30, ...all.map((each) => each / 2));
  const right = Math.max(ridge * 30, ...all.map((each) => each * 2));
  const rates = [...points, ...curve].flatMap((each) => [each.rate, each.low ?? each.rate]);
  const low = Math.min(roof.bandwidth * left, ...rates) / 1.5;
  const high = roof.peak * 3;
  const bottom = width < 520 ? 240 : 340;
  const x: Scale = (value) => (Math.log(value / left) / Math.log(right / left)) * (width - 1);
  const y: Scale = (value) => bottom - (Math.log(value / low) / Math.log(high / low)) * bottom;
  const out = grid(x, y, width, bottom, [left, right, low, high]);
  const path = `M0 ${y(roof.bandwidth * left)}L${x(ridge)} ${y(roof.peak)}H${width}`;
  const end = x(ridge) + 80 > width; // no room for words after it
  out.push(
    svg("path", { class: "roof", d: path }),
    line("grid dashed", x(ridge), y(roof.peak), x(ridge), bottom),
    words(
      "axis",
      x(ridge) + (end ? -5 : 5),
      bottom - 6,
      `ridge ${threeDigits(ridge)}`,
      end ? "end" : "start",
    ),
    words("limit-label", width - 1, y(roof.peak) - 7, shortScaled(roof.peak, "FLOP/s"), "end"),
    words("axis", width - 1, bottom + 30, "FLOP a byte", "end"),
  );
  const joined = curve.map((each) => `${x(each.intensity)} ${y(each.rate)}`).join("L");
  if (joined) out.push(svg("path", { class: "curve", d: `M${joined}` }));
  // The last ones lie on top.
  for (const each of [...curve, ...points]) {
    const [cx, cy] = [x(each.intensity), y(each.rate)];
    if (each.low !== undefined && each.high !== undefined) {
      const d = `M${cx - 5} ${y(each.low)}h10m-5 0V${y(each.high)}m-5 0h10`;
      out.push(svg("path", { class: "halo", d }), svg("path", { class: "whisker", d }));
    }
    out.push(
      svg(
        "circle",
        { class: `mark ${each.kind}`, cx, cy, r: each.kind === "k3" ? 3.5 : 5 },
        svg("title", {}, each.label),
      ),
    );
  }
  return canvas(width, bottom + 36, ...out);
}
