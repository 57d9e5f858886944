// The view Plan. Expected figures are the API's, read here by a call without the page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";

import { ask, assertSound, linkOf, open, runOf, runTests, startServer, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const OPTIONS = { view: "PLAN_VIEW_FULL", search: "LAYOUT_SEARCH_EXHAUSTIVE" };
const LAID_OUT = { microBatchSize: "1", globalBatchSize: "64" };

// The request of a command line.
const printed = (flags) =>
  JSON.parse(
    execFileSync(path.join(process.env.SEXTANT_BIN, "sextant"), [
      "plan",
      ...flags.split(" "),
      "--print-request",
    ]),
  );

const answered = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
const verdict = (page) => page.textContent("#verdict");
const field = (page, path) => page.locator(`form [data-path="${path}"]`);

// Writes into a field, and asks at once.
async function enter(page, path, value) {
  await field(page, path).fill(value);
  await page.keyboard.press("Enter");
}

// The value of a figure's name in a plan: entries of a list by their names or kinds.
function valueOf(plan, symbol) {
  let value = plan;
  for (const name of symbol.split(".")) {
    const camel = name.replace(/_(.)/g, (_, c) => c.toUpperCase());
    value = Array.isArray(value)
      ? value.find((each) =>
          [each.kind, each.cause].some(
            (kind) => kind?.replace(/^(ESTIMATE_KIND|STEP_CAUSE)_/, "") === name.toUpperCase(),
          ),
        )
      : value?.[camel];
  }
  return value;
}

test("shows the numbers of the API", async (server) => {
  const { plan } = await ask(server, "PlanningService/PlanRun", { ...RUN, options: OPTIONS });
  const page = await open(server, linkOf("plan", RUN));
  await answered(page);
  assert.equal(plan.verdict, "VERDICT_FITS");
  assert.equal(await verdict(page), "Fits");
  const figures = await page.$$eval(".figure", (all) =>
    all.map((each) => [each.dataset.symbol, Number(each.dataset.value), each.textContent]),
  );
  assert.ok(figures.length > 15, `${figures.length} figures`);
  const texts = {};
  for (const [symbol, value, text] of figures) {
    assert.equal(value, Number(valueOf(plan, symbol)), symbol);
    texts[symbol] = text;
  }
  const days = plan.estimates[0].elapsedSeconds.expected / 86400;
  assert.equal(
    texts["estimates.predicted.elapsed_seconds.expected"],
    `${days.toPrecision(3)} days`,
  );
  const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`;
  assert.equal(texts["memory.peak_bytes.expected"], gib(plan.memory.peakBytes.expected));
  assert.equal(texts.fit_chance, `${Math.round(100 * plan.fitChance)} %`);
  const shown = await page.$$eval("[data-stage]", (all) => all.map((each) => each.dataset.value));
  assert.deepEqual(new Set(shown), new Set(plan.memory.stages.map((each) => each.totalBytes)));
  const sources = await page.textContent("[aria-labelledby=rates]");
  for (const rate of plan.rates) assert.ok(sources.includes(plan.sources[rate.sourceNumber - 1]));
  await assertSound(page);
});

test("is sound in dark, and on a phone", async (server) => {
  for (const look of [{ dark: true }, { width: 390, height: 844 }, { width: 320, dark: true }]) {
    const page = await open(
      server,
      linkOf("plan", { ...RUN, economics: { deviceHourPriceUsd: 2 } }),
      look,
    );
    await answered(page);
    await assertSound(page);
  }
});

test("holds in its link what --print-request prints", async (server) => {
  const page = await open(server);
  await answered(page);
  await field(page, "model.preset").fill("llama-3.1-8b");
  await field(page, "training.tokenCount").fill("100B");
  await field(page, "training.sequenceLength").fill("8Ki");
  await field(page, "cluster.deviceCount").fill("16");
  await field(page, "layout.globalBatchSize").fill("64");
  const flags =
    "llama-3.1-8b --tokens=100B --sequence-length=8Ki --accelerator=h100-sxm --devices=16 --gbs=64";
  assert.deepEqual(await runOf(page), printed(flags));
  await page.click("summary:text('Layout')");
  await field(page, "layout.parallel.tensorParallelSize").fill("2");
  assert.deepEqual(await runOf(page), printed(`${flags} --tp=2`));
  // A bare number is a number of parameters.
  await field(page, "model.preset").fill("70B");
  assert.deepEqual((await runOf(page)).model, { parameterCount: "70000000000" });
  assert.equal(await field(page, "model.preset").inputValue(), "70B");
});

test("lists what a stage holds", async (server) => {
  const page = await open(server, linkOf("plan", RUN));
  await answered(page);
  await page.click("[aria-labelledby=memory] summary");
  await page.waitForSelector(".scroll tbody tr:has-text('attention.query')");
  await assertSound(page);
});

test("says what is wrong beside the field", async (server) => {
  const page = await open(server, linkOf("plan", RUN), { allowed: /status of 40[04]/ });
  await answered(page);
  const wrong = (path) => page.locator(`.field:has(> [data-path="${path}"]) .wrong`);
  await enter(page, "cluster.deviceCount", "0");
  await page.waitForFunction(() =>
    document.querySelector("[data-path='cluster.deviceCount'][aria-invalid]"),
  );
  assert.match(await wrong("cluster.deviceCount").textContent(), /write 1 to 1000000/);
  assert.ok(await page.isVisible(".answer.stale"));
  await enter(page, "cluster.deviceCount", "16");
  await answered(page);
  assert.equal(await wrong("cluster.deviceCount").textContent(), "");
  // A name that is not known, and one that was meant.
  await enter(page, "model.preset", "llama-3.1-8");
  await page.click(".wrong button:text('llama-3.1-8b')");
  await answered(page);
  assert.deepEqual(await runOf(page), { ...RUN, options: OPTIONS });
  // What could be two things is not sent.
  await enter(page, "training.sequenceLength", "8k");
  assert.match(await wrong("training.sequenceLength").textContent(), /could mean 8000 or 8192/);
  assert.ok(await page.isVisible(".answer.stale"));
  await page.click(".wrong button:text('8192')");
  await answered(page);
  await assertSound(page);
});

test("takes a config.json, and keeps what the form has no field for", async (server) => {
  const page = await open(
    server,
    linkOf("plan", { ...RUN, layout: { ...LAID_OUT, kernels: { dropout: true } } }),
  );
  await answered(page);
  const config = {
    model_type: "llama",
    num_hidden_layers: 2,
    hidden_size: 256,
    vocab_size: 1000,
    intermediate_size: 512,
    num_attention_heads: 4,
    num_key_value_heads: 4,
  };
  await page.setInputFiles("#config", {
    name: "config.json",
    mimeType: "application/json",
    buffer: Buffer.from(JSON.stringify(config, null, 2)),
  });
  await page.waitForSelector(".chip:has-text('config.json: llama')");
  await answered(page);
  assert.deepEqual((await runOf(page)).model, { huggingFaceConfig: JSON.stringify(config) });
  assert.deepEqual((await runOf(page)).layout.kernels, { dropout: true });
  await page.click("[aria-label='Remove layout.kernels.dropout']");
  assert.deepEqual((await runOf(page)).layout, LAID_OUT);
  await answered(page);
  await assertSound(page);
});

test("shows rubbish in a link as a mistake", async (server) => {
  const script = "<img src=x onerror=alert(1)><script>alert(2)</script>";
  const encoded = (text) => Buffer.from(text).toString("base64url");
  const rubbish = await open(server, `#plan=${script}`);
  for (const link of ["%7Bnot", encoded(script), encoded("[1]"), "A".repeat(1 << 20), "%%%"]) {
    await rubbish.waitForSelector(".mistake:visible:has-text('This link holds no plan')");
    await assertSound(rubbish);
    await rubbish.evaluate((hash) => {
      document.querySelector(".mistake").hidden = true;
      location.hash = hash;
    }, `plan=${link}`);
  }
  await rubbish.waitForSelector(".mistake:visible:has-text('This link holds no plan')");
  // JSON of other things than a request: the planner says so.
  const page = await open(server, linkOf("plan", { modle: script, training: 3 }), {
    allowed: /status of 400/,
  });
  await page.waitForSelector(".mistake:visible");
  assert.match(await page.textContent(".mistake:visible"), /modle/);
  await assertSound(page);
});

test("applies a change that makes it fit", async (server) => {
  const page = await open(
    server,
    linkOf("plan", {
      ...RUN,
      model: { preset: "llama-3.1-70b" },
      layout: { ...LAID_OUT, parallel: { tensorParallelSize: "8" } },
    }),
  );
  await answered(page);
  assert.equal(await verdict(page), "Does not fit");
  await assertSound(page);
  await page.click(".changes button >> nth=0");
  await page.waitForFunction(() => document.querySelector("#verdict").textContent === "Fits");
  assert.notEqual((await runOf(page)).layout.sharding, undefined);
  await page.goBack();
  await page.waitForFunction(
    () => document.querySelector("#verdict").textContent === "Does not fit",
  );
});

test("shows a tight plan, one without a layout, and one of 64 stages", async (server) => {
  const without = await open(server, linkOf("plan", { ...RUN, layout: undefined }));
  await answered(without);
  assert.equal(await verdict(without), "State fits");
  await assertSound(without);

  // The chance is below 1, above which nothing fits.
  const tight = await open(
    server,
    linkOf("plan", {
      ...RUN,
      model: { preset: "llama-3.1-70b" },
      cluster: { ...RUN.cluster, deviceCount: "256" },
      options: { fitsChance: 1 },
      layout: {
        microBatchSize: "1",
        globalBatchSize: "512",
        kernels: { recomputeNormOutputs: true },
        parallel: { tensorParallelSize: "4", pipelineParallelSize: "4", virtualStageCount: "20" },
        sharding: { zeroStage: "ZERO_STAGE_OPTIMIZER" },
      },
    }),
  );
  await answered(tight);
  assert.equal(await verdict(tight), "Tight");
  await assertSound(tight);

  // 64 stages of a model that has as many layers: alike ones are folded.
  const config = JSON.stringify({
    model_type: "llama",
    num_hidden_layers: 128,
    hidden_size: 4096,
    vocab_size: 32000,
    intermediate_size: 14336,
    num_attention_heads: 32,
    num_key_value_heads: 8,
  });
  const stages = await open(
    server,
    linkOf("plan", {
      ...RUN,
      model: { huggingFaceConfig: config },
      cluster: { ...RUN.cluster, deviceCount: "64" },
      layout: { ...LAID_OUT, parallel: { pipelineParallelSize: "64" } },
    }),
    { width: 390 },
  );
  await answered(stages);
  const label = await stages.getAttribute("[aria-labelledby=memory] .picture", "aria-label");
  assert.match(label, /Stages? 0/);
  assert.match(label, /63 \d/);
  assert.ok(label.match(/Stage/g).length <= 12, label);
  await assertSound(stages);
});

test("goes on when the planner is back", async () => {
  const first = await startServer();
  const page = await open(first, linkOf("plan", RUN), { allowed: /ERR_CONNECTION|status of 503/ });
  await answered(page);
  await first.stop();
  await field(page, "training.tokenCount").fill("200B");
  await page.waitForSelector(".mistake:has-text('does not answer'):visible");
  assert.ok(await page.isVisible(".answer.stale"));
  const second = await startServer([], first.http);
  await answered(page);
  assert.ok(await page.isHidden(".mistake"));
  await second.stop();
});

test("is used by the keyboard alone", async (server) => {
  const page = await open(server, linkOf("plan", RUN));
  await answered(page);
  const at = () => page.evaluate(() => document.activeElement.dataset.path);
  for (let i = 0; i < 40 && (await at()) !== "cluster.deviceCount"; ++i)
    await page.keyboard.press("Tab");
  assert.equal(await at(), "cluster.deviceCount");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("32");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".run").textContent.includes("32 ×"));
  await answered(page);
  // And on to how a number came about.
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.matches("button.figure"))) break;
  }
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog.derivation");
  await assertSound(page);
  await page.keyboard.press("Escape");
  assert.ok(await page.evaluate(() => document.activeElement.matches("button.figure")));
});

await runTests();
