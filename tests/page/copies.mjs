// "Copy as" of the view Plan: what is copied is run.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

import { ask, linkOf, open, runTests, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const OPTIONS = { view: "PLAN_VIEW_FULL", search: "LAYOUT_SEARCH_EXHAUSTIVE" };

// What a shell prints for a command, with the programs under test in its path.
function shell(command) {
  const bin = process.env.SEXTANT_BIN;
  return execFileSync("bash", ["-c", command], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
}

// Keeps what the page copies.
async function catchCopies(page) {
  await page.evaluate(() => {
    window.copied = undefined;
    navigator.clipboard.writeText = async (text) => {
      window.copied = text;
    };
  });
}

async function caught(page) {
  await page.waitForFunction(() => window.copied);
  return page.evaluate(() => window.copied);
}

// The page's text of the run in another form.
async function copied(page, form) {
  await catchCopies(page);
  // The menu closes a moment after each: the next click may be sooner than its end.
  await page.$eval(`[data-copy="${form}"]`, (button) => button.click());
  return caught(page);
}

const answered = (page) => page.waitForSelector(".answer[data-whole=true]:not(.stale, .waiting)");

test("is copied in forms that run", async (server) => {
  // Of a layout that all launchers can express.
  const run = {
    ...RUN,
    training: { ...RUN.training, recompute: "RECOMPUTE_POLICY_FULL" },
    layout: {
      microBatchSize: "1",
      globalBatchSize: "64",
      sharding: { zeroStage: "ZERO_STAGE_PARAMETERS" },
    },
  };
  const page = await open(server, linkOf("plan", run));
  await answered(page);
  const answer = JSON.parse(shell(await copied(page, "curl")));
  assert.equal(answer.plan.verdict, "VERDICT_FITS");
  assert.match(shell(await copied(page, "Command line")), /^FITS: llama-3.1-8b/);
  assert.match(shell(await copied(page, "Megatron-LM’s arguments")), /--global-batch-size 64/);
  assert.match(shell(await copied(page, "torchtitan’s configuration")), /global_batch_size = 64/);
  assert.match(shell(await copied(page, "DeepSpeed’s configuration")), /"train_batch_size": 64/);
  const python = path.join(process.env.SEXTANT_BIN, "../client/python/package");
  const script = await copied(page, "Python");
  assert.equal(
    execFileSync("/usr/bin/python3", ["-c", script], {
      encoding: "utf8",
      env: { ...process.env, PYTHONPATH: python },
    }),
    "VERDICT_FITS\n",
  );
  assert.equal(await copied(page, "Link"), page.url());
});

test("is copied as a job script, of the plan's devices and layout", async (server) => {
  const run = {
    ...RUN,
    model: { preset: "llama-3.1-70b" },
    cluster: { ...RUN.cluster, deviceCount: "64" },
  };
  const { plan } = await ask(server, "PlanningService/PlanRun", { ...run, options: OPTIONS });
  const page = await open(server, linkOf("plan", run));
  await answered(page);
  const script = shell(await copied(page, "Slurm’s job script"));
  execFileSync("bash", ["-n"], { input: script });
  const number = (flag) => Number(new RegExp(`--${flag}[= ](\\d+)`).exec(script)[1]);
  assert.equal(number("nodes") * number("gpus-per-node"), 64);
  assert.match(script, /^srun torchrun .*--nproc-per-node=8 /m);
  const { parallel, contextParallelSize, microBatchSize } = plan.search.chosen.layout;
  assert.deepEqual(
    [
      number("tensor-model-parallel-size"),
      number("pipeline-model-parallel-size"),
      number("context-parallel-size"),
      number("micro-batch-size"),
    ],
    [
      parallel.tensorParallelSize,
      parallel.pipelineParallelSize,
      contextParallelSize,
      microBatchSize,
    ].map((size) => Number(size ?? 1)),
  );
  assert.ok(number("tensor-model-parallel-size") > 1);
});

test("leads from / to a launcher's command, without a flag", async (server) => {
  const page = await open(server);
  await answered(page);
  await catchCopies(page);
  await page.evaluate(() => {
    window.steps = { pointerdown: 0, keydown: 0 };
    for (const kind of Object.keys(window.steps)) {
      addEventListener(kind, (event) => event.isTrusted && ++window.steps[kind], true);
    }
  });
  // A run that shares nothing with the example. Tab selects what a field has.
  await page.click("form [data-path='model.preset']");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("llama-3.1-8b");
  await page.keyboard.press("Tab"); // past the button of a config.json
  for (const value of ["100B", "4096", "64", "h200-sxm", "16"]) {
    await page.keyboard.press("Tab");
    await page.keyboard.type(value);
  }
  await page.click("summary:text('Copy as')");
  await page.click("[data-copy='Megatron-LM’s arguments']");
  const flags = [
    "--tokens=100B --sequence-length=4096 --accelerator=h200-sxm",
    "--devices=16 --gbs=64 --emit=megatron",
  ].join(" ");
  const command = `sextant plan llama-3.1-8b ${flags}`;
  assert.equal(shell(await caught(page)), shell(command));
  const { pointerdown, keydown } = await page.evaluate(() => window.steps);
  const guide = readFileSync(path.join(import.meta.dirname, "../../docs/page.md"), "utf8");
  assert.ok(
    guide
      .replace(/\s+/g, " ")
      .includes(
        `${pointerdown} clicks and ${keydown} keys on the page, and ${command.length + 1} keys ` +
          `and ${flags.split(" ").length} flags on the command line`,
      ),
    JSON.stringify({ pointerdown, keydown, command: command.length + 1 }),
  );
});

await runTests();
