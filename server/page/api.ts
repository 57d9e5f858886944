// The API by fetch: the Connect protocol, as docs/http.md has it. Messages are JSON; their types
// alone are generated.

import type {
  AnalyzeOperationRequestJson,
  AnalyzeOperationResponseJson,
  CountModelRequestJson,
  CountModelResponseJson,
} from "api/accounting_service_pb";
import type {
  GetCalibrationRequestJson,
  GetCalibrationResponseJson,
  GetKernelRatesRequestJson,
  GetKernelRatesResponseJson,
  ListAcceleratorsRequestJson,
  ListAcceleratorsResponseJson,
  ListDevicesRequestJson,
  ListDevicesResponseJson,
  ListNodeTypesRequestJson,
  ListNodeTypesResponseJson,
  RunProbeRequestJson,
  RunProbeResponseJson,
} from "api/hardware_service_pb";
import type { ListModelsRequestJson, ListModelsResponseJson } from "api/model_pb";
import type { BatchPlanRunsResponseJson } from "api/plan_pb";
import type {
  BatchPlanRunsRequestJson,
  ImportRunRequestJson,
  ImportRunResponseJson,
  PlanRunRequestJson,
  PlanRunResponseJson,
  WatchPlanRunResponseJson,
} from "api/planning_service_pb";

// What each call takes, and answers; of streams, each message.
export interface Methods {
  "AccountingService/AnalyzeOperation": [AnalyzeOperationRequestJson, AnalyzeOperationResponseJson];
  "AccountingService/CountModel": [CountModelRequestJson, CountModelResponseJson];
  "AccountingService/ListModels": [ListModelsRequestJson, ListModelsResponseJson];
  "HardwareService/GetCalibration": [GetCalibrationRequestJson, GetCalibrationResponseJson];
  "HardwareService/GetKernelRates": [GetKernelRatesRequestJson, GetKernelRatesResponseJson];
  "HardwareService/ListAccelerators": [ListAcceleratorsRequestJson, ListAcceleratorsResponseJson];
  "HardwareService/ListDevices": [ListDevicesRequestJson, ListDevicesResponseJson];
  "HardwareService/ListNodeTypes": [ListNodeTypesRequestJson, ListNodeTypesResponseJson];
  "HardwareService/RunProbe": [RunProbeRequestJson, RunProbeResponseJson];
  "PlanningService/BatchPlanRuns": [BatchPlanRunsRequestJson, BatchPlanRunsResponseJson];
  "PlanningService/ImportRun": [ImportRunRequestJson, ImportRunResponseJson];
  "PlanningService/PlanRun": [PlanRunRequestJson, PlanRunResponseJson];
  "PlanningService/WatchPlanRun": [PlanRunRequestJson, WatchPlanRunResponseJson];
}

export interface WrongField {
  field: string; // its path as in the .proto files; empty: none in particular
  text: string;
  near: string[]; // names to write instead
}

// A call that failed, by the words of docs/errors.md.
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly fields: WrongField[] = [],
    readonly retrySeconds?: number,
  ) {
    super(message);
  }

  // The server may answer the same question later.
  get passes(): boolean {
    return this.code === "unavailable" || this.code === "resource_exhausted";
  }
}

interface ErrorJson {
  code?: string;
  message?: string;
  details?: {
    type?: string;
    debug?: {
      fieldViolations?: { field?: string; description?: string }[];
      metadata?: Record<string, string>;
    };
  }[];
}

export function failureOf(error: ErrorJson, retrySeconds?: number): Failure {
  const message = error.message ?? "the server refuses the call";
  const fields: WrongField[] = [];
  for (const { debug } of error.details ?? []) {
    for (const each of debug?.fieldViolations ?? []) {
      // "...; near names: a, b; all: docs/models.md": what else there is are buttons, beside it.
      const [text, near] = (each.description ?? "").split(/; near names: (.*?)(?:; all: .*)?$/);
      fields.push({ field: each.field ?? "", text: text ?? "", near: near?.split(", ") ?? [] });
    }
    if (debug?.metadata?.field) {
      const near = debug.metadata.near_names?.split(", ") ?? [];
      const [text] = message.split("; near names: ");
      fields.push({ field: debug.metadata.field, text: text ?? "", near });
    }
  }
  return new Failure(error.code ?? "unknown", message, fields, retrySeconds);
}

let token = "";
let asking: Promise<string> | undefined;
let askForToken: () => Promise<string> = () => Promise.reject(new Failure("unauthenticated", ""));

// Who asks the person for a token: it stays in this module's memory, until the page is left.
export function setTokenDialog(ask: () => Promise<string>): void {
  askForToken = ask;
}

// Makes an attempt, again where the planner asks who calls. Calls at the same time ask once, and
// one that was sent before the token came is sent again.
async function withToken<T>(attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  while (true) {
    const sent = token;
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "unauthenticated") throw error;
    }
    if (sent === token) {
      asking ??= askForToken().finally(() => {
        asking = undefined;
      });
      token = await asking;
    }
    signal?.throwIfAborted();
  }
}

async function post(
  method: string,
  type: string,
  body: BodyInit,
  signal?: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { "Content-Type": type };
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer: Response;
  try {
    answer = await fetch(`sextant.v1.${method}`, { method: "POST", headers, body, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure("unavailable", "The planner does not answer.");
  }
  if (answer.ok) return answer;
  const error: unknown = await answer.json().catch(() => ({ message: `HTTP ${answer.status}` }));
  throw failureOf(error as ErrorJson, Number(answer.headers.get("Retry-After")) || undefined);
}

export async function call<M extends keyof Methods>(
  method: M,
  request: Methods[M][0],
  signal?: AbortSignal,
): Promise<Methods[M][1]> {
  return withToken(async () => {
    const answer = await post(method, "application/json", JSON.stringify(request), signal);
    return (await answer.json()) as Methods[M][1];
  }, signal);
}

// A stream of messages. An answer's message has five bytes before it: a flag, and its length.
export async function watch<M extends keyof Methods>(
  method: M,
  request: Methods[M][0],
  take: (message: Methods[M][1]) => void,
  signal?: AbortSignal,
): Promise<void> {
  const content = new TextEncoder().encode(JSON.stringify(request));
  const body = new Uint8Array(5 + content.length);
  new DataView(body.buffer).setUint32(1, content.length);
  body.set(content, 5);
  return withToken(async () => {
    const answer = await post(method, "application/connect+json", body, signal);
    await readMessages(
      answer.body!.getReader(),
      (message) => take(message as Methods[M][1]),
      signal,
    );
  }, signal);
}

async function readMessages(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  take: (message: unknown) => void,
  signal?: AbortSignal,
): Promise<void> {
  let rest = new Uint8Array(0);
  while (true) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Failure("unavailable", "The planner stopped answering.");
    });
    if (done) throw new Failure("unavailable", "The planner stopped answering.");
    const joined = new Uint8Array(rest.length + value.length);
    joined.set(rest);
    joined.set(value, rest.length);
    rest = joined;
    while (rest.length >= 5) {
      const end = 5 + new DataView(rest.buffer, rest.byteOffset).getUint32(1);
      if (rest.length < end) break;
      const message = JSON.parse(new TextDecoder().decode(rest.subarray(5, end)));
      if (rest[0] === 2) {
        if (message.error) throw failureOf(message.error as ErrorJson);
        return;
      }
      take(message);
      rest = rest.slice(end);
    }
  }
}
