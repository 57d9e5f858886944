// The devices of the planner's host: what was measured of each, against its datasheet.

import type { AcceleratorJson } from "api/accelerator_pb";
import type { CalibrationJson } from "api/calibration_pb";
import type {
  GetCalibrationResponseJson,
  ListDevicesResponse_EntryJson,
} from "api/hardware_service_pb";
import type { TimeStatisticsJson } from "api/measured_kernels_pb";

import { call, Failure } from "../../api";
import { h, type Children } from "../../dom";
import { ageText, gibText, grouped, percent, scaled, threeDigits } from "../../numbers";
import { button, card, table, tile } from "../../parts";
import { bars, key, picture } from "../../picture/picture";
import { typeName } from "./catalogue";

interface Measured {
  name: string;
  kind: string;
  rate: number;
  unit: string;
  share?: number | undefined; // of the datasheet's, or of what registers do
  note: string;
  stable: boolean;
}

const SLOWER = 0.9; // of the fastest, a stable measurement is the better one (proto/text)

// The best of each name: stable ones before unstable ones that are little faster.
function best(all: Measured[]): Measured[] {
  const out = new Map<string, Measured>();
  for (const each of all) {
    const held = out.get(each.name);
    const worth = (of: Measured): number => (of.stable ? 1 : SLOWER) * of.rate;
    if (!held || worth(each) > worth(held)) out.set(each.name, each);
  }
  return [...out.values()];
}

function spread(time: TimeStatisticsJson | undefined): string {
  return `spread ${percent(Number(time?.relativeSpread ?? 0))}`;
}

function measuredOf(of: CalibrationJson, sheet: AcceleratorJson | undefined): Measured[] {
  const grid = (of.matmuls ?? []).filter(
    (each) => !each.purpose || each.purpose === "PURPOSE_GRID",
  );
  const products = grid.map((each) => {
    const sustained = each.window === "WINDOW_SUSTAINED";
    return {
      name: `${typeName(each.dataType)}${sustained ? ", long run" : ""}`,
      kind: sustained ? "k1" : "k0",
      rate: Number(each.flopsPerSecond),
      unit: each.dataType === "DATA_TYPE_INT8" ? "OP/s" : "FLOP/s",
      share: (each.datasheetMfu ?? each.registerRatio) as number | undefined,
      note: `${each.m} × ${each.n} × ${each.k}, ${spread(each.time)}`,
      stable: each.time?.stable ?? false,
    };
  });
  const bandwidth = Number(sheet?.memoryBandwidthBytesPerSecond?.value ?? 0);
  const streams = (of.streams ?? [])
    .filter((each) => each.mainMemory)
    .map((each) => ({
      name: `Memory, ${(each.operation ?? "").replace("OPERATION_", "").toLowerCase()}`,
      kind: "k2",
      rate: Number(each.bytesPerSecond),
      unit: "B/s",
      share: bandwidth > 0 ? Number(each.bytesPerSecond) / bandwidth : undefined,
      note: spread(each.time),
      stable: each.time?.stable ?? false,
    }));
  return [...best(products), ...best(streams)];
}

function rates(of: CalibrationJson, sheet: AcceleratorJson | undefined): Children {
  const all = measuredOf(of, sheet);
  const shown = all.filter((each) => each.share !== undefined);
  const against = sheet ? "datasheet" : "registers alone";
  const label =
    `Measured, as a share of its ${against}: ` +
    shown.map((each) => `${each.name} ${percent(each.share!)}`).join(", ");
  return [
    shown.length > 0 &&
      picture(label, (width) =>
        bars(
          width,
          shown.map((each) => ({
            label: each.name,
            parts: [{ kind: each.kind, value: 100 * each.share!, label: percent(each.share!) }],
          })),
          "%",
          { value: 100, label: against },
        ),
      ),
    table(
      "brief",
      ["Best measured", ">Rate", `>Of ${against}`, "How"],
      all.map((each) => [
        [key(each.kind), each.name],
        h(
          "span",
          { "data-rate": each.name, "data-value": each.rate },
          scaled(each.rate, each.unit),
        ),
        each.share !== undefined ? percent(each.share) : "–",
        h("span", { class: "source" }, each.note, !each.stable && ", unstable"),
      ]),
    ),
    !sheet &&
      h(
        "p",
        { class: "says" },
        "The catalogue has no datasheet of it: products of matrices are compared with what its " +
          "registers do without memory.",
      ),
  ];
}

function facts(held: GetCalibrationResponseJson): Children {
  const of = held.calibration ?? {};
  const conditions = of.conditions ?? {};
  const clock = Number(conditions.smClockHertz ?? 0);
  const words = [
    `mode ${(of.mode ?? "").replace("PROBE_MODE_", "").toLowerCase()}`,
    `${threeDigits(Number(of.durationSeconds))} s`,
    `${grouped(Number(of.checkedResultCount))} results checked`,
    Number(of.coverageRatio) < 1 && `${percent(Number(of.coverageRatio))} of its points`,
    clock > 0 && `${scaled(clock, "Hz")} in a long run`,
    conditions.maximumTemperatureCelsius !== undefined &&
      `${conditions.maximumTemperatureCelsius} °C at most`,
    of.probeVersion,
  ];
  return [
    h("p", { class: "says" }, words.filter(Boolean).join(" · ")),
    (of.notes ?? []).length > 0 &&
      h(
        "ul",
        {},
        of.notes!.map((note) => h("li", {}, note)),
      ),
  ];
}

// What a card needs of what is around it.
interface Host {
  count: number; // of devices
  sheets: AcceleratorJson[];
  plan(uuid: string): void; // plans on the device
  measure(uuid: string): void; // shows the probe's form for it
}

async function deviceCard(
  { device = {}, measuredTime, distrusted }: ListDevicesResponse_EntryJson,
  number: number,
  { count, sheets, plan, measure }: Host,
): Promise<HTMLElement> {
  const sheet = sheets.find((each) => each.name === device.accelerator);
  const uuid = device.uuid ?? "";
  let below: Children = h(
    "p",
    {},
    "Never measured: plans use what is published of its product, if anything.",
  );
  if (distrusted) {
    below = h(
      "p",
      { class: "mistake" },
      "A result of its last probe was wrong. Its measurements were withdrawn: look at the device.",
    );
  } else if (measuredTime) {
    try {
      const held = await call("HardwareService/GetCalibration", { device: uuid });
      below = [rates(held.calibration ?? {}, sheet), facts(held)];
    } catch (error) {
      below = h("p", { class: "mistake" }, (error as Error).message);
    }
  }
  return card(
    `device-${number}`,
    `${count > 1 ? `${number + 1}. ` : ""}${device.productName ?? uuid}`,
    h(
      "p",
      { class: "says" },
      h(
        "span",
        { class: measuredTime ? "badge measured" : "badge" },
        measuredTime ? `measured ${ageText(measuredTime)}` : "not measured",
      ),
      " ",
      h("code", {}, uuid),
      ` on ${device.hostname ?? ""}`,
    ),
    h(
      "dl",
      { class: "tiles small" },
      tile("Memory", gibText(Number(device.memoryBytes ?? 0))),
      device.computeUnitCount !== undefined &&
        tile(
          device.kind === "DEVICE_KIND_CPU" ? "Cores" : "Multiprocessors",
          grouped(Number(device.computeUnitCount)),
        ),
      device.driverVersion && tile("Driver", device.driverVersion),
      device.powerLimitWatts !== undefined &&
        tile("Power limit", scaled(Number(device.powerLimitWatts), "W")),
      device.eccEnabled !== undefined && tile("ECC", device.eccEnabled ? "on" : "off"),
    ),
    below,
    h(
      "p",
      {},
      button("Measure it", () => measure(uuid)),
      " ",
      measuredTime && button("Plan on it", () => plan(uuid)),
    ),
  );
}

// Cards of all devices; where a planner has none, why.
export async function devices(
  all: ListDevicesResponse_EntryJson[] | Failure,
  host: Omit<Host, "count">,
): Promise<Children> {
  if (all instanceof Failure || all.length === 0) {
    const why =
      all instanceof Failure
        ? all.message
        : "None: this planner looks at no devices (sextantd --role=planner).";
    return card("devices", "This host’s devices", h("p", {}, why));
  }
  return Promise.all(all.map((entry, i) => deviceCard(entry, i, { ...host, count: all.length })));
}
