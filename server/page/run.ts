// A run to plan: the request that a link holds, and the form edits. What a link has after "=" is
// the JSON of `sextant plan ... --print-request` in URL-safe base64, as the API's links have their
// message.

import type { LayoutOptionJson } from "api/layout_search_pb";
import type { PlanRunRequestJson } from "api/planning_service_pb";

export type Run = PlanRunRequestJson;

// As much as a server takes in a call.
export const MAX_BYTES = 1048576;

// What the page shows before anybody asked.
export const EXAMPLE: Run = {
  model: { preset: "llama-3.1-70b" },
  training: { tokenCount: "1000000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "256" },
  layout: { globalBatchSize: "512" },
};

type Json = { [key: string]: unknown };

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// A field's path as in the .proto files, as JSON has it.
export function camel(path: string): string {
  return path.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
}

// A value of the run; undefined where there is none.
export function get(run: object, path: string): unknown {
  let value: unknown = run;
  for (const name of path.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

// A number or text of the run; "" where there is none.
export function text(run: object, path: string): string {
  const value = get(run, path);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

// The run with another value; without it where that is undefined. Messages that end empty go, too.
export function set<T extends object>(run: T, path: string, value: unknown): T {
  const [name, ...rest] = path.split(".") as [string, ...string[]];
  const out: Json = { ...(run as Json) };
  const inner = isObject(out[name]) ? out[name] : {};
  const next = rest.length > 0 ? set(inner, rest.join("."), value) : value;
  if (next === undefined || (rest.length > 0 && Object.keys(next as Json).length === 0)) {
    delete out[name];
  } else {
    out[name] = next;
  }
  return out as T;
}

// Paths of all that a run gives, lists and messages of a oneof's member as one.
export function paths(run: unknown, before = ""): string[] {
  if (!isObject(run)) return [];
  return Object.entries(run).flatMap(([name, value]) =>
    isObject(value) ? paths(value, `${before}${name}.`) : [`${before}${name}`],
  );
}

// As paths(), but for a model and a device, which are given in one of several ways: each is one,
// and a model's changes are apart.
export function parts(run: Run): string[] {
  const partOf = (path: string) =>
    /^(model(?!\.changes)|cluster\.device)(?=\.)/.exec(path)?.[0] ?? path;
  return [...new Set(paths(run).map(partOf))];
}

// The parts of a run that it has otherwise than an earlier one.
export function changed(before: Run, run: Run): string[] {
  const value = (of: Run, path: string) => JSON.stringify(get(of, path));
  return parts(run).filter((path) => value(before, path) !== value(run, path));
}

// True where a search has to find the layout, as the command line decides.
export function isOpen(run: Run): boolean {
  const layout: Json = isObject(run.layout) ? run.layout : {};
  const given = ["parallel", "sharding", "contextParallelSize", "microBatchSize"];
  return (
    layout.globalBatchSize !== undefined &&
    !given.some((name) => name in layout) &&
    run.measuredStep === undefined &&
    get(run, "options.search") === undefined
  );
}

// The whole question: what `sextant plan` asks, and --print-request prints.
export function fullQuestion(run: Run): Run {
  let out = run;
  if (get(run, "options.view") === undefined) out = set(out, "options.view", "PLAN_VIEW_FULL");
  return isOpen(run) ? set(out, "options.search", "LAYOUT_SEARCH_EXHAUSTIVE") : out;
}

// The question to a search: of all layouts, unless the run says otherwise.
export function searchQuestion(run: Run): Run {
  const search = get(run, "options.search") ?? "LAYOUT_SEARCH_NONE";
  const asked = search === "LAYOUT_SEARCH_NONE" ? "LAYOUT_SEARCH_EXHAUSTIVE" : search;
  return set(set(run, "options.view", "PLAN_VIEW_FULL"), "options.search", asked);
}

// The run with a layout that a search found.
export function withLayout(run: Run, { layout, recompute }: LayoutOptionJson): Run {
  const laidOut = set(set(run, "layout", layout), "training.recompute", recompute);
  return set(laidOut, "options.search", undefined);
}

// Paths of which not all runs have the same value, but for how much of a plan they ask for.
export function differences(runs: Run[]): string[] {
  const all = new Set(runs.flatMap((run) => paths(withoutDetails(run))));
  return [...all].filter((path) => {
    const values = runs.map((run) => JSON.stringify(get(run, path)));
    return values.some((value) => value !== values[0]);
  });
}

function withoutDetails(run: Run): Run {
  let out = set(run, "options.view", undefined);
  for (const name of ["includeDerivation", "includeLedger", "includeOperations"]) {
    out = set(out, `options.${name}`, undefined);
  }
  return out;
}

// The whole question, without what a call for several runs does not answer.
export const batchedQuestion = (run: Run): Run => withoutDetails(fullQuestion(run));

// The question for an answer at once: a bounded search, and no more than a scheduler needs.
export function shortQuestion(run: Run): Run {
  const out = withoutDetails(run);
  return get(out, "options.search") === "LAYOUT_SEARCH_EXHAUSTIVE"
    ? set(out, "options.search", "LAYOUT_SEARCH_BOUNDED")
    : out;
}

// Without what fullQuestion() adds.
export function withoutQuestion(run: Run): Run {
  const bare = set(set(run, "options.view", undefined), "options.search", undefined);
  const asked = JSON.stringify(fullQuestion(bare).options);
  return asked === JSON.stringify(fullQuestion(run).options) ? bare : run;
}

export const encode = (run: Run): string => encodeJson(fullQuestion(run));

// Any request, as a link has it.
export function encodeJson(request: object): string {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function jsonOf(link: string): string {
  if (/^(\{|%7B)/i.test(link)) return decodeURIComponent(link);
  const binary = atob(link.replace(/-/g, "+").replace(/_/g, "/"));
  return new TextDecoder("utf-8", { fatal: true }).decode(
    Uint8Array.from(binary, (c) => c.charCodeAt(0)),
  );
}

// The run of a link, whose JSON may also stand there as it is. Throws words for people.
export const decode = (link: string): Run => withoutQuestion(decodeJson(link) as Run);

export function decodeJson(link: string): object {
  if (link.length > 2 * MAX_BYTES) throw new Error("It holds more than a planner reads.");
  let request: unknown;
  try {
    request = JSON.parse(jsonOf(link));
  } catch {
    throw new Error("What follows the = is neither JSON nor its base64: it may have been cut off.");
  }
  if (!isObject(request)) throw new Error("What follows the = is JSON, but not of a request.");
  return request;
}
