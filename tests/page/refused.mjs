// What every view does where the planner refuses a call: asks who calls, and waits.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";

import { assertSound, linkOf, open, runTests, startServer, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const ANSWERED = ".answer[data-whole=true]:not(.stale, .waiting)";
// Of each view: the call that its answer comes from, and what the page has then.
const VIEWS = [
  ["plan", "WatchPlanRun", ANSWERED],
  ["search", "WatchPlanRun", ".answer:not(.stale, .waiting) [aria-labelledby=counts]"],
  ["compare", "BatchPlanRuns", ANSWERED],
  ["hardware", "ListAccelerators", "[data-name=h100-sxm]"],
  ["operation", "AnalyzeOperation", ANSWERED],
  ["count", "CountModel", ANSWERED],
];
const TOKEN = "the-long-secret-of-ada";

// All views at once: most of it is waiting.
const inEachView = (run) => Promise.all(VIEWS.map(([view], i) => run(view, i)));

test("each view asks for a token once", async () => {
  const folder = mkdtempSync("/tmp/page-token-");
  writeFileSync(`${folder}/tokens`, `ada ${TOKEN}\n`, { mode: 0o600 });
  writeFileSync(`${folder}/access`, "* ada\n");
  const server = await startServer([
    `--token_file=${folder}/tokens`,
    `--access_file=${folder}/access`,
  ]);
  await inEachView(async (view, i) => {
    const page = await open(server, linkOf(view, RUN), { allowed: /status of 401/ });
    await page.waitForSelector("dialog.token");
    const all = await page.$$eval("nav a", (links) => links.map((link) => link.hash));
    assert.deepEqual(
      all.map((hash) => /#(\w+)/.exec(hash)[1]),
      VIEWS.map(([name]) => name),
    );
    assert.equal(await page.locator(VIEWS[i][2]).count(), 0, view);
    await page.fill("#token", TOKEN);
    await page.keyboard.press("Enter");
    await page.waitForSelector(VIEWS[i][2]);
    // Nor does the next view ask.
    const [next, , answered] = VIEWS[(i + 1) % VIEWS.length];
    await page.click(`nav a[href^="#${next}="]`);
    await page.waitForSelector(answered);
    assert.equal(await page.locator("dialog").count(), 0, view);
    assert.ok(!page.url().includes(TOKEN));
    const kept = await page.evaluate(() => [
      localStorage.length,
      sessionStorage.length,
      document.cookie,
    ]);
    assert.deepEqual(kept, [0, 0, ""], view);
    await page.reload();
    await page.waitForSelector("dialog.token");
    if (view === "plan") await assertSound(page);
    assert.deepEqual(page.messages, [], view);
  });
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("each view waits for a planner that is busy", async (server) => {
  await inEachView(async (view, i) => {
    const [, method, answered] = VIEWS[i];
    // A link that asks nothing yet.
    const page = await open(server, "#plan=%%%", { allowed: /status of 503/ });
    await page.waitForSelector("#accelerators option", { state: "attached" });
    let calls = 0;
    await page.route(`**/*${method}`, (route) =>
      calls++ === 0
        ? route.fulfill({
            status: 503,
            headers: { "Retry-After": "1", "Content-Type": "application/json" },
            body: JSON.stringify({ code: "unavailable", message: "too many calls" }),
          })
        : route.continue(),
    );
    await page.goto(server.url + linkOf(view, RUN));
    await page.waitForSelector(".mistake:visible:has-text('too many calls')");
    assert.equal(await page.locator(answered).count(), 0, view);
    await page.waitForSelector(answered);
    assert.equal(await page.locator(".mistake:visible").count(), 0, view);
    assert.equal(calls, 2, view);
    assert.deepEqual(page.messages, [], view);
  });
});

await runTests();
