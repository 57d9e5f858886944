// What an operation takes: its point under the roofline, its times, and what they stand on.

import type { AnalyzeOperationResponseJson } from "api/accounting_service_pb";
import type { KernelCurveJson, KernelPredictionJson } from "api/kernel_pb";
import type { OperationCostJson } from "api/operation_cost_pb";
import type { OperationTimeJson, RooflineJson } from "api/operation_device_pb";
import type { PlanJson } from "api/plan_pb";

import { h, type Children } from "../../dom";
import {
  grouped,
  inUnit,
  percent,
  scaled,
  shortScaled,
  threeDigits,
  timeText,
  timeUnit,
} from "../../numbers";
import type { Page } from "../../page";
import { card, table, tile } from "../../parts";
import { key, picture } from "../../picture/picture";
import { assumptions, warnings } from "../plan/notes";
import { rates } from "../plan/time";
import { capital } from "../plan/words";
import { roofline, type Point } from "./roofline";

type Answer = AnalyzeOperationResponseJson;

// What a prediction stands on (KernelBasis).
const BASES: Record<string, string> = {
  MEASURED: "this very size was measured",
  WITHIN_GRID: "shapes around it were measured",
  OUTSIDE_GRID: "the nearest measured shape’s share of the roofline",
  OTHER_PASS: "another pass or layout of the kernel was measured",
  OTHER_TYPE: "another number format was measured, and peaks scale it",
  MEASURED_RATE: "only the device’s best rates were measured",
  DATASHEET: "the datasheet’s peaks, times a share that somebody published",
};

const sum = (cost: OperationCostJson | undefined): { flops: number; bytes: number } => ({
  flops: Number(cost?.sum?.matrixFlops ?? 0) + Number(cost?.sum?.otherFlops ?? 0),
  bytes: Number(cost?.sum?.readBytes ?? 0) + Number(cost?.sum?.writtenBytes ?? 0),
});

interface Row {
  key: string;
  name: string;
  seconds: number;
  ends?: string;
  flops: number;
}

function predictedRow(name: string, of: KernelPredictionJson, flops: number): Row {
  const { expected, low, high } = of.durationSeconds ?? {};
  const unit = timeUnit(Number(expected));
  const end = (seconds: unknown): string => threeDigits(Number(seconds) / unit.factor);
  return {
    key: "k0",
    name,
    seconds: Number(expected),
    ends: `${end(low)} to ${end(high)} ${unit.name}`,
    flops,
  };
}

type Array = { sizeBytes?: string; shape?: string[] } | undefined;

// FLOPs a byte of products of matrices, in the formats of the operation asked for.
function intensityOf(answer: Answer): (m: number, n: number, k: number) => number {
  const bytesOf = (array: Array): number =>
    Number(array?.sizeBytes ?? 0) / (array?.shape ?? []).reduce((all, n) => all * Number(n), 1);
  const read = bytesOf(answer.operands?.[0]);
  const written = bytesOf(answer.outputs?.[0]);
  return (m, n, k) => (2 * m * n * k) / ((m * k + k * n) * read + m * n * written);
}

// Measured shapes near the one asked for.
function nearest(of: KernelPredictionJson, answer: Answer): (Point & { seconds: number })[] {
  return (of.nearest ?? []).map(({ matmul, memoryPass, seconds }) => {
    const time = Number(seconds);
    if (!matmul) {
      const [bytes, flops] = [Number(memoryPass?.sizeBytes ?? 0), Number(memoryPass?.flops ?? 0)];
      const label = `${shortScaled(bytes, "B")} moved`;
      return { kind: "k5", label, intensity: flops / bytes, rate: flops / time, seconds: time };
    }
    const [m, n, k] = [Number(matmul.m), Number(matmul.n), Number(matmul.k)];
    const count = Number(matmul.batchCount ?? 1);
    return {
      kind: "k5",
      label: `${count > 1 ? `${count} × ` : ""}${m} × ${n} × ${k}`,
      intensity: intensityOf(answer)(m, n, k),
      rate: (2 * m * n * k * count) / time,
      seconds: time,
    };
  });
}

// Squares by the device's tables, for the eye.
function curveOf(curve: KernelCurveJson | undefined, answer: Answer): Point[] {
  return (curve?.points ?? []).map((each) => {
    const n = Number(each.size);
    const rate = Number(each.flopsPerSecond);
    const label = `${n} × ${n} × ${n}: ${scaled(rate, "FLOP/s")}`;
    return { kind: "k3", label, intensity: intensityOf(answer)(n, n, n), rate };
  });
}

function rowsOf(answer: Answer, time: OperationTimeJson): Row[] {
  const forward = sum(answer.forward);
  const backward = sum(answer.backward?.cost);
  const roofs = (name: string, of: RooflineJson | undefined, flops: number): Row[] =>
    of ? [{ key: "k1", name, seconds: Number(of.totalSeconds ?? 0), flops }] : [];
  const predicted = (name: string, of: KernelPredictionJson | undefined, flops: number): Row[] =>
    of ? [predictedRow(name, of, flops)] : [];
  return [
    ...predicted("Forward, predicted", time.predictedForward, forward.flops),
    ...roofs("Forward, by the roofline", time.forward, forward.flops),
    ...predicted("Backward, predicted", time.predictedBackward, backward.flops),
    ...roofs("Backward, by the roofline", time.backward, backward.flops),
    ...(time.predictedForward ? nearest(time.predictedForward, answer) : []).map((each) => ({
      key: each.kind,
      name: `${each.label}, measured`,
      seconds: each.seconds,
      flops: each.rate * each.seconds,
    })),
  ];
}

function drawn(
  answer: Answer,
  time: OperationTimeJson,
  squares: KernelCurveJson | undefined,
): Children {
  const { flops, bytes } = sum(answer.forward);
  const compute = Number(time.forward?.computeSeconds ?? 0);
  const memory = Number(time.forward?.memorySeconds ?? 0);
  if (!(flops > 0 && bytes > 0 && compute > 0 && memory > 0)) return "";
  const intensity = flops / bytes;
  const roofs = flops / Number(time.forward?.totalSeconds ?? 0);
  const points: Point[] = [
    ...(time.predictedForward ? nearest(time.predictedForward, answer) : []).filter(
      (each) => each.rate > 0,
    ),
    { kind: "k1", label: "by the roofline", intensity, rate: roofs },
  ];
  const predicted = time.predictedForward;
  let label = `${threeDigits(intensity)} FLOP a byte; ${scaled(roofs, "FLOP/s")} by the roofline`;
  if (predicted) {
    const { low, high } = predicted.durationSeconds ?? {};
    const ends = [flops / Number(high), flops / Number(low)] as const;
    const rate = Number(predicted.flopsPerSecond ?? 0);
    points.push({
      kind: "k0",
      label: "predicted",
      intensity,
      rate,
      low: ends[0],
      high: ends[1],
    });
    label +=
      `; predicted ${scaled(rate, "FLOP/s")}, ` +
      `${scaled(ends[0], "")} to ${scaled(ends[1], "")}`;
  }
  const curve = curveOf(squares, answer);
  const roof = { peak: flops / compute, bandwidth: bytes / memory };
  return picture(`Roofline: ${label}`, (width) => roofline(width, roof, points, curve));
}

function basis(of: KernelPredictionJson | undefined): Children {
  if (!of) {
    return h(
      "p",
      { class: "says" },
      "Nothing of its kind was measured: the roofline stands alone.",
    );
  }
  const error = of.error;
  const count = Number(error?.shapeCount ?? 0);
  return h(
    "p",
    { class: "says" },
    `Predicted: ${BASES[(of.basis ?? "").replace("KERNEL_BASIS_", "")] ?? of.basis}. `,
    count > 0 &&
      `On ${grouped(count)} shapes that it had not seen it was ` +
        `${percent(Number(error?.medianAbsoluteErrorRatio))} off in the median; nine in ten are ` +
        `within ${percent(Number(error?.p90AbsoluteErrorRatio))}. `,
    "The interval holds four in five.",
  );
}

const sourceOf = ({ source, sourceNumber, measuredTime }: KernelPredictionJson): object => ({
  source,
  sourceNumber,
  measuredTime,
});

// `squares` are rates of the device's tables.
export function answerOf(
  answer: Answer,
  page: Page,
  squares: KernelCurveJson | undefined,
): Children {
  const time = answer.time ?? {};
  const { flops, bytes } = sum(answer.forward);
  const predicted = time.predictedForward;
  const seconds = Number(predicted?.durationSeconds?.expected ?? time.forward?.totalSeconds ?? 0);
  const rows = rowsOf(answer, time);
  const bound = time.forward?.bound === "ROOFLINE_BOUND_MEMORY" ? "memory" : "arithmetic";
  const named = { "data-symbol": "seconds", "data-value": String(seconds) };
  return [
    card(
      "roofline",
      "Under the roofline",
      h(
        "dl",
        { class: "tiles" },
        tile(
          predicted ? "Forward, predicted" : "Forward, by the roofline",
          h("span", named, inUnit(seconds, timeUnit(seconds))),
          rows[0]?.ends ?? "",
        ),
        tile("FLOPs", shortScaled(flops, "FLOP")),
        tile("Bytes moved", shortScaled(bytes, "B")),
        tile("FLOP a byte", bytes > 0 ? threeDigits(flops / bytes) : "–"),
        tile("Bound by", bound),
        predicted?.datasheetMfu !== undefined &&
          tile("Of the datasheet’s peak", percent(Number(predicted.datasheetMfu))),
        time.rowsAtRidge !== undefined &&
          tile("Rows m to reach the ridge", grouped(Number(time.rowsAtRidge))),
      ),
      drawn(answer, time, squares),
      table(
        "brief",
        ["Pass", ">Time", ">FLOP/s", "Interval"],
        rows.map((row) => [
          [key(row.key), row.name],
          h("span", { "data-row": row.name, "data-value": row.seconds }, timeText(row.seconds)),
          row.flops > 0 && row.seconds > 0 ? scaled(row.flops / row.seconds, "FLOP/s") : "–",
          row.ends ?? "",
        ]),
      ),
      squares &&
        h(
          "p",
          { class: "says" },
          key("k3"),
          "Square products of growing size, in bursts, by the device’s tables.",
        ),
      basis(predicted),
      time.advice?.text && h("p", {}, `${capital(time.advice.text)}.`),
    ),
    warnings({ warnings: time.warnings ?? [] } as PlanJson, page),
    rates({
      rates: time.rates ?? [],
      sources: time.sources ?? [],
      stepTime: predicted ? { kernelSources: [{ share: 1, ...sourceOf(predicted) }] } : {},
    } as PlanJson),
    assumptions({ assumptions: time.assumptions ?? [] } as PlanJson),
  ];
}
