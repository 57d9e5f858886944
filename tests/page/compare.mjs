// The view Compare. Expected figures are the API's, read here by a call without the page.
import assert from "node:assert/strict";

import { ask, assertSound, linkOf, open, runTests, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const H200 = {
  ...RUN,
  cluster: { device: { accelerator: "h200-sxm" }, deviceCount: "32" },
  economics: { deviceHourPriceUsd: 3 },
};
// 70 billion parameters on a device do not fit.
const LARGE = {
  ...RUN,
  model: { preset: "llama-3.1-70b" },
  layout: { microBatchSize: "1", globalBatchSize: "64" },
};

const link = (run, ...kept) =>
  [linkOf("compare", run), ...kept.map((each) => linkOf("kept", each).slice(1))].join("&");
const compared = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
const names = (page) => page.$$eval(".versus thead th b", (all) => all.map((b) => b.textContent));
const differing = (page) =>
  page.$$eval(".versus tbody:first-of-type tr:not(.group)", (all) =>
    all.map((each) => [...each.children].map((cell) => cell.firstChild.textContent)),
  );
const field = (page, path) => page.locator(`form [data-path="${path}"]`);

test("shows the numbers of the API side by side", async (server) => {
  const search = { search: "LAYOUT_SEARCH_EXHAUSTIVE" };
  const { runs } = await ask(server, "PlanningService/BatchPlanRuns", {
    runs: [{ ...H200, options: search }, LARGE, { ...RUN, options: search }],
  });
  const page = await open(server, link(RUN, H200, LARGE));
  const asked = page.waitForRequest(/BatchPlanRuns/);
  await page.reload();
  assert.equal((await asked).postDataJSON().runs[0].options.search, search.search);
  await compared(page);
  assert.deepEqual(await names(page), ["A", "B", "Form"]);
  const shown = await page.$$eval(".versus [data-symbol]", (all) =>
    all.map((each) => [each.cellIndex - 1, each.dataset.symbol, Number(each.dataset.value)]),
  );
  assert.equal(shown.length, 3 * 7 + 1);
  for (const [column, symbol, value] of shown) {
    const { plan } = runs[column];
    const of = /^(memory|step_time)/.test(symbol) ? plan : plan.estimates[0];
    const expected = symbol
      .replace(/_(.)/g, (_, c) => c.toUpperCase())
      .split(".")
      .reduce((each, name) => each[name], of);
    assert.equal(value, Number(expected), symbol);
  }
  const verdicts = await page.$$eval(".versus .outcome b", (all) => all.map((b) => b.textContent));
  assert.deepEqual(verdicts, ["Fits", "Does not fit", "Fits"]);
  const step = (i) => runs[i].plan.stepTime.seconds.expected;
  const change = 100 * (step(2) / step(0) - 1);
  assert.ok(change > 0);
  assert.equal(
    await page.textContent("[data-symbol='step_time.seconds.expected'] >> nth=2 >> div >> nth=1"),
    `+${change.toFixed(1)} % to A`,
  );
  // What does not fit is never the best.
  const best = await page.$$eval(".versus .badge", (all) =>
    all.map((each) => each.closest("td").cellIndex),
  );
  assert.ok(best.length > 4 && !best.includes(2), String(best));
  await assertSound(page);
});

test("marks what the runs differ in, and nothing else", async (server) => {
  const page = await open(server, link(RUN, H200));
  await compared(page);
  assert.deepEqual(await differing(page), [
    ["Device", "h200-sxm", "h100-sxm"],
    ["How many", "32", "16"],
    ["Price of a device-hour", "3", "—"],
  ]);
  const rows = await page.$$eval(".versus tbody tr:not(.group)", (all) =>
    all.map((each) => [
      each.classList.contains("differs"),
      new Set([...each.querySelectorAll("td")].map((cell) => cell.firstChild.textContent)).size > 1,
      each.textContent,
    ]),
  );
  for (const [marked, differs, words] of rows) assert.equal(marked, differs, words);
  assert.ok(rows.some(([marked]) => !marked));
});

test("is sound in dark, and on a phone with four plans", async (server) => {
  const more = { ...RUN, training: { ...RUN.training, tokenCount: "200000000000" } };
  for (const look of [{ dark: true }, { width: 390, height: 844 }, { width: 320, dark: true }]) {
    const page = await open(server, link(RUN, H200, LARGE, more), look);
    await compared(page);
    assert.deepEqual(await names(page), ["A", "B", "C", "Form"]);
    await assertSound(page);
  }
});

test("keeps plans, and holds them in its link", async (server) => {
  const page = await open(server, linkOf("plan", RUN));
  await page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.click("button.keep");
  await page.waitForSelector("nav >> text='Compare (1)'");
  assert.deepEqual(asked, []);
  await page.click("nav >> text='Compare (1)'");
  await compared(page);
  assert.deepEqual(await names(page), ["A"]);
  await assertSound(page);
  await field(page, "cluster.deviceCount").fill("32");
  await page.waitForSelector(".versus thead th b:text('Form')");
  await compared(page);
  assert.deepEqual(await differing(page), [["How many", "16", "32"]]);
  await page.click("button.keep");
  await field(page, "cluster.deviceCount").fill("64");
  await page.waitForFunction(() => document.querySelectorAll(".versus thead th").length === 3);
  await compared(page);
  await page.click("button.keep");
  await field(page, "cluster.deviceCount").fill("128");
  await page.waitForFunction(() => document.querySelectorAll(".versus thead th").length === 4);
  await compared(page);
  const four = [["How many", "16", "32", "64", "128"]];
  assert.deepEqual(await differing(page), four);
  assert.ok(await page.isHidden("button.keep"));

  // Somebody else opens the link.
  const other = await open(server, await page.evaluate(() => location.hash));
  await compared(other);
  assert.deepEqual(await differing(other), four);

  await page.click("[aria-label='Remove B']");
  await compared(page);
  assert.deepEqual(await differing(page), [["How many", "16", "64", "128"]]);
  await page.click("[aria-label='Edit A in the form']");
  await compared(page);
  assert.equal(await field(page, "cluster.deviceCount").inputValue(), "16");
  assert.deepEqual(await names(page), ["A", "B"]);
  await page.goBack();
  await page.goBack();
  await compared(page);
  assert.deepEqual(await differing(page), four);
});

test("says why a run has no plan, and shows the others", async (server) => {
  const unknown = { ...RUN, model: { preset: "llama-3.1-9b" } };
  const none = { ...RUN, cluster: { ...RUN.cluster, deviceCount: "0" } };
  const page = await open(server, link(none, RUN, unknown));
  await compared(page);
  const cells = await page.$$eval(".versus tr:has(.outcome) td", (all) =>
    all.map((each) => each.textContent),
  );
  assert.match(cells[0], /^Fits/);
  assert.match(cells[1], /llama-3.1-9b/);
  assert.match(cells[2], /see the fields/);
  const wrong = page.locator(".field:has(> [data-path='cluster.deviceCount']) .wrong");
  assert.match(await wrong.textContent(), /write 1 to 1000000/);
  await assertSound(page);
  await field(page, "cluster.deviceCount").fill("16");
  await compared(page);
  assert.equal(await wrong.textContent(), "");
});

test("is used by the keyboard alone", async (server) => {
  const page = await open(server, link(RUN));
  await compared(page);
  const reach = async (selector) => {
    for (let i = 0; i < 60; ++i) {
      if (await page.evaluate((each) => document.activeElement.matches(each), selector)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(selector);
  };
  await reach("button.keep");
  await page.keyboard.press("Enter");
  await page.waitForSelector("nav >> text='Compare (1)'");
  // The button has gone, and the cursor is where it was.
  await page.waitForFunction(() => document.activeElement.id === "compared");
  await page.locator(".skip").focus();
  await reach("[data-path='cluster.deviceCount']");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("32");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".versus thead th b:text('Form')");
  assert.deepEqual(await differing(page), [["How many", "16", "32"]]);
});

test("shows rubbish in a link as a mistake", async (server) => {
  const script = "<img src=x onerror=alert(1)><script>alert(2)</script>";
  for (const kept of [Buffer.from(script).toString("base64url"), "A".repeat(1 << 20)]) {
    const page = await open(server, `${link(RUN)}&kept=${kept}`);
    await page.waitForSelector(".mistake:visible");
    assert.match(await page.textContent(".mistake:visible"), /This link holds no plan/);
    await assertSound(page);
  }
});

await runTests();
