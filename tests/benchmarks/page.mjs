// Called by page.py, which says what it prints.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";

import { ask, open, runTests, test } from "../page/harness.mjs";

const LOADS = Number(process.env.PAGE_LOADS);
const SOURCE = path.join(import.meta.dirname, "../../server/page");
const BUILD = path.join(process.env.SEXTANT_BIN, "../server/page");
const VIEWS = ["plan", "search", "compare", "hardware", "operation", "count"];
const ANSWERED = ".answer[data-whole=true]:not(.stale, .waiting)";

const gzipBytes = (content) => execFileSync("gzip", ["-9n"], { input: content }).length;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);

// The size of the script, bundled as build.mjs does it, without what `left` matches.
async function scriptSize(left) {
  const esbuild = createRequire(path.join(BUILD, "x.js"))("esbuild");
  const nothing = (build) =>
    build.onLoad({ filter: left }, ({ path: file }) => ({
      contents: `export const ${path.basename(file, ".ts")} = {};`,
    }));
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [path.join(SOURCE, "main.ts")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    nodePaths: [path.join(BUILD, "node_modules")],
    legalComments: "none",
    metafile: true,
    outdir: "out",
    plugins: [{ name: "left-out", setup: nothing }],
  });
  const [{ bytes, inputs }] = Object.values(metafile.outputs);
  const packages = Object.entries(inputs)
    .filter(([name]) => name.includes("node_modules/"))
    .reduce((sum, [, input]) => sum + input.bytesInOutput, 0);
  return { gzip: gzipBytes(outputFiles[0].contents), packageShare: packages / bytes };
}

// Milliseconds until a link shows `shown`, in a browser that has nothing of it yet; the paths that
// it asks for, and the run that it plans.
async function load(server, link, shown) {
  const page = await open(server, "healthz");
  await page.goto("about:blank");
  const asked = [];
  let run;
  page.on("request", (request) => {
    asked.push(new URL(request.url()).pathname);
    // A message of a stream has five bytes before it.
    if (/WatchPlanRun/.test(request.url())) run = JSON.parse(request.postDataBuffer().subarray(5));
  });
  const begin = performance.now();
  await page.goto(server.url + link);
  if (shown) await page.waitForSelector(shown);
  const time = performance.now() - begin;
  await page.context().close();
  return { time, asked, run };
}

async function callTime(server, run) {
  const begin = performance.now();
  await ask(server, "PlanningService/PlanRun", run);
  return performance.now() - begin;
}

test("measured", async (server) => {
  const { asked, run } = await load(server, "", ANSWERED);
  row("part", "gzip, bytes");
  row("---", "---:");
  for (const name of asked.filter((each) => /^\/(page\/.*)?$/.test(each)).sort()) {
    const answer = await fetch(new URL(name, server.url), {
      headers: { Accept: "text/html", "Accept-Encoding": "gzip" },
    });
    row(name.replace(/\.[0-9a-f]{16}/, ""), answer.headers.get("content-length"));
  }
  const { gzip, packageShare } = await scriptSize(/$^/);
  for (const view of VIEWS) {
    const without = await scriptSize(new RegExp(`/views/${view}/${view}\\.ts$`));
    row(`of the script, what the view ${view} alone needs`, gzip - without.gzip);
  }
  row("of the script, its packages, as their share before gzip", Math.round(gzip * packageShare));

  const times = { empty: [], plan: [], call: [] };
  for (let i = 0; i < LOADS; ++i) {
    times.empty.push((await load(server, "healthz")).time);
    times.plan.push((await load(server, "", ANSWERED)).time);
    times.call.push(await callTime(server, run));
  }
  const [empty, plan, call] = Object.values(times).map(median);
  console.log();
  row(`medians of ${LOADS}`, "ms", "ratio");
  row("---", "---:", "---:");
  row("`/healthz`, a line of text", empty.toFixed(0), 1);
  row("`/`, up to the plan of its example", plan.toFixed(0), (plan / empty).toFixed(1));
  row("the call for that plan, without a browser", call.toFixed(0), (call / empty).toFixed(1));
  console.log(`\n${asked.length} requests: ${asked.map((name) => path.basename(name) || "/").join(", ")}`);
});

await runTests();
