// The view Operation. Expected figures are the API's, read here by a call without the page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

import { ask, assertSound, linkOf, open, runTests, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const MATMUL = {
  operation: { matmul: { m: "4096", n: "8192", k: "2048" } },
  dataTypes: { input: "DATA_TYPE_BF16" },
  device: { device: { accelerator: "h100-sxm" }, regime: "KERNEL_REGIME_SUSTAINED" },
};

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const linkTo = (question) => `${linkOf("operation", RUN)}&ask=${encoded(question)}`;
const answered = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
const field = (page, path) => page.locator(`[aria-label="The operation"] [data-path="${path}"]`);

// The question in a page's link.
async function questionOf(page) {
  const link = await page.evaluate(() => location.hash);
  return JSON.parse(Buffer.from(link.split("&ask=")[1], "base64url").toString());
}

const seconds = (page, row) => page.getAttribute(`[data-row="${row}"]`, "data-value").then(Number);

test("shows the numbers of the API", async (server) => {
  const { time } = await ask(server, "AccountingService/AnalyzeOperation", MATMUL);
  const page = await open(server, linkTo(MATMUL));
  await answered(page);
  const { expected, low, high } = time.predictedForward.durationSeconds;
  assert.equal(await seconds(page, "Forward, predicted"), expected);
  assert.equal(await seconds(page, "Forward, by the roofline"), time.forward.totalSeconds);
  assert.equal(
    await seconds(page, "Backward, predicted"),
    time.predictedBackward.durationSeconds.expected,
  );
  for (const { matmul, seconds: measured } of time.predictedForward.nearest) {
    const row = `${matmul.m} × ${matmul.n} × ${matmul.k}, measured`;
    assert.equal(await seconds(page, row), measured);
  }
  const us = (value) => Number((1e6 * value).toPrecision(3)).toString();
  assert.equal(await page.textContent("[data-symbol=seconds]"), `${us(expected)} us`);
  assert.match(
    await page.textContent("[aria-labelledby=roofline] .tiles"),
    new RegExp(`${us(low)} to ${us(high)} us`),
  );
  // 2 m n k over two bytes of each number of the three matrices.
  const label = await page.getAttribute("[aria-labelledby=roofline] .picture", "aria-label");
  const bytes = 2 * (4096 * 2048 + 2048 * 8192 + 4096 * 8192);
  const intensity = ((2 * 4096 * 8192 * 2048) / bytes).toFixed(0);
  assert.ok(label.startsWith(`Roofline: ${Number(intensity).toLocaleString("en-US")} FLOP`), label);
  // Every rate stands with its source.
  const sources = await page.textContent("[aria-labelledby=rates]");
  for (const rate of time.rates) assert.ok(sources.includes(time.sources[rate.sourceNumber - 1]));
  assert.ok(sources.includes(time.sources[time.predictedForward.sourceNumber - 1]));
  await assertSound(page);
});

test("draws the predicted point below the roof, on the same axes", async (server) => {
  const { time } = await ask(server, "AccountingService/AnalyzeOperation", MATMUL);
  const page = await open(server, linkTo(MATMUL));
  await page.waitForSelector("circle.mark.k0");
  const height = (kind) =>
    page.$eval(`circle.mark.${kind}`, (mark) => Number(mark.getAttribute("cy")));
  // Heights of powers of ten, which are as far apart as the logarithms say.
  const [upper, lower] = await page.$$eval("svg .axis", (all) =>
    ["1 PFLOP/s", "100 TFLOP/s"].map(
      (text) => Number(all.find((each) => each.textContent === text).getAttribute("y")) + 4,
    ),
  );
  const rate = (at) => 1e15 * 10 ** ((upper - at) / (lower - upper));
  const near = (value, other) => assert.ok(Math.abs(value / other - 1) < 0.01, `${value} ${other}`);
  near(rate(await height("k0")), time.predictedForward.flopsPerSecond);
  near(rate(await height("k1")), (2 * 4096 * 8192 * 2048) / time.forward.totalSeconds);
  const whisker = await page.getAttribute("path.whisker", "d");
  const [, low, high] = /^M[\d.]+ ([\d.]+)h10m-5 0V([\d.]+)/.exec(whisker).map(Number);
  near(rate(low), (2 * 4096 * 8192 * 2048) / time.predictedForward.durationSeconds.high);
  near(rate(high), (2 * 4096 * 8192 * 2048) / time.predictedForward.durationSeconds.low);
});

test("holds in its link what --print-request prints", async (server) => {
  const page = await open(server, linkOf("operation", RUN));
  await answered(page);
  for (const [size, value] of [
    ["m", "4Ki"],
    ["n", "8192"],
    ["k", "2048"],
  ]) {
    await field(page, `operation.matmul.${size}`).fill(value);
  }
  const command = "op matmul 4096x8192x2048 --dtype=bf16 --device=h100-sxm --print-request";
  const printed = execFileSync(`${process.env.SEXTANT_BIN}/sextant`, command.split(" "));
  assert.deepEqual(await questionOf(page), JSON.parse(printed));
});

test("answers every operation of the form", async (server) => {
  const page = await open(server, linkTo(MATMUL));
  await answered(page);
  const names = await field(page, "operation")
    .locator("option")
    .evaluateAll((all) => all.map((each) => each.value).filter(Boolean));
  assert.ok(names.length >= 15, names);
  for (const name of names) {
    await field(page, "operation").selectOption(name);
    await answered(page);
    assert.deepEqual(Object.keys((await questionOf(page)).operation), [name]);
    assert.ok(await page.isHidden(".mistake"), name);
    assert.equal(await page.locator("[aria-invalid]").count(), 0, name);
    assert.ok(Number(await page.getAttribute("[data-symbol=seconds]", "data-value")) > 0, name);
  }
});

test("is sound in dark, and on a phone", async (server) => {
  const attention = {
    ...MATMUL,
    operation: { attention: { batch: "1", heads: "32", queryLength: "8192", headSize: "128" } },
  };
  for (const [question, look] of [
    [attention, { dark: true, width: 390, height: 844 }],
    [MATMUL, { width: 320, dark: true }],
  ]) {
    const page = await open(server, linkTo(question), look);
    await answered(page);
    await assertSound(page);
  }
});

test("says what is wrong beside the field", async (server) => {
  const page = await open(server, linkTo(MATMUL), { allowed: /status of 400/ });
  await answered(page);
  const wrong = page.locator(".field:has(> [data-path='operation.matmul.m']) .wrong");
  await field(page, "operation.matmul.m").fill("0");
  await page.waitForSelector("[data-path='operation.matmul.m'][aria-invalid]");
  assert.ok((await wrong.textContent()).length > 5);
  assert.ok(await page.isVisible(".answer.stale"));
  await field(page, "operation.matmul.m").fill("8k");
  assert.match(await wrong.textContent(), /could mean 8000 or 8192/);
  await page.click(".wrong button:text('8192')");
  await answered(page);
  assert.equal(await wrong.textContent(), "");
  assert.equal((await questionOf(page)).operation.matmul.m, "8192");
  await assertSound(page);
});

test("is used by the keyboard alone, and keeps the run", async (server) => {
  const page = await open(server, linkOf("operation", RUN));
  await answered(page);
  const at = () => page.evaluate(() => document.activeElement.dataset.path);
  for (let i = 0; i < 20 && (await at()) !== "operation.matmul.k"; ++i)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("16Ki");
  await page.waitForFunction(() => location.hash.includes("&ask="));
  assert.deepEqual((await questionOf(page)).operation, {
    matmul: { m: "8192", n: "8192", k: "16384" },
  });
  await answered(page);
  // What is asked stays in the link, which a colleague opens; the run stays, too.
  const other = await open(server, await page.evaluate(() => location.hash));
  await answered(other);
  assert.equal(await field(other, "operation.matmul.k").inputValue(), "16384");
  const plan = await other.getAttribute("nav a:text('Plan')", "href");
  const run = JSON.parse(Buffer.from(plan.split("=")[1], "base64url").toString());
  assert.deepEqual(run.cluster, RUN.cluster);
});

test("shows rubbish in a link as a mistake", async (server) => {
  const script = "<img src=x onerror=alert(1)><script>alert(2)</script>";
  for (const asked of [script, encoded([1])]) {
    const page = await open(server, `${linkOf("operation", RUN)}&ask=${asked}`);
    await page.waitForSelector(".mistake:visible");
    assert.deepEqual(page.messages, []);
  }
  const page = await open(server, linkTo({ ...MATMUL, operation: { matmol: script } }), {
    allowed: /status of 400/,
  });
  await page.waitForSelector(".mistake:visible");
  assert.match(await page.textContent(".mistake:visible"), /matmol/);
  await assertSound(page);
});

await runTests();
