// Points of two sizes against each other, of which one is looked at: the one under the pointer, or
// by the arrow keys, as a slider that goes from left to right.

import { scaleLinear, scaleLog } from "d3-scale";

import { h, svg } from "../dom";
import { axis, canvas, line, picture, rectangle, words } from "./picture";

interface Size {
  expected: number;
  low: number;
  high: number;
}

export interface Dot {
  x: Size;
  y: Size;
  kind: string; // "tie", "slower", or "beaten", which the line does not go through
  label: string;
}

export interface Scatter {
  label: string;
  dots: Dot[]; // from left to right
  best: number; // the dot with a ring, which is looked at first
  x: string; // what the axes have
  y: string;
  limit: { value: number; label: string }; // of y
  tied: number; // up to which x dots are ties
  look: (dot: number) => void;
  choose: (dot: number) => void;
}

const FAR = 4; // times the least, from which on an axis has a logarithmic scale
const REACH = 28; // pixels from a dot that are still its own
const LEFT = 42;
const TOP = 26;

type Point = [number, number];

// Sides of the dots in pixels: of a thousand, smaller ones.
const sideOf = (count: number): number => (count > 300 ? 4 : count > 60 ? 7 : 10);

// Dots as one line with ends alone: one element, however many they are.
function marks(kind: string, at: Point[], side: number): SVGElement {
  const d = at.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
  return svg("path", { class: `dots ${kind}`, d, "stroke-width": side });
}

// Those that are hollow have room for a hole.
function beaten(at: Point[], side: number): SVGElement[] {
  const wide = Math.max(side, 7);
  return [marks("beaten", at, wide), marks("hole", at, wide - 4)];
}

function dotKey(kind: string): SVGElement {
  const at: Point[] = [[7, 7]];
  return svg(
    "svg",
    { class: "key", width: 14, height: 14, "aria-hidden": true },
    kind === "beaten" ? beaten(at, 10) : marks(kind, at, 10),
    kind === "best" && svg("circle", { class: "best", cx: 7, cy: 7, r: 5.5 }),
  );
}

// Where values are in the picture.
class Frame {
  readonly right: number;
  readonly bottom: number;
  readonly x;
  readonly y;
  readonly isFar: boolean;

  constructor({ dots, limit }: Scatter, width: number, height: number) {
    [this.right, this.bottom] = [width - 10, height - 40];
    const times = dots.map((dot) => dot.x.expected);
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const room = Math.max(0.03 * (most - least), 0.02 * most);
    const across = [LEFT, this.right];
    this.isFar = most > FAR * least;
    this.x = this.isFar
      ? scaleLog([least / 1.06, most * 1.06], across)
      : scaleLinear([least - room, most + room], across);
    // From 0, unless all are in the upper half.
    const heights = dots.map((dot) => dot.y.expected);
    const top = 1.07 * Math.max(limit.value, ...heights);
    const lowest = Math.min(...heights);
    const from = lowest < top / 2 ? 0 : Math.max(0, top - 1.25 * (top - lowest));
    this.y = scaleLinear([from, top], [this.bottom, TOP]);
  }

  at({ x, y }: Dot): Point {
    return [this.x(x.expected), this.y(y.expected)];
  }

  // The intervals of both sizes as a cross, as far as there is room.
  cross({ x, y }: Dot): string {
    const inside = (value: number, from: number, to: number): number =>
      Math.min(Math.max(value, from), to);
    const time = (value: number): number => inside(this.x(value), LEFT, this.right);
    const size = (value: number): number => inside(this.y(value), TOP, this.bottom);
    const [px, py] = this.at({ x, y } as Dot);
    return `M${time(x.low)} ${py}H${time(x.high)}M${px} ${size(y.low)}V${size(y.high)}`;
  }

  // Round numbers; of a logarithmic axis 1, 2 and 5 times powers of ten where more are not needed.
  ticks(count: number): number[] {
    const all = this.x.ticks(count);
    if (all.length <= count + 2) return all;
    const few = all.filter((tick) => [1, 2, 5].includes(Number(tick.toExponential()[0])));
    return few.length > 2 ? few : all;
  }
}

function ground(of: Scatter, frame: Frame, width: number, height: number): SVGElement[] {
  const { x, y, right, bottom, isFar } = frame;
  const limit = y(of.limit.value);
  return [
    rectangle("beyond", LEFT, TOP, right - LEFT, limit - TOP),
    rectangle("room", LEFT, limit, Math.min(x(of.tied), right) - LEFT, bottom - limit),
    ...y
      .ticks(5)
      .flatMap((tick) => [
        line("grid", LEFT, y(tick), right, y(tick)),
        words("axis", LEFT - 6, y(tick) + 4, String(tick), "end"),
      ]),
    ...axis(x, frame.ticks(Math.floor(width / 80)), bottom, TOP, ""),
    words("axis", 0, 12, of.y),
    words("axis", right, height - 4, `${of.x}${isFar ? ", each doubling as wide" : ""}`, "end"),
    line("limit", LEFT, limit, right, limit),
    words("limit-label", right, limit - 6, of.limit.label, "end"),
  ];
}

class Pointed {
  readonly place: HTMLElement;
  private readonly cursor = svg("g");
  private frame: Frame | undefined;
  private at: Point[] = [];
  private current: number;

  constructor(private readonly of: Scatter) {
    const { dots, best } = of;
    this.current = best;
    this.place = picture(of.label, (width) => this.draw(width), {
      class: "picture scatter",
      role: "slider",
      tabindex: 0,
      "aria-valuemin": 1,
      "aria-valuemax": dots.length,
      "aria-valuenow": best + 1,
      "aria-valuetext": dots[best]!.label,
      pointermove: (event: PointerEvent) => {
        const dot = this.under(event);
        this.place.classList.toggle("near", dot !== undefined);
        if (dot !== undefined) this.look(dot);
      },
      click: (event: MouseEvent) => {
        const dot = this.under(event);
        if (dot !== undefined) of.choose(dot);
      },
      keydown: (event: KeyboardEvent) => this.press(event),
    });
  }

  private draw(width: number): SVGElement {
    const { dots, best } = this.of;
    const height = Math.round(Math.min(400, Math.max(270, 0.5 * width)));
    const frame = new Frame(this.of, width, height);
    this.frame = frame;
    this.at = dots.map((dot) => frame.at(dot));
    const side = sideOf(dots.length);
    const ofKind = (kind: string): Point[] => this.at.filter((_, i) => dots[i]!.kind === kind);
    const front = this.at.filter((_, i) => dots[i]!.kind !== "beaten");
    const [x, y] = this.at[best]!;
    this.show();
    return canvas(
      width,
      height,
      ...ground(this.of, frame, width, height),
      svg("path", {
        class: "front",
        d: front.map(([px, py], i) => (i === 0 ? `M${px} ${py}` : `H${px}V${py}`)).join(""),
      }),
      ...beaten(ofKind("beaten"), side),
      marks("slower", ofKind("slower"), side),
      marks("tie", ofKind("tie"), side),
      svg("circle", { class: "best", cx: x, cy: y, r: 10 }),
      this.cursor,
    );
  }

  // Puts the cursor on the current dot.
  private show(): void {
    const [x, y] = this.at[this.current]!;
    const d = this.frame!.cross(this.of.dots[this.current]!);
    this.cursor.replaceChildren(
      svg("path", { class: "halo", d }),
      svg("path", { class: "whisker", d }),
      svg("circle", { class: "cursor", cx: x, cy: y, r: 6 }),
    );
  }

  private look(dot: number): void {
    if (!this.frame) return;
    this.current = Math.min(Math.max(dot, 0), this.at.length - 1);
    this.show();
    this.place.setAttribute("aria-valuenow", String(this.current + 1));
    this.place.setAttribute("aria-valuetext", this.of.dots[this.current]!.label);
    this.of.look(this.current);
  }

  // The dot under the pointer.
  private under(event: MouseEvent): number | undefined {
    const box = this.place.getBoundingClientRect();
    const far = this.at.map(([x, y]) =>
      Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top)),
    );
    const nearest = Math.min(...far);
    return nearest <= REACH ? far.indexOf(nearest) : undefined;
  }

  private press(event: KeyboardEvent): void {
    const far = Math.max(1, Math.round(this.at.length / 10));
    const steps: Record<string, number> = {
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: far,
      PageDown: -far,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step !== undefined) this.look(this.current + step);
    else if (event.key === "Enter") this.of.choose(this.current);
    else return;
    event.preventDefault();
  }
}

export const scatter = (of: Scatter): HTMLElement => new Pointed(of).place;

export const dotKeys = (kinds: [string, string][]): HTMLElement =>
  h(
    "ul",
    { class: "keys" },
    kinds.map(([kind, says]) => h("li", {}, dotKey(kind), says)),
  );
