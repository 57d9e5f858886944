// The catalogue of accelerators: figures side by side, and each one's sources.

import type { AcceleratorJson, DatasheetFigureJson } from "api/accelerator_pb";

import { h, replace, svg, type Children } from "../../dom";
import { grouped, shortScaled } from "../../numbers";
import { button, card, choice, labelled, openDialog } from "../../parts";
import { wordsOf } from "../plan/words";

type Column = [heading: string, of: (each: AcceleratorJson) => number, unit: string];

export const typeName = (type: string | undefined): string => wordsOf(type, "DATA_TYPE_");

const value = (figure: DatasheetFigureJson | undefined): number => Number(figure?.value ?? 0);

// The dense peak of a type: that of the matrix units where there are any for it.
export function peakOf(of: AcceleratorJson, type: string): number {
  const all = (of.peakRates ?? []).filter((each) => each.dataType === type);
  return Math.max(0, ...all.map((each) => value(each.flopsPerSecond)));
}

const columns = (type: string): Column[] => [
  ["Memory", (each) => value(each.memoryBytes), "B"],
  ["Bandwidth", (each) => value(each.memoryBandwidthBytesPerSecond), "B/s"],
  [`Dense ${typeName(type)}`, (each) => peakOf(each, type), "FLOP/s"],
  ["Link, one way", (each) => value(each.linkBandwidthBytesPerSecond), "B/s"],
  ["Power", (each) => value(each.thermalDesignPowerWatts), "W"],
];

const FIGURES: [keyof AcceleratorJson, string, string][] = [
  ["memoryBytes", "Memory", "B"],
  ["reportedMemoryBytes", "Memory that its driver reports", "byte"],
  ["driverReservedBytes", "of which the driver keeps", "byte"],
  ["memoryBandwidthBytesPerSecond", "Bandwidth of memory", "B/s"],
  ["linkBandwidthBytesPerSecond", "Link, one way", "B/s"],
  ["linkBidirectionalBandwidthBytesPerSecond", "Link, both ways", "B/s"],
  ["pcieGeneration", "PCI Express generation", ""],
  ["cacheBytes", "Last-level cache", "byte"],
  ["computeUnitCount", "Multiprocessors or their like", ""],
  ["boostClockHertz", "Boost clock", "Hz"],
  ["thermalDesignPowerWatts", "Power limit", "W"],
];

function figureText(number: number, unit: string): string {
  if (unit === "byte") return `${grouped(number)} bytes`;
  return unit ? shortScaled(number, unit) : grouped(number);
}

// All figures of one, with their sources.
function openSheet(of: AcceleratorJson, plan: (name: string) => void): void {
  const entry = (name: string, figure: DatasheetFigureJson | undefined, unit: string): Children =>
    figure && [
      h("dt", {}, name),
      h(
        "dd",
        { "data-figure": name, "data-value": String(figure.value) },
        figureText(value(figure), unit),
        h("div", { class: "source" }, figure.source),
      ),
    ];
  const kinds = [of.vendor, of.architecture, of.formFactor, of.memoryType, of.linkType];
  openDialog("sheet", of.productName ?? "", [
    h("p", { class: "says" }, h("code", {}, of.name), ` · ${kinds.filter(Boolean).join(" · ")}`),
    of.notes && h("p", {}, `Note: ${of.notes}.`),
    h(
      "dl",
      {},
      FIGURES.map(([field, name, unit]) => entry(name, of[field] as DatasheetFigureJson, unit)),
      (of.peakRates ?? []).map((each) =>
        entry(
          `Dense ${typeName(each.dataType)}${each.matrixUnit ? "" : ", no matrix units"}`,
          each.flopsPerSecond,
          each.dataType === "DATA_TYPE_INT8" ? "OP/s" : "FLOP/s",
        ),
      ),
    ),
    h(
      "p",
      {},
      button("Plan on it", () => plan(of.name ?? ""), "main"),
    ),
  ]);
}

// A bar as long as its share of the column's most.
function meter(share: number): SVGElement {
  return svg(
    "svg",
    { class: "meter", width: "100%", height: 4, "aria-hidden": true },
    svg("rect", { class: "room", width: "100%", height: 4 }),
    svg("rect", { class: "k0", width: `${(100 * share).toFixed(1)}%`, height: 4 }),
  );
}

class Catalogue {
  private type = "DATA_TYPE_BF16";
  private sorted = -1; // a column's number
  private words = "";
  private readonly place = h("div");

  constructor(
    private readonly all: AcceleratorJson[],
    private readonly plan: (name: string) => void,
  ) {}

  card(): HTMLElement {
    const types = [
      ...new Set(this.all.flatMap((each) => each.peakRates ?? []).map((r) => r.dataType)),
    ];
    const search = h("input", {
      id: "catalogue-search",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "h100, AMD, HBM3e",
      input: () => {
        this.words = search.value;
        this.draw();
      },
    });
    this.draw();
    return card(
      "catalogue",
      `Accelerators (${this.all.length})`,
      h(
        "div",
        { class: "fields" },
        labelled("Search", search),
        labelled(
          "Dense peak in",
          choice(
            "catalogue-type",
            types.map((type) => [type ?? "", typeName(type)]),
            this.type,
            (type) => {
              this.type = type;
              this.draw();
            },
          ),
        ),
      ),
      this.place,
      h("p", { class: "says" }, "A dash: its vendor publishes no such figure, or none was found."),
    );
  }

  private draw(): void {
    const all = columns(this.type);
    const words = this.words.toLowerCase().split(/\s+/);
    const shown = this.all.filter((each) => {
      const text = [each.name, each.productName, each.vendor, each.architecture, each.memoryType]
        .join(" ")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const by = all[this.sorted]?.[1];
    if (by) shown.sort((a, b) => by(b) - by(a));
    const most = all.map(([, of]) => Math.max(...this.all.map(of)));
    const focused = document.activeElement?.textContent;
    const head = (i: number, heading: string): HTMLElement =>
      h(
        "th",
        {
          scope: "col",
          class: i >= 0 && "number",
          "aria-sort": this.sorted === i && (i < 0 ? "none" : "descending"),
        },
        button(
          heading,
          () => {
            this.sorted = i;
            this.draw();
          },
          "link",
        ),
      );
    replace(
      this.place,
      h(
        "table",
        { class: "catalogue" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head(-1, "Product"),
            all.map(([heading], i) => head(i, heading)),
          ),
        ),
        h(
          "tbody",
          {},
          shown.map((each) =>
            h(
              "tr",
              { "data-name": each.name },
              h(
                "th",
                { scope: "row" },
                button(each.productName ?? "", () => openSheet(each, this.plan), "link"),
                h("div", { class: "source" }, each.vendor),
              ),
              all.map(([, of, unit], i) => {
                const number = of(each);
                return h(
                  "td",
                  { class: "number", "data-value": number > 0 && number },
                  number > 0 ? [shortScaled(number, unit), meter(number / most[i]!)] : "–",
                );
              }),
            ),
          ),
        ),
      ),
      shown.length === 0 && h("p", {}, "No accelerator of the catalogue has these words."),
    );
    const heads = [...this.place.querySelectorAll<HTMLElement>("thead button")];
    if (focused) heads.find((each) => each.textContent === focused)?.focus();
  }
}

// `plan` takes the name of the one to plan on.
export function catalogue(all: AcceleratorJson[], plan: (name: string) => void): HTMLElement {
  return new Catalogue(all, plan).card();
}
