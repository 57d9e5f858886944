// A planner and a browser for the tests of views: each test gets a page of its own, which may write
// nothing to its console.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";

const require = createRequire(path.join(process.env.PAGE_TOOLS, "x.js"));
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const tests = [];
const servers = [];
let browser;

// Registers a test, which gets what open() takes.
export function test(name, run) {
  tests.push([name, run]);
}

// A planner of this host, at `place`, which may have been another's.
export async function startServer(flags = [], place = "127.0.0.1:0") {
  const folder = mkdtempSync(path.join(tmpdir(), "page-"));
  const child = spawn(
    path.join(process.env.SEXTANT_BIN, "sextantd"),
    [
      "--listen=127.0.0.1:0",
      `--http_listen=${place}`,
      ...(flags.some((flag) => flag.startsWith("--calibration_directory="))
        ? []
        : ["--calibration_directory=none"]),
      "--drain_announce_seconds=0",
      ...flags,
    ],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, SEXTANT_LOCK_FOLDER: folder } },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const events = [];
  const serving = new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      events.push(line.startsWith("{") ? JSON.parse(line) : line);
      if (events.at(-1).event === "serving") resolve(events.at(-1));
    });
    ended.then(() => reject(new Error(`sextantd ended: ${JSON.stringify(events)}`)));
  });
  const { http } = await serving;
  const server = {
    url: `http://${http}/`,
    http,
    events,
    async stop() {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  servers.push(server);
  return server;
}

// The answer of a call, or its error, without the page.
export async function ask(server, method, request, headers = {}) {
  const answer = await fetch(`${server.url}sextant.v1.${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
  return answer.json();
}

// A series of the planner's metrics, summed over those that have all the labels.
export async function metric(server, name, ...labels) {
  const text = await (await fetch(`${server.url}metrics`)).text();
  return text
    .split("\n")
    .filter(
      (line) =>
        line.startsWith(name) &&
        !line.startsWith("#") &&
        /[ {]/.test(line[name.length]) &&
        labels.every((label) => line.includes(label)),
    )
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

// The link of a view on a run, as the page writes it.
export function linkOf(view, run) {
  return `#${view}=${Buffer.from(JSON.stringify(run)).toString("base64url")}`;
}

// The run in a page's link.
export async function runOf(page) {
  const link = await page.evaluate(() => location.hash);
  return JSON.parse(Buffer.from(link.split("=")[1], "base64url").toString());
}

// While one works on the page: with PAGE_FILES=build/release/server/page it is taken from what
// build.mjs wrote there, and not from the program, which then need not be linked again.
async function serveFiles(page, server) {
  const content = (name) =>
    gunzipSync(readFileSync(path.join(process.env.PAGE_FILES, `${name}.gz`)));
  await page.route(server.url, async (route) =>
    route.fulfill({ response: await route.fetch(), body: content("index.html") }),
  );
  for (const [name, contentType] of [
    ["page.js", "text/javascript"],
    ["page.css", "text/css"],
  ]) {
    const [stem, ending] = name.split(".");
    await page.route(`**/page/${stem}.*.${ending}`, (route) =>
      route.fulfill({ contentType, body: content(name) }),
    );
  }
}

// Opens a page. `messages` collects what it writes to the console; `allowed` is what it may.
export async function open(
  server,
  link = "",
  { width = 1280, height = 900, dark = false, allowed = /$^/ } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
  });
  const page = await context.newPage();
  page.messages = [];
  const note = (text) => {
    if (!allowed.test(text)) page.messages.push(text);
  };
  page.on("console", (message) => note(message.text()));
  page.on("pageerror", (error) => note(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) {
      note(`a request to ${request.url()}`);
    }
  });
  if (process.env.PAGE_FILES) await serveFiles(page, server);
  await page.goto(server.url + link);
  return page;
}

// Violations of accessibility rules; the script is given by the debugger, which no CSP sees.
export async function axe(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const { result } = await session.send("Runtime.evaluate", {
    awaitPromise: true,
    returnByValue: true,
    expression: "axe.run().then(r => r.violations.map(v => `${v.id}: ${v.nodes[0].html}`))",
  });
  return result.value;
}

// What no view may break: console, accessibility, width, and the least size of text.
export async function assertSound(page) {
  assert.deepEqual(await axe(page), []);
  const { scroll, width, smallest } = await page.evaluate(() => {
    const sizes = [...document.querySelectorAll("body *")]
      .filter((each) =>
        [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()),
      )
      .filter((each) => each.checkVisibility())
      .map((each) => parseFloat(getComputedStyle(each).fontSize));
    return {
      scroll: document.documentElement.scrollWidth,
      width: innerWidth,
      smallest: Math.min(...sizes),
    };
  });
  assert.ok(scroll <= width, `${scroll} of ${width} pixels`);
  assert.ok(smallest >= 11, `text of ${smallest} pixels`);
  assert.deepEqual(page.messages, []);
}

// Runs all tests, and exits.
export async function runTests() {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const only = process.argv[2];
  let failed = 0;
  try {
    const server = await startServer();
    for (const [name, run] of tests) {
      if (only && !name.includes(only)) continue;
      const begin = Date.now();
      try {
        await run(server);
        console.log(`ok: ${name} (${Date.now() - begin} ms)`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED: ${name}\n${error.stack}`);
      }
      await Promise.all(browser.contexts().map((context) => context.close()));
    }
  } finally {
    await browser.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
  process.exit(failed > 0 ? 1 : 0);
}
