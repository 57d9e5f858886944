// The view Count. Expected figures are the API's, read here by a call without the page.
import assert from "node:assert/strict";

import { ask, assertSound, linkOf, open, runOf, runTests, test } from "./harness.mjs";

const RUN = {
  model: { preset: "mixtral-8x7b" },
  training: { tokenCount: "100000000000", sequenceLength: "4096" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const PARALLEL = { tensorParallelSize: "2", pipelineParallelSize: "4", expertParallelSize: "2" };
const CAUSAL = "MASK_CONVENTION_CAUSAL";

const answered = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
const value = (page, symbol) =>
  page.getAttribute(`[data-symbol="${symbol}"]`, "data-value").then(Number);
const title = (name) => name[0].toUpperCase() + name.slice(1).replace(/_/g, " ");

test("shows the numbers of the API", async (server) => {
  const count = await ask(server, "AccountingService/CountModel", {
    model: RUN.model,
    step: { sequences: [{ length: "4096" }] },
    layout: PARALLEL,
    includeComponents: true,
  });
  const run = { ...RUN, layout: { ...RUN.layout, parallel: PARALLEL } };
  const page = await open(server, linkOf("count", run));
  await answered(page);
  const { total, active, embedding, components } = count.parameters;
  assert.equal(await value(page, "parameters.total"), Number(total));
  assert.equal(await value(page, "parameters.active"), Number(active));
  assert.equal(await value(page, "parameters.embedding"), Number(embedding));
  for (const { name, parameterCount } of components) {
    assert.equal(await value(page, `components.${title(name)}`), Number(parameterCount), name);
  }
  // The components' FLOPs add up to those under a causal mask.
  const mask = count.flops.masks.find((each) => each.mask === CAUSAL);
  assert.equal(await value(page, "model_flops_per_token"), mask.modelFlopsPerToken);
  const flops = await page.$$eval("[data-symbol^='flops.']", (all) =>
    all.map((each) => Number(each.dataset.value)),
  );
  const sum = flops.reduce((all, each) => all + each, 0);
  assert.ok(Math.abs(sum / mask.modelFlopsPerToken - 1) < 1e-12, `${sum}`);
  for (const { name, flopsPerToken } of count.flops.conventions) {
    const cell = page.locator(`[data-convention="${name}"]`);
    assert.equal(await cell.count(), flopsPerToken === undefined ? 0 : 1, name);
    if (flopsPerToken) assert.equal(Number(await cell.getAttribute("data-value")), flopsPerToken);
  }
  assert.equal(count.stages.length, 4);
  // Embeddings on the first, 8 layers on each, the head on the last: the two between are one row.
  assert.equal(count.stages[1].parameterCount, count.stages[2].parameterCount);
  for (const stage of [0, 1, 3]) {
    assert.equal(await value(page, `stages.${stage}`), Number(count.stages[stage].parameterCount));
  }
  assert.equal(await page.locator("th:text-is('Stages 1–2')").count(), 1);
  // 46.70e9 parameters, of which a token meets 12.88e9 (arXiv 2401.04088: 47B and 13B).
  assert.match(await page.textContent("#parameters ~ .tiles"), /46\.7 B/);
  const label = await page.getAttribute("[aria-labelledby=parameters] .picture", "aria-label");
  const experts = components.find((each) => each.name === "routed_experts");
  const share = ((100 * experts.parameterCount) / total).toFixed(1);
  assert.ok(label.includes(`Routed experts: ${share} %`), label);
  await assertSound(page);
});

test("is sound in dark, and on a phone", async (server) => {
  const run = { ...RUN, model: { preset: "deepseek-v3" } };
  for (const look of [
    { dark: true, width: 390, height: 844 },
    { width: 320, dark: true },
  ]) {
    const page = await open(server, linkOf("count", run), look);
    await answered(page);
    await assertSound(page);
  }
});

test("counts what the form names: a size, a config.json, another model", async (server) => {
  const page = await open(server, linkOf("count", RUN));
  await answered(page);
  const model = page.locator("form [data-path='model.preset']");
  // By the keyboard alone.
  for (let i = 0; i < 20; ++i) {
    await page.keyboard.press("Tab");
    if (await model.evaluate((each) => document.activeElement === each)) break;
  }
  await page.keyboard.press("Control+A");
  await page.keyboard.type("70B");
  await page.waitForSelector("h2:text('70 B parameters')");
  await answered(page);
  assert.equal(await value(page, "model_flops_per_token"), 6 * 70e9);
  await assertSound(page);

  const config = {
    model_type: "llama",
    num_hidden_layers: 2,
    hidden_size: 256,
    vocab_size: 1000,
    intermediate_size: 512,
    num_attention_heads: 4,
    num_key_value_heads: 4,
    tie_word_embeddings: true,
  };
  await page.evaluate((content) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([content], "config.json"));
    dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, cancelable: true }));
  }, JSON.stringify(config));
  await page.waitForSelector("h2:text-is('llama')");
  await answered(page);
  assert.deepEqual((await runOf(page)).model, { huggingFaceConfig: JSON.stringify(config) });
  // Tied embeddings; four square matrices and three of the feed-forward a layer; norms.
  const expected = 1000 * 256 + 2 * (4 * 256 ** 2 + 3 * 256 * 512 + 2 * 256) + 256;
  assert.equal(await value(page, "parameters.total"), expected);

  await page.click("button:text('Use a name')");
  await model.fill("t5-11b");
  await page.waitForSelector("h2:text-is('t5-11b')");
});

test("says what is wrong beside the field", async (server) => {
  const page = await open(server, linkOf("count", RUN), { allowed: /status of 40[04]/ });
  await answered(page);
  const model = page.locator("form [data-path='model.preset']");
  await model.fill("mixtral-8x7");
  await page.click(".wrong button:text-is('mixtral-8x7b')");
  await answered(page);
  await page.click("summary:text('Layout')");
  await page.fill("form [data-path='layout.parallel.pipelineParallelSize']", "5");
  await page.waitForSelector("[data-path='layout.parallel.pipelineParallelSize'][aria-invalid]");
  assert.ok(await page.isVisible(".answer.stale"));
  // It stays there when the form's lists come.
  const other = await open(server, linkOf("count", await runOf(page)), { allowed: /of 400/ });
  await other.waitForSelector("#models option", { state: "attached" });
  await other.waitForSelector("[data-path='layout.parallel.pipelineParallelSize'][aria-invalid]");
  // An encoder without a length: its parameters are counted all the same.
  await page.fill("form [data-path='layout.parallel.pipelineParallelSize']", "");
  await model.fill("t5-small");
  await page.waitForSelector("h2:text-is('t5-small')");
  assert.match(await page.textContent("[aria-labelledby=parameters]"), /No FLOPs: give the length/);
  await assertSound(page);
});

await runTests();
