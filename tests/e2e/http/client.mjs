// Calls a planner with connect-node, which shares nothing with it but the .proto files.
//
//   node client.mjs TOOLS GENERATED URL
//
// TOOLS holds node_modules, GENERATED what protoc-gen-es made of the .proto files. Prints one line
// a check, and ends with 1 at the first that fails.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [tools, generated, baseUrl] = process.argv.slice(2);
const require = createRequire(`${tools}/package.json`);
const load = (file) => import(pathToFileURL(file));
const { Code, ConnectError, createClient } = await load(require.resolve("@connectrpc/connect"));
const { createConnectTransport } = await load(require.resolve("@connectrpc/connect-node"));
const { toJson } = await load(require.resolve("@bufbuild/protobuf"));
const planning = await load(`${generated}/sextant/v1/planning_service_pb.js`);
const options = await load(`${generated}/sextant/v1/plan_options_pb.js`);
const hardware = await load(`${generated}/sextant/v1/hardware_service_pb.js`);
const plan = planning.PlanRunResponseSchema;
const details = await load(`${generated}/google/rpc/error_details_pb.js`);

const QUESTION = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: 1000000000000n, sequenceLength: 8192n },
  cluster: {
    device: { selector: { case: "accelerator", value: "h100-sxm" } },
    deviceCount: 16n,
    nodeType: "dgx-h100",
  },
  layout: { parallel: { tensorParallelSize: 2n }, microBatchSize: 1n, globalBatchSize: 64n },
};
// A search of seconds.
const SEARCH = {
  ...QUESTION,
  model: { preset: "deepseek-v3" },
  training: { ...QUESTION.training, sequenceLength: 131072n },
  cluster: { ...QUESTION.cluster, deviceCount: 49152n },
  layout: { globalBatchSize: 49152n },
  options: {
    search: options.LayoutSearch.EXHAUSTIVE, tensorAcrossNodes: true, searchKernels: true,
  },
};

function clientOf(service, useBinaryFormat, more = {}) {
  return createClient(service, createConnectTransport({
    baseUrl, httpVersion: "1.1", useBinaryFormat, ...more,
  }));
}

// The code of the error that `call` ends with, which has to be one.
async function failure(call) {
  try {
    await call();
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new assert.AssertionError({ message: "the call succeeded" });
}

async function messages(stream) {
  const out = [];
  for await (const message of stream) out.push(message);
  return out;
}

const answers = [];
for (const binary of [true, false]) {
  const form = binary ? "proto" : "JSON";
  const client = clientOf(planning.PlanningService, binary);
  const link = clientOf(planning.PlanningService, binary, { useHttpGet: true });
  answers.push(toJson(plan, await client.planRun(QUESTION)));
  answers.push(toJson(plan, await link.planRun(QUESTION)));
  console.log(`${form}: a plan, by POST and by GET`);

  const watched = await messages(client.watchPlanRun(QUESTION));
  const last = watched.at(-1);
  assert.equal(last.event.case, "answer");
  answers.push(toJson(plan, last.event.value));
  console.log(`${form}: a stream of ${watched.length}`);

  const unknown = await failure(() => client.planRun({
    ...QUESTION, model: { preset: "llama-3.1-8c" },
  }));
  assert.equal(unknown.code, Code.NotFound);
  const [info] = unknown.findDetails(details.ErrorInfoSchema);
  assert.equal(info.metadata.field, "model.preset");
  assert.match(info.metadata.near_names, /llama-3\.1-8b/);
  const empty = await failure(() => client.planRun({}));
  assert.equal(empty.code, Code.InvalidArgument);
  const [bad] = empty.findDetails(details.BadRequestSchema);
  assert.ok(bad.fieldViolations.some((each) => each.field === "training.token_count"));
  const inStream = await failure(() => messages(client.watchPlanRun({})));
  assert.equal(inStream.code, Code.InvalidArgument);
  assert.deepEqual(inStream.findDetails(details.BadRequestSchema), [bad]);
  console.log(`${form}: errors, with their details`);

  for (const [name, call] of [
    ["unary", (options) => client.planRun(SEARCH, options)],
    ["stream", (options) => messages(client.watchPlanRun(SEARCH, options))],
  ]) {
    assert.equal((await failure(() => call({ timeoutMs: 50 }))).code, Code.DeadlineExceeded);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    assert.equal((await failure(() => call({ signal: stop.signal }))).code, Code.Canceled);
    console.log(`${form}: a ${name} call's deadline, and its caller gone`);
  }

  const devices = clientOf(hardware.HardwareService, binary);
  assert.ok((await devices.listAccelerators({})).accelerators.length > 40);
}
for (const answer of answers) assert.deepEqual(answer, answers[0]);
console.log("the same plan each time");
