// Files of a launcher, opened on the page: what they say becomes the run of the form.
import assert from "node:assert/strict";

import { ask, assertSound, linkOf, open, runOf, runTests, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64", parallel: { tensorParallelSize: "2" } },
};
const CONFIG = {
  model_type: "llama",
  num_hidden_layers: 2,
  hidden_size: 256,
  vocab_size: 1000,
  intermediate_size: 512,
  num_attention_heads: 4,
  num_key_value_heads: 4,
};
const DEEPSPEED = {
  train_micro_batch_size_per_gpu: 1,
  gradient_accumulation_steps: 2,
  bf16: { enabled: true },
  zero_optimization: { stage: 3 },
  sparse_gradients: true,
};
const ds = (more = {}) => file("ds.json", JSON.stringify({ ...DEEPSPEED, ...more }));
const config = () => file("config.json", JSON.stringify(CONFIG));

const file = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
const answered = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
const item = (page, name) => page.locator(`[data-file="${name}"]`);
const field = (page, path) => page.locator(`form [data-path="${path}"]`);
// Until the planner has said what it took the file for.
const taken = (page, name, format) =>
  page.waitForSelector(`[data-file="${name}"] .chip:has-text("${name}: ${format}")`);

// What calls of ImportRun were sent.
function imports(page) {
  const sent = [];
  page.on("request", (request) => {
    if (request.url().endsWith("ImportRun")) sent.push(request.postDataJSON());
  });
  return sent;
}

test("files become the run, under what a person has changed", async (server) => {
  const page = await open(server, linkOf("plan", RUN));
  await answered(page);
  const sent = imports(page);
  await field(page, "cluster.deviceCount").fill("8");
  await page.setInputFiles("#files", [config(), ds()]);
  await taken(page, "config.json", "model's config.json");
  await taken(page, "ds.json", "DeepSpeed configuration");
  await answered(page);
  // Of the form only what was changed is said at first.
  assert.deepEqual(sent[0].request, { cluster: { deviceCount: "8" } });
  assert.deepEqual(
    sent[0].files.map((each) => each.name),
    ["config.json", "ds.json"],
  );
  const { request } = await ask(server, "PlanningService/ImportRun", {
    ...sent[0],
    request: {
      cluster: { ...RUN.cluster, deviceCount: "8" },
      training: { sequenceLength: "8192" },
    },
  });
  const run = await runOf(page);
  // 1 sequence a device, twice, on the 8 devices of the form; no tensor parallelism of the link's.
  assert.equal(run.layout.globalBatchSize, "16");
  assert.deepEqual(run.layout, request.layout);
  assert.deepEqual(JSON.parse(run.model.huggingFaceConfig), CONFIG);
  assert.deepEqual(run.training, { ...request.training, tokenCount: "100000000000" });
  assert.deepEqual(run.cluster, { ...RUN.cluster, deviceCount: "8" });
  assert.equal(await field(page, "layout.microBatchSize").inputValue(), "1");
  assert.equal(
    await field(page, "layout.sharding.zeroStage").inputValue(),
    "ZERO_STAGE_PARAMETERS",
  );
  assert.equal(
    await page.getAttribute("[data-kept]", "data-kept"),
    "training.sequenceLength cluster.device training.tokenCount",
  );
  // The field that no control has.
  const said = await page.textContent(".files");
  assert.match(said, /Also from the files: [^:]*layout\.unmodelledSettings/);
  assert.match(await item(page, "ds.json").textContent(), /Not modelled: sparse_gradients/);
  await assertSound(page);

  // Other devices: what follows from them does so again.
  await field(page, "cluster.deviceCount").fill("4");
  await page.click("button:text('Read again')");
  await page.waitForFunction(
    () => document.querySelector("[data-path='layout.globalBatchSize']").value === "8",
  );
  // Back undoes it, and the files are closed.
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector("[data-file]"));
  assert.equal(await field(page, "layout.globalBatchSize").inputValue(), "16");
});

test("a model's file replaces the model alone", async (server) => {
  const link = { ...RUN, model: { preset: "mixtral-8x7b", changes: { vocabularyMultiple: "128" } } };
  const page = await open(server, linkOf("plan", link));
  await answered(page);
  // Another model was meant until the file was opened.
  await field(page, "model.preset").fill("llama-3.1-8b");
  await page.setInputFiles("#files", [config()]);
  await taken(page, "config.json", "model's config.json");
  const { model, training, cluster, layout } = await runOf(page);
  assert.deepEqual(JSON.parse(model.huggingFaceConfig), CONFIG);
  assert.deepEqual(model.changes, link.model.changes);
  assert.deepEqual({ model: RUN.model, training, cluster, layout }, RUN);
});

test("says what is open, and takes a file that another one wants", async (server) => {
  const page = await open(server, linkOf("plan", RUN));
  await answered(page);
  await page.setInputFiles("#files", [
    file(
      "train.sh",
      "accelerate launch train.py --model_name_or_path ./mine --bf16 --deepspeed d.json\n",
    ),
  ]);
  const script = item(page, "train.sh");
  await script.locator("text=/Wants: .*d\\.json/").waitFor();
  await page.setInputFiles("#files", [
    file("d.json", JSON.stringify({ ...DEEPSPEED, train_micro_batch_size_per_gpu: "auto" })),
  ]);
  await taken(page, "d.json", "DeepSpeed configuration");
  assert.equal(await script.count(), 1);
  assert.doesNotMatch(await script.textContent(), /Wants: [^.]*d\.json/);
  await assertSound(page);
});

test("says what is wrong at the file", async (server) => {
  const page = await open(server, linkOf("plan", RUN), { allowed: /status of 400/ });
  await answered(page);
  const before = await runOf(page);
  await page.setInputFiles("#files", [ds(), file("bad.json", '{"zero_optimization": ')]);
  await page.waitForSelector("[data-file='bad.json'] .wrong");
  assert.equal(await page.locator("[data-file='ds.json'] .wrong").count(), 0);
  assert.deepEqual(await runOf(page), before);
  await assertSound(page);
  await page.click("[aria-label='Remove bad.json']");
  await taken(page, "ds.json", "DeepSpeed configuration");
  assert.equal(await page.locator(".files .wrong").count(), 0);
  assert.ok(await page.evaluate(() => document.activeElement.id === "files"));
});

test("says before it sends what is too much", async (server) => {
  const page = await open(server, linkOf("plan", RUN));
  await answered(page);
  const sent = imports(page);
  const args = "--micro-batch-size 1\n";
  await page.setInputFiles("#files", [file("big.txt", args.repeat(13000))]); // of 21 bytes
  await page.waitForSelector("[data-file='big.txt'] .wrong:has-text('256 KiB')");
  await page.click("[aria-label='Remove big.txt']");
  const some = (count, content) =>
    Array.from({ length: count }, (_, i) => file(`${i}.args`, content));
  await page.setInputFiles("#files", some(17, args));
  await page.waitForSelector(".files .wrong:has-text('At most 16 files')");
  await page.setInputFiles("#files", some(5, args.repeat(12000)));
  await page.waitForSelector(".files .wrong:has-text('1 MiB')");
  assert.deepEqual(sent, []);
  await assertSound(page);
});

test("files are dropped, and opened by the keyboard, on a phone", async (server) => {
  const page = await open(server, linkOf("plan", RUN), { width: 320, height: 700 });
  await answered(page);
  const text = JSON.stringify({ ...DEEPSPEED, autotuning: { [`a_${"long_".repeat(40)}name`]: 1 } });
  await page.evaluate((content) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([content], `${"ds".repeat(60)}.json`));
    const event = { dataTransfer: dropped, cancelable: true, bubbles: true };
    document.querySelector("form").dispatchEvent(new DragEvent("drop", event));
  }, text);
  await page.waitForSelector("[data-file] .chip:has-text('DeepSpeed configuration')");
  await answered(page);
  await assertSound(page);
  const chosen = page.waitForEvent("filechooser");
  await page.focus("#files");
  await page.keyboard.press("Enter");
  const chooser = await chosen;
  assert.ok(chooser.isMultiple());
  await chooser.setFiles([config()]);
  await taken(page, "config.json", "model's config.json");
});

await runTests();
