// Numbers as the command line reads and prints them (proto/words/number.h, proto/text/format.h).

export interface Read {
  value?: string; // digits, as JSON has 64-bit numbers
  wrong?: string;
  instead?: string[]; // what may have been meant
}

const COUNT = { "": 1n, K: 1000n, M: 1000000n, B: 1000000000n, T: 1000000000000n };
const LENGTH = { "": 1n, Ki: 1024n, Mi: 1048576n };
const GIB = 1073741824n;
const BYTES = {
  "": 1n,
  B: 1n,
  kB: 1000n,
  KB: 1000n,
  MB: 1000000n,
  GB: 1000000000n,
  TB: 1000000000000n,
  KiB: 1024n,
  MiB: 1048576n,
  GiB: GIB,
  TiB: 1024n * GIB,
};
const LARGEST = 9223372036854775807n;

function readWhole(text: string, suffixes: Record<string, bigint>, write: string): Read {
  const parts = /^\+?(\d*)\.?(\d*)(?:[eE]\+?(-?\d{1,3}))?([A-Za-z]*)$/.exec(text.trim());
  const factor = parts ? suffixes[parts[4] ?? ""] : undefined;
  const digits = parts ? `${parts[1]}${parts[2]}` : "";
  const wrong = { wrong: `Write ${write}.` };
  if (!parts || factor === undefined || digits === "") return wrong;
  const power = Number(parts[3] ?? 0) - (parts[2] ?? "").length;
  const scaled = BigInt(digits) * factor * 10n ** BigInt(Math.max(power, 0));
  const divisor = 10n ** BigInt(Math.max(-power, 0));
  if (scaled % divisor !== 0n) return wrong;
  const value = scaled / divisor;
  return value > LARGEST ? { wrong: "That is more than 9.22e18." } : { value: value.toString() };
}

// 1024, 15e12, 70B: suffixes are powers of 1000, in either case.
export function readCount(text: string): Read {
  return readWhole(
    text.replace(/[a-z]$/, (c) => c.toUpperCase()),
    COUNT,
    "a whole number such as 1024, 15e12 or 70B",
  );
}

// 8192, 8Ki. "8k" could be either of two.
export function readLength(text: string): Read {
  const either = /^(\d+)[kK]$/.exec(text.trim());
  if (either) {
    const n = Number(either[1]);
    const instead = [String(n * 1000), String(n * 1024)];
    return { wrong: `“${text.trim()}” could mean ${instead.join(" or ")}.`, instead };
  }
  return readWhole(text, LENGTH, "a whole number such as 8192 or 8Ki (Ki: 1,024)");
}

// 80GiB, 80GB.
export function readBytes(text: string): Read {
  return readWhole(text, BYTES, "bytes such as 80GiB (2^30 each) or 80GB (1e9 each)");
}

export function readNumber(text: string): Read {
  const value = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) ? { value: text.trim() } : { wrong: "Write a number such as 2.5." };
}

// "1.5T" of 1500000000000: at most four digits, and exactly the number.
export function countText(value: string): string {
  for (const [suffix, factor] of [
    ["T", 1e12],
    ["B", 1e9],
    ["M", 1e6],
  ] as const) {
    const scaled = Number(value) / factor;
    const short = String(scaled);
    if (scaled >= 1 && short.replace(".", "").length <= 4) return `${short}${suffix}`;
  }
  return value;
}

export function grouped(value: number, decimals = 0): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

// Three digits: "9.41", "43.8", "1,147".
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  return grouped(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

const GIB_BYTES = Number(GIB);
export const gib = (bytes: number): string => grouped(bytes / GIB_BYTES, 2);
export const gibText = (bytes: number): string => `${gib(bytes)} GiB`;

const DURATIONS: [string, number][] = [
  ["days", 86400],
  ["hours", 3600],
  ["s", 1],
];
const TIMES: [string, number][] = [
  ["s", 1],
  ["ms", 1e-3],
  ["us", 1e-6],
  ["ns", 1e-9],
];

export interface Unit {
  name: string;
  factor: number;
}

// Of a run: days, hours, seconds.
export function durationUnit(seconds: number): Unit {
  const [name, factor] = DURATIONS.find(([, f]) => seconds >= f) ?? ["s", 1];
  return { name, factor };
}

// Of a step or a kernel: seconds and below.
export function timeUnit(seconds: number): Unit {
  const [name, factor] = TIMES.find(([, f]) => seconds >= 0.9995 * f) ?? ["s", 1];
  return { name, factor };
}

export const inUnit = (value: number, unit: Unit): string =>
  `${threeDigits(value / unit.factor)} ${unit.name}`;
export const durationText = (seconds: number): string => inUnit(seconds, durationUnit(seconds));
export const timeText = (seconds: number): string => inUnit(seconds, timeUnit(seconds));

export function percent(ratio: number, decimals = 1): string {
  if (ratio > 0 && ratio < 0.5 * 10 ** -(decimals + 2)) return `< ${10 ** -decimals} %`;
  return `${grouped(100 * ratio, decimals)} %`;
}

// Energy in kWh and up.
export function energyText(joules: number): string {
  const kwh = joules / 3.6e6;
  const [unit, factor] = kwh >= 1e6 ? ["GWh", 1e6] : kwh >= 1e3 ? ["MWh", 1e3] : ["kWh", 1];
  return `${grouped(kwh / (factor as number), 2)} ${unit}`;
}

// "989.40 TFLOP/s".
export function scaled(value: number, unit: string): string {
  let rest = value;
  for (const prefix of ["", "k", "M", "G", "T", "P", "E"]) {
    if (Math.abs(rest) < 999.995) return `${grouped(rest, 2)} ${prefix}${unit}`;
    rest /= 1000;
  }
  return `${value.toExponential(3)} ${unit}`;
}

// Without zeros at the end: "80 GB", "3.35 TB/s".
export function shortScaled(value: number, unit: string): string {
  const [digits, ...rest] = scaled(value, unit).split(" ");
  return [digits!.replace(/\.?0+$/, ""), ...rest].join(" ");
}

// A value in a unit as the API spells it.
export function withUnit(value: number, unit: string): string {
  if (unit === "byte") return gibText(value);
  if (unit === "byte/s") return scaled(value, "B/s");
  if (["FLOP/s", "FLOP", "W", "Hz"].includes(unit)) return scaled(value, unit);
  const plain = Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(10)));
  return unit ? `${plain} ${unit}` : plain;
}

// "3 days ago" of a time in the API's form.
export function ageText(time: string): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  const [name, factor] = (
    [
      ["day", 86400],
      ["hour", 3600],
      ["minute", 60],
    ] as const
  ).find(([, f]) => seconds >= f) ?? ["second", 1];
  const count = Math.floor(seconds / factor);
  return `${count} ${name}${count === 1 ? "" : "s"} ago`;
}
