// The view Hardware. Its devices are those that a scripted probe lists; figures are compared with
// the API's, read here by a call without the page.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";

import { ask, assertSound, linkOf, open, runOf, runTests, startServer, test } from "./harness.mjs";

const RUN = {
  model: { preset: "llama-3.1-8b" },
  training: { tokenCount: "100000000000", sequenceLength: "8192" },
  cluster: { device: { accelerator: "h100-sxm" }, deviceCount: "16" },
  layout: { globalBatchSize: "64" },
};
const LINK = linkOf("hardware", RUN);

// A GPU by its number, and measurements of it; a faster one lacks a smaller `share` of its rates.
const uuidOf = (number) => `GPU-0000000${number}-0000-4000-8000-000000000000`;
const deviceOf = (number) => ({
  uuid: uuidOf(number),
  kind: "DEVICE_KIND_GPU",
  productName: "NVIDIA H100 80GB HBM3",
  hostname: `node-00${number}`,
  memoryBytes: "84929150976",
  driverVersion: "580.65.06",
});

function calibrationOf(number, share = 0, mode = "FULL") {
  const time = (seconds) => ({
    medianSeconds: seconds,
    relativeSpread: 0.01,
    p10Seconds: seconds,
    p90Seconds: seconds,
    sampleCount: 10,
    repetitionCount: "1",
    stable: true,
  });
  const matmul = (window, rate, stable = true) => ({
    dataType: "DATA_TYPE_BF16",
    m: "8192",
    n: "8192",
    k: "8192",
    window: `WINDOW_${window}`,
    purpose: "PURPOSE_GRID",
    time: { ...time((2 * 8192 ** 3) / rate), stable },
    flopsPerSecond: rate,
    engine: "cublaslt 13.1",
  });
  const copy = 3e12 * (1 - share);
  return {
    schemaVersion: 2,
    device: deviceOf(number),
    measuredTime: new Date(Date.now() - 3 * 86400e3).toISOString().replace(/\.\d+/, ""),
    probeVersion: "sextant-probe 0.1.0",
    mode: `PROBE_MODE_${mode}`,
    durationSeconds: 30,
    coverageRatio: 1,
    checkedResultCount: "4",
    matmuls: [
      matmul("BURST", 7.6e14 * (1 - share)),
      matmul("SUSTAINED", 6.9e14 * (1 - share)),
      matmul("BURST", 5e14 * (1 - share)),
      matmul("BURST", 8e14 * (1 - share), false), // little faster, and not to be relied on
    ],
    streams: [
      {
        operation: "OPERATION_COPY",
        arrayBytes: String(1 << 30),
        mainMemory: true,
        time: time(2 ** 31 / copy),
        bytesPerSecond: copy,
      },
    ],
  };
}

// A planner whose host has two GPUs, of which the first was measured; `commands` measure.
async function hostOfTwo(commands, flags = []) {
  const folder = mkdtempSync("/tmp/page-host-");
  const kept = path.join(folder, "calibrations");
  mkdirSync(kept);
  writeFileSync(path.join(kept, `${uuidOf(1)}.full.json`), JSON.stringify(calibrationOf(1)));
  const event = (of) => `echo '${JSON.stringify(of)}'\n`;
  const list = [1, 2].map((number) => event({ device: deviceOf(number) })).join("");
  const probe = path.join(folder, "probe");
  writeFileSync(
    probe,
    `#!/bin/sh\nif [ "$1" = --list ]; then\n${list}exit 0\nfi\n${commands(event)}`,
    { mode: 0o755 },
  );
  const server = await startServer([
    `--calibration_directory=${kept}`,
    `--probe_program=${probe}`,
    ...flags,
  ]);
  const { stop } = server;
  server.probe = probe;
  server.stop = async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return server;
}

const progress = (phase, fraction, figure) => ({
  progress: { phase, fraction, elapsedSeconds: fraction, figure },
});
const catalogueRow = (page, name) => page.locator(`[data-name="${name}"]`);

test("shows the catalogue of the API, and each figure's source", async (server) => {
  const { accelerators } = await ask(server, "HardwareService/ListAccelerators", {});
  const page = await open(server, LINK);
  await page.waitForSelector("[data-name]");
  const rows = await page.$$eval("[data-name]", (all) =>
    all.map((row) => [
      row.dataset.name,
      [...row.querySelectorAll("td")].map((cell) => Number(cell.dataset.value ?? 0)),
    ]),
  );
  const value = (figure) => figure?.value ?? 0;
  const bf16 = (each) =>
    Math.max(
      0,
      ...each.peakRates
        .filter((rate) => rate.dataType === "DATA_TYPE_BF16")
        .map((rate) => rate.flopsPerSecond.value),
    );
  assert.deepEqual(
    rows,
    accelerators.map((each) => [
      each.name,
      [
        value(each.memoryBytes),
        value(each.memoryBandwidthBytesPerSecond),
        bf16(each),
        value(each.linkBandwidthBytesPerSecond),
        value(each.thermalDesignPowerWatts),
      ],
    ]),
  );
  const h100 = accelerators.find((each) => each.name === "h100-sxm");
  assert.equal(
    await catalogueRow(page, "h100-sxm").locator("td >> nth=1").textContent(),
    "3.35 TB/s",
  );
  await assertSound(page);

  // By the fastest memory, of one vendor.
  await page.click("thead button:text('Bandwidth')");
  await page.fill("#catalogue-search", "hopper nvl");
  const names = await page.$$eval("[data-name]", (all) => all.map((row) => row.dataset.name));
  assert.deepEqual(names, ["h200-nvl", "h100-nvl"]);
  await page.fill("#catalogue-search", "");

  await catalogueRow(page, "h100-sxm").locator("th button").click();
  const sheet = page.locator("dialog.sheet");
  const tdp = sheet.locator("[data-figure='Power limit']");
  assert.equal(await tdp.getAttribute("data-value"), String(h100.thermalDesignPowerWatts.value));
  assert.ok((await tdp.textContent()).includes(h100.thermalDesignPowerWatts.source));
  assert.equal(await sheet.locator("[data-figure]").count(), 11 + h100.peakRates.length);
  await assertSound(page);
  await page.keyboard.press("Escape");
  await catalogueRow(page, "mi300x").locator("th button").click();
  await sheet.locator("button:text('Plan on it')").click();
  await page.waitForSelector("#verdict");
  assert.deepEqual((await runOf(page)).cluster, {
    ...RUN.cluster,
    device: { accelerator: "mi300x" },
  });
});

test("shows this host's devices against their datasheet", async () => {
  const server = await hostOfTwo(() => "exit 1\n");
  const { calibration } = await ask(server, "HardwareService/GetCalibration", {
    device: uuidOf(1),
  });
  for (const look of [{}, { dark: true, width: 390 }, { width: 320 }]) {
    const page = await open(server, LINK, look);
    await page.waitForSelector("#device-1");
    const rates = await page.$$eval("[aria-labelledby=device-0] [data-rate]", (all) =>
      all.map((each) => [each.dataset.rate, Number(each.dataset.value), each.textContent]),
    );
    assert.deepEqual(rates, [
      ["bf16", calibration.matmuls[0].flopsPerSecond, "760.00 TFLOP/s"],
      ["bf16, long run", calibration.matmuls[1].flopsPerSecond, "690.00 TFLOP/s"],
      ["Memory, copy", calibration.streams[0].bytesPerSecond, "3.00 TB/s"],
    ]);
    // 760 of the datasheet's 989.4; 3.0 of 3.35.
    const label = await page.getAttribute("[aria-labelledby=device-0] .picture", "aria-label");
    assert.match(label, /bf16 76\.8 %, bf16, long run 69\.7 %, Memory, copy 89\.6 %/);
    assert.match(await page.textContent("[aria-labelledby=device-0]"), /measured 3 days ago/);
    assert.match(await page.textContent("[aria-labelledby=device-1]"), /Never measured/);
    await assertSound(page);
    if (look.width) continue;
    await page.click("[aria-labelledby=device-0] button:text('Plan on it')");
    await page.waitForSelector("#verdict");
    assert.deepEqual((await runOf(page)).cluster.device, {
      hostDevices: { devices: [uuidOf(1)] },
    });
  }
  await server.stop();
});

test("measures a device, with each figure as it comes", async () => {
  const server = await hostOfTwo(
    (event) =>
      event(progress("matmul bf16", 0.25, "bf16 8192x8192x8192: 700.0 TFLOP/s")) +
      `while [ ! -e "$0.go" ]; do sleep 0.05; done\n` +
      event(progress("memory", 0.75, "copy 1 GiB: 2.9 TB/s")) +
      event({ calibration: calibrationOf(2, 0.1, "STANDARD") }),
  );
  const page = await open(server, LINK);
  await page.waitForSelector("#device-1");
  // By the keyboard alone, from the device's own button on.
  await page.focus("[aria-labelledby=device-1] button:text('Measure it')");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#probe-device"), uuidOf(2));
  await page.keyboard.press("Enter");
  await page.waitForSelector("li:text('700.0 TFLOP/s')");
  const shown = page.locator("[aria-labelledby=probe]");
  assert.match(await shown.textContent(), /25 %: matmul bf16/);
  assert.equal(await page.$eval("progress", (bar) => bar.value), 0.25);
  await assertSound(page);
  writeFileSync(server.probe + ".go", "");
  await page.waitForSelector("[aria-labelledby=device-1] [data-rate]");
  assert.match(await shown.textContent(), /plans use this measurement from now on/);
  const rate = await page.getAttribute("[aria-labelledby=device-1] [data-rate]", "data-value");
  assert.equal(Number(rate), 7.6e14 * 0.9);
  await server.stop();
});

test("ends a probe when it is stopped, or the view is left", async () => {
  const server = await hostOfTwo((event) => event(progress("matmul bf16", 0.25)) + "sleep 60\n");
  const page = await open(server, LINK);
  await page.waitForSelector("#device-1");
  const ended = async (count) => {
    const calls = () => server.events.filter((each) => each.method?.endsWith("/RunProbe"));
    for (let i = 0; i < 100 && calls().length < count; ++i) await page.waitForTimeout(50);
    assert.equal(calls().length, count);
  };
  await page.click("button:text('Measure now')");
  await page.click("button:text('Stop')");
  await page.waitForSelector("text=Stopped.");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Measure now");
  await ended(1);
  await page.click("button:text('Measure now')");
  await page.waitForSelector("text=matmul bf16");
  await page.click("nav a:text('Plan')");
  await ended(2);
  await server.stop();
});

test("says why a probe is refused", async () => {
  const failure = { kind: "KIND_REFUSED", message: "A job uses the device.", reason: "busy" };
  const busy = await hostOfTwo((event) => event({ failure }) + "exit 4\n");
  const page = await open(busy, LINK);
  await page.waitForSelector("#device-1");
  await page.selectOption("#probe-device", uuidOf(1));
  await page.click("button:text('Measure now')");
  await page.waitForSelector(".mistake:visible");
  assert.match(
    await page.textContent(".mistake:visible"),
    /^The device must not be measured now\. .*A job uses the device/,
  );
  await assertSound(page);
  await busy.stop();

  // A caller who may not: the access file gives the probe to somebody else.
  const folder = mkdtempSync("/tmp/page-access-");
  writeFileSync(`${folder}/access`, "* ada\nRunProbe bob\n");
  writeFileSync(`${folder}/tokens`, "ada the-long-secret-of-ada\n", { mode: 0o600 });
  const closed = await hostOfTwo(
    () => "exit 1\n",
    [`--token_file=${folder}/tokens`, `--access_file=${folder}/access`],
  );
  const hers = await open(closed, LINK, { allowed: /status of 40[13]/ });
  await hers.fill("#token", "the-long-secret-of-ada");
  await hers.keyboard.press("Enter");
  await hers.waitForSelector("#device-1");
  await hers.click("button:text('Measure now')");
  await hers.waitForSelector("b:text('You may not start a probe here.')");
  assert.deepEqual(hers.messages, []);
  await closed.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("says where there is no fleet, and where there are no devices", async (server) => {
  const page = await open(server, LINK);
  await page.waitForSelector("text=No fleet is configured");
  const planner = await startServer(["--role=planner"]);
  const other = await open(planner, LINK);
  await other.waitForSelector("[aria-labelledby=devices]");
  assert.ok(await other.isHidden("[aria-labelledby=probe]"));
  assert.deepEqual(other.messages, []);
  await planner.stop();
});

test("goes on when the planner is back", async () => {
  const first = await startServer();
  const page = await open(first, linkOf("count", RUN), { allowed: /ERR_CONNECTION/ });
  await page.waitForSelector("#parameters");
  await first.stop();
  await page.click("nav a:text('Hardware')");
  await page.waitForSelector(".mistake:visible:has-text('does not answer')");
  const second = await startServer([], first.http);
  await page.waitForSelector("[data-name=h100-sxm]");
  await page.waitForSelector("#device-0");
  await second.stop();
});

// What a Prometheus answers of two hosts with a GPU each, of which the second is slower.
async function startPrometheus() {
  const labels = (number) => ({
    UUID: uuidOf(number),
    gpu: "0",
    modelName: "NVIDIA H100 80GB HBM3",
    hostname: `node-00${number}`,
  });
  const measured = Math.floor(Date.now() / 1000) - 2 * 86400;
  const all = [1, 2].flatMap((number) => {
    const share = number === 2 ? 0.1 : 0;
    const recorded = (name, value, more = {}) => ({
      metric: { __name__: `hostname_modelName:sextant_gpu_${name}`, ...labels(number), ...more },
      value: [measured, String(value)],
    });
    return [
      recorded("rate:min", 7.6e14 * (1 - share), { figure: "bf16_burst" }),
      recorded("rate:min", 6.9e14 * (1 - share), { figure: "bf16_sustained" }),
      recorded("rate:min", 3e12, { figure: "memory_copy" }),
      recorded("memory_total_bytes:min", 85899345920),
      recorded("measured:count", 1),
      recorded("healthy:min", 1),
      recorded("probe_stable:min", 1),
      recorded("probe_last_success_timestamp_seconds:min", measured),
    ];
  });
  const server = createServer((request, response) => {
    let form = "";
    request.on("data", (part) => (form += part));
    request.on("end", () => {
      const query = new URLSearchParams(form).get("query") ?? "";
      const result = query.includes("hostname_") ? all : [];
      const body = JSON.stringify({ status: "success", data: { resultType: "vector", result } });
      response.setHeader("Content-Type", "application/json");
      response.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

test("names the fleet's slowest, and what it costs the run", async () => {
  const prometheus = await startPrometheus();
  const server = await startServer([
    "--role=planner",
    `--fleet_prometheus_url=http://127.0.0.1:${prometheus.address().port}`,
  ]);
  const fleet = { accelerator: "h100-sxm", hostnames: ["node-001", "node-002"] };
  const { runs } = await ask(server, "PlanningService/BatchPlanRuns", {
    runs: [{ ...RUN, cluster: { ...RUN.cluster, device: { fleet } } }],
  });
  const { slowestDevice } = runs[0].plan.wholeRun;
  assert.equal(slowestDevice.hostname, "node-002");
  const page = await open(server, LINK);
  await page.fill("#fleet-hosts", "node-001, node-002");
  await page.keyboard.press("Enter");
  await page.waitForSelector(`[data-slowest="${uuidOf(2)}"]`);
  const text = await page.textContent("[data-slowest]");
  assert.match(text, /^node-002 has the slowest/);
  assert.ok(text.includes(`${(100 * slowestDevice.savedShare).toFixed(1)} % of its time`), text);
  await page.waitForTimeout(800);
  assert.match(await page.textContent("[aria-labelledby=fleet]"), /2 devices on 2 hosts/);
  await assertSound(page);
  await server.stop();
  prometheus.close();
});

await runTests();
