// What the server does while a person types, at a person's pace.
import assert from "node:assert/strict";

import { linkOf, metric, open, runOf, runTests, startServer, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "1", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};

const searches = (server) => metric(server, "sextant_call_wait_seconds_count", "searches");
const tokens = (page) => page.locator("form [data-path='training.tokenCount']");
const planned = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");
const searched = (page) =>
  page.waitForSelector(".answer:not(.stale, .waiting) [aria-labelledby=counts]");

test("a plan takes at most three searches while 20 characters are typed", async () => {
  const server = await startServer();
  const page = await open(server, linkOf("plan", RUN));
  await planned(page);
  const before = await searches(server);
  await tokens(page).fill("");
  await page.waitForTimeout(20);
  await tokens(page).pressSequentially("100000000000000.00e-1", { delay: 150 });
  await planned(page);
  const count = (await searches(server)) - before;
  assert.ok(count >= 1 && count <= 3, `${count} searches`);
  assert.equal((await runOf(page)).training.tokenCount, "10000000000000");
  // Nothing goes on when the page is left.
  await tokens(page).fill("2T");
  await page.waitForTimeout(950);
  await page.close();
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(await metric(server, "sextant_plans_in_flight"), 0);
  await server.stop();
});

test("a search waits until nobody types", async (server) => {
  const page = await open(server, linkOf("search", RUN));
  await searched(page);
  const before = await searches(server);
  await tokens(page).pressSequentially("0000", { delay: 300 });
  assert.equal(await searches(server), before);
  await searched(page);
  assert.equal(await searches(server), before + 1);
});

await runTests();
