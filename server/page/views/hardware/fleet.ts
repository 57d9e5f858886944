// The fleet's slowest device: the one that the run of the link waits for.

import type { PlanJson } from "api/plan_pb";

import { call } from "../../api";
import { h, replace, type Children } from "../../dom";
import { ageText, durationText, grouped, percent, withUnit } from "../../numbers";
import type { Page } from "../../page";
import { card, labelled, table } from "../../parts";
import { set, shortQuestion, text, type Run } from "../../run";
import { rateName } from "../plan/time";
import { wordsOf } from "../plan/words";

// The run on devices of the fleet, of which a short answer says enough.
function onFleet(run: Run, accelerator: string, hosts: string[]): Run {
  const fleet = hosts.length > 0 ? { accelerator, hostnames: hosts } : { accelerator };
  const on = set(set(run, "cluster.device", { fleet }), "cluster.nodeType", undefined);
  return set(shortQuestion(on), "options.search", undefined);
}

function slowest(plan: PlanJson): Children {
  const of = plan.fleet ?? {};
  const count = Number(of.deviceCount ?? 0);
  if (count === 0) {
    return h("p", {}, `The fleet’s metrics have no rates of these devices: ${of.missing ?? ""}.`);
  }
  const hosts = Number(of.hostCount ?? 0);
  const slow = plan.wholeRun?.slowestDevice;
  const all = `${grouped(count)} devices${hosts > 0 ? ` on ${grouped(hosts)} hosts` : ""}`;
  const oldest = of.oldestMeasuredTime && `, the first measured ${ageText(of.oldestMeasuredTime)}`;
  return [
    slow
      ? h(
          "p",
          { "data-slowest": slow.uuid },
          h("b", {}, `${slow.hostname || "A host without a name"} has the slowest: `),
          h("code", {}, slow.uuid),
          `. The next slowest in its place would save this run ${percent(Number(slow.savedShare ?? 0))}`,
          ` of its time, ${durationText(Number(slow.savedSeconds ?? 0))}`,
          slow.savedCostUsd !== undefined && ` and $${grouped(Number(slow.savedCostUsd))}`,
          ".",
        )
      : h("p", {}, "The median of the product in the whole fleet: name hosts for their slowest."),
    h("p", { class: "says" }, `Of ${all}${oldest ?? ""}.`),
    of.failure && h("p", { class: "mistake" }, `Nothing newer could be read: ${of.failure}`),
    (of.unhealthyDevices ?? []).length > 0 &&
      h(
        "p",
        { class: "mistake" },
        "A result of their last probe was wrong, and they do not count: ",
        of.unhealthyDevices!.join(", "),
      ),
    table(
      "wide",
      ["Rate that plans use", ">Value", "Whose"],
      (plan.rates ?? [])
        .filter((each) => (each.source ?? "").includes("MEASURED"))
        .map((each) => [
          rateName(each),
          withUnit(Number(each.value ?? 0), each.unit ?? ""),
          h("span", { class: "source" }, each.deviceUuid ?? wordsOf(each.source, "RATE_SOURCE_")),
        ]),
    ),
  ];
}

async function ask(run: Run, signal: AbortSignal): Promise<Children> {
  const { runs } = await call("PlanningService/BatchPlanRuns", { runs: [run] }, signal);
  const { plan, status } = runs?.[0] ?? {};
  if (plan) return slowest(plan);
  const why = (status?.message ?? "").replace("runs[0].", "");
  if (!why.includes("--fleet_prometheus_url")) return h("p", { class: "mistake" }, why);
  return h(
    "p",
    {},
    "No fleet is configured: this planner reads no metrics of one. ",
    h("code", {}, "sextantd --fleet_prometheus_url"),
    " names the Prometheus that has them (docs/fleet.md).",
  );
}

export function fleet(page: Page): HTMLElement {
  const place = h("div", { class: "part" });
  const input = (id: string, value: string, placeholder: string): HTMLInputElement =>
    h("input", { id, value, placeholder, autocomplete: "off", spellcheck: "false" });
  const run = page.run();
  const product = input("fleet-product", text(run, "cluster.device.accelerator") || "h100-sxm", "");
  product.setAttribute("list", "accelerators");
  const hosts = input("fleet-hosts", "", "node-001, node-002");
  let asking = new AbortController();
  const show = (): void => {
    const names = hosts.value.split(/[\s,]+/).filter(Boolean);
    asking.abort();
    const { signal } = (asking = new AbortController());
    void ask(onFleet(page.run(), product.value.trim(), names), signal)
      .catch((error: Error) => h("p", { class: "mistake" }, error.message))
      .then((answer) => {
        if (!signal.aborted) replace(place, answer);
      });
  };
  show();
  return card(
    "fleet",
    "The fleet’s slowest",
    h(
      "form",
      {
        class: "fields",
        submit: (event: Event) => {
          event.preventDefault();
          show();
        },
      },
      labelled("Product", product),
      labelled("Hosts", hosts),
      h("div", { class: "field short end" }, h("button", { class: "main" }, "Ask")),
    ),
    place,
  );
}
