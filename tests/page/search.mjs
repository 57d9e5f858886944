// The view Search. Expected figures are the API's, read here by a call without the page.
import assert from "node:assert/strict";

import {
  ask,
  assertSound,
  linkOf,
  metric,
  open,
  runOf,
  runTests,
  startServer,
  test,
} from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-70b" },
  training: { tokenCount: "1000000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "256" },
  layout: { globalBatchSize: "512" },
};
const OPTIONS = { view: "PLAN_VIEW_FULL", search: "LAYOUT_SEARCH_EXHAUSTIVE" };
// Takes many seconds: 4.9 million layouts.
const LONG = {
  model: { preset: "deepseek-v3" },
  training: { tokenCount: "1000000000000", sequenceLength: "32768" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "36864" },
  layout: { globalBatchSize: "147456" },
  options: { searchKernels: true, tensorAcrossNodes: true },
};

const searched = (page) =>
  page.waitForSelector(".answer:not(.stale, .waiting) [aria-labelledby=counts]");
const slider = (page) => page.locator(".scatter");
const searchOf = async (server, run) =>
  (await ask(server, "PlanningService/PlanRun", { ...run, options: OPTIONS })).plan;

// Layouts of a search, each once, from the fastest on.
function layoutsOf({ chosen, front = [], alternatives = [] }) {
  const once = new Map(
    [chosen, ...front, ...alternatives].map((each) => [
      JSON.stringify([each.layout, each.recompute]),
      each,
    ]),
  );
  return [...once.values()].sort(
    (a, b) =>
      a.stepSeconds.expected - b.stepSeconds.expected ||
      b.peakBytes.expected - a.peakBytes.expected,
  );
}

// Where the point under the cursor is on the screen.
async function pointOf(page) {
  const box = await page.locator(".scatter .cursor").boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

async function until(holds, what) {
  for (let i = 0; i < 60; ++i) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(what);
}

const inFlight = (server) => metric(server, "sextant_plans_in_flight");
const cancelled = (server) =>
  server.events.filter((event) => /WatchPlanRun/.test(event.method) && event.code === "CANCELLED");

test("shows the layouts of the API", async (server) => {
  const { search, memory } = await searchOf(server, RUN);
  const page = await open(server, linkOf("search", RUN));
  await searched(page);
  const rows = await page.$$eval(".layouts tbody tr", (all) =>
    all.map((each) => [Number(each.dataset.seconds), Number(each.dataset.bytes)]),
  );
  assert.deepEqual(
    rows,
    [search.chosen, ...search.alternatives].map((each) => [
      each.stepSeconds.expected,
      each.peakBytes.expected,
    ]),
  );
  const all = layoutsOf(search);
  assert.equal(await slider(page).getAttribute("aria-valuemax"), String(all.length));
  const at = Number(await slider(page).getAttribute("aria-valuenow"));
  assert.deepEqual(all[at - 1], search.chosen);
  const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`;
  const text = await slider(page).getAttribute("aria-valuetext");
  assert.ok(text.startsWith(`${search.chosen.stepSeconds.expected.toFixed(1)} s a step, `), text);
  assert.ok(text.includes(gib(search.chosen.peakBytes.expected)), text);
  assert.match(text, /tensor parallel 4, .*pipeline stages 4 × 20 chunks/);
  assert.equal(
    await page.textContent(".scatter .limit-label"),
    `${gib(memory.capacity.usableBytes)} usable`,
  );
  const ties = [search.chosen, ...search.alternatives].filter((each) => each.tie).length;
  assert.match(
    await page.textContent("[aria-labelledby=best]"),
    new RegExp(`${ties} of these are`),
  );
  const counts = await page.textContent("[aria-labelledby=counts]");
  for (const count of [search.consideredCount, ...search.pruned.map((each) => each.count)]) {
    assert.ok(counts.includes(Number(count).toLocaleString("en-US")), `${count} in ${counts}`);
  }
  // A layout that fits is below the line.
  const line = await page.locator(".scatter line.limit").boundingBox();
  assert.ok((await pointOf(page))[1] > line.y);
  await assertSound(page);
});

test("is sound in dark, and on a phone", async (server) => {
  for (const look of [{ dark: true }, { width: 390, height: 844 }, { width: 320, dark: true }]) {
    const page = await open(server, linkOf("search", RUN), look);
    await searched(page);
    await assertSound(page);
  }
});

test("opens a point as a plan, by a click and by the keyboard", async (server) => {
  const all = layoutsOf((await searchOf(server, RUN)).search);
  const page = await open(server, linkOf("search", RUN));
  await searched(page);
  const isPlanOf = async (option) => {
    await page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
    const run = await runOf(page);
    assert.deepEqual(run.layout, option.layout);
    assert.equal(run.training.recompute, option.recompute);
    assert.equal(run.options.search, undefined);
    const step = "[data-symbol='step_time.seconds.expected']";
    assert.equal(Number(await page.getAttribute(step, "data-value")), option.stepSeconds.expected);
  };
  await slider(page).focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 20; ++i) await page.keyboard.press("ArrowRight");
  const point = await pointOf(page);
  await page.keyboard.press("End");
  await page.mouse.click(...point);
  await isPlanOf(all[20]);

  await page.goBack();
  await searched(page);
  await page.keyboard.press("Tab");
  for (let i = 0; i < 40; ++i) {
    if (await slider(page).evaluate((each) => document.activeElement === each)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await isPlanOf(all.at(-1));

  // A row of the table.
  await page.goBack();
  await searched(page);
  await page.click(".layouts tbody tr:nth-child(3) button");
  await isPlanOf((await searchOf(server, RUN)).search.alternatives[1]);
});

test("searches for what is not fixed", async (server) => {
  const fixed = { ...RUN, layout: { ...RUN.layout, parallel: { tensorParallelSize: "2" } } };
  const { search } = await searchOf(server, fixed);
  const page = await open(server, linkOf("search", fixed));
  await searched(page);
  const first = page.locator(".layouts tbody tr").first();
  assert.equal(
    Number(await first.getAttribute("data-seconds")),
    search.chosen.stepSeconds.expected,
  );
  assert.equal(await first.locator("[data-head='Tensor parallel']").textContent(), "2");
  await page.locator("[data-free='layout.parallel.tensorParallelSize']").press("Enter");
  await searched(page);
  assert.equal(await page.evaluate(() => document.activeElement.id), "reach");
  assert.deepEqual(await runOf(page), { ...RUN, options: OPTIONS });
  await page.selectOption("#reach", "LAYOUT_SEARCH_BOUNDED");
  await page.getByLabel("Tensor groups across servers").press("Space");
  await searched(page);
  assert.equal(await page.evaluate(() => document.activeElement.type), "checkbox");
  assert.deepEqual((await runOf(page)).options, {
    search: "LAYOUT_SEARCH_BOUNDED",
    tensorAcrossNodes: true,
    view: "PLAN_VIEW_FULL",
  });
  // A plan of one of them searches no more.
  await page.click(".layouts tbody tr:nth-child(1) button");
  await page.waitForSelector("nav [aria-current]:text('Plan')");
  assert.equal((await runOf(page)).options.search, undefined);
  for (let i = 0; i < 3; ++i) await page.goBack();
  await searched(page);
  assert.equal(await page.inputValue("#reach"), "");
});

test("says so where nothing fits", async (server) => {
  const run = { ...RUN, cluster: { ...RUN.cluster, deviceCount: "2" } };
  const page = await open(server, linkOf("search", run));
  await searched(page);
  assert.match(await page.textContent(".outcome"), /^Does not fit\./);
  assert.equal(await page.locator(".layouts tbody tr").count(), 1);
  await assertSound(page);
});

test("draws a thousand points", async (server) => {
  const { search, memory, ...plan } = await searchOf(server, RUN);
  const made = Array.from({ length: 1000 }, (_, i) => ({
    ...search.chosen,
    layout: { ...search.chosen.layout, microBatchSize: String(i + 1) },
    stepSeconds: { expected: 10 * 1.004 ** i, low: 9 * 1.004 ** i, high: 12 * 1.004 ** i },
    peakBytes: { expected: 8e10 / (1 + i / 60), low: 7e10 / (1 + i / 60), high: 8.2e10 },
    tie: i < 8,
  }));
  const answer = {
    answer: { plan: { ...plan, memory, search: { ...search, chosen: made[0], front: made } } },
  };
  const envelope = (flag, message) => {
    const body = Buffer.from(JSON.stringify(message));
    const head = Buffer.alloc(5, flag);
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]);
  };
  for (const width of [1280, 390]) {
    const page = await open(server, "", { width });
    await page.route("**/*WatchPlanRun", (route) =>
      route.fulfill({
        contentType: "application/connect+json",
        body: Buffer.concat([envelope(0, answer), envelope(2, {})]),
      }),
    );
    await page.goto(server.url + linkOf("search", RUN));
    await searched(page);
    const [points, inside] = await page.evaluate(() => {
      const paths = ["tie", "slower"].map((kind) => document.querySelector(`.scatter .${kind}`));
      const at = paths.flatMap((path) =>
        [...path.getAttribute("d").matchAll(/M([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [+x, +y]),
      );
      const svg = document.querySelector(".scatter svg");
      const [width, height] = ["width", "height"].map((name) => +svg.getAttribute(name));
      return [at, at.every(([x, y]) => x > 30 && x < width && y > 20 && y < height - 20)];
    });
    assert.equal(points.length, 1000);
    assert.ok(inside);
    const side = await page.getAttribute(".scatter .slower", "stroke-width");
    assert.ok(Number(side) <= 4, side);
    // A step right is a slower point; ticks do not run into one another.
    assert.ok(points.every(([x], i) => i === 0 || x >= points[i - 1][0]));
    const ticks = await page.$$eval(".scatter svg text.axis", (all) =>
      all.map((each) => each.getBoundingClientRect().toJSON()),
    );
    for (const [i, a] of ticks.entries()) {
      for (const b of ticks.slice(i + 1)) {
        const apart =
          a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        assert.ok(apart, JSON.stringify([a, b]));
      }
    }
    await slider(page).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("PageUp");
    assert.equal(await slider(page).getAttribute("aria-valuenow"), "102");
    await page.keyboard.press("End");
    assert.match(await slider(page).getAttribute("aria-valuetext"), /micro-batch 1000/);
    await assertSound(page);
  }
});

test("shows how far a search is, and stops it", async () => {
  const server = await startServer();
  const page = await open(server, linkOf("search", LONG));
  await page.waitForSelector(".live:visible");
  assert.match(await page.textContent(".busy"), /Searching: [\d,]+ of [\d,]+ layouts/);
  const best = /The best so far: .* a step, .* GiB, .* pipeline stages/;
  await until(async () => best.test(await page.textContent(".live:visible")), "no best layout");
  assert.ok((await page.locator("progress").evaluate((bar) => bar.value / bar.max)) > 0);
  await assertSound(page);
  await page.click("button:text('Stop')");
  await until(async () => (await inFlight(server)) === 0, "a search goes on");
  await until(() => cancelled(server).length === 1, "not cancelled");
  assert.equal(await page.textContent(".busy"), "Stopped.");
  assert.ok(await page.isVisible("button:text('Search again')"));
  assert.ok(await page.isVisible(".live button:text('Open as plan')"));

  // Another view, and a tab that closes, end it too.
  await page.click("button:text('Search again')");
  await until(async () => (await inFlight(server)) === 1, "no search");
  await page.click("nav >> text=Compare");
  await until(() => cancelled(server).length === 2, "not cancelled by leaving");
  await page.goBack();
  await page.waitForSelector(".live:visible");
  await page.close();
  await until(async () => (await inFlight(server)) === 0, "a search goes on without its tab");
  await until(() => cancelled(server).length === 3, "not cancelled by closing");
  await server.stop();
});

test("goes on when the planner is back", async () => {
  const first = await startServer();
  const page = await open(first, linkOf("search", LONG), { allowed: /ERR_|status of 50[23]/ });
  await page.waitForSelector(".live:visible");
  await first.stop();
  await page.waitForSelector(".mistake:has-text('planner'):visible");
  assert.match(await page.textContent(".busy"), /Trying again/);
  const second = await startServer([], first.http);
  await page.waitForSelector(".live:visible");
  await page.selectOption("#reach", "LAYOUT_SEARCH_BOUNDED");
  await searched(page);
  assert.ok(await page.isHidden(".mistake"));
  assert.ok((await page.locator(".layouts tbody tr").count()) > 1);
  await second.stop();
});

await runTests();
