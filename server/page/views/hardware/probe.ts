// A probe from the page: what it measures now, and each figure as it comes.

import type { ListDevicesResponse_EntryJson } from "api/hardware_service_pb";

import { Failure, watch } from "../../api";
import { h, keepCursor, replace } from "../../dom";
import { percent } from "../../numbers";
import { button, card, choice, labelled } from "../../parts";

const MODES: [string, string][] = [
  ["PROBE_MODE_QUICK", "quick: about 2 s a device"],
  ["PROBE_MODE_STANDARD", "standard: about 5 s"],
  ["PROBE_MODE_FULL", "full: about 30 s"],
];

const REFUSALS: Record<string, string> = {
  permission_denied: "You may not start a probe here. ",
  aborted: "Another probe runs. ",
  failed_precondition: "The device must not be measured now. ",
};

export class Probe {
  readonly element: HTMLElement;
  private readonly devices = choice("probe-device", [], "");
  private readonly mode = choice("probe-mode", MODES, "PROBE_MODE_STANDARD");
  private readonly start = button("Measure now", () => this.run(), "main");
  private readonly stop = button("Stop", () => this.close());
  private readonly bar = h("progress", { max: 1, value: 0, "aria-label": "The probe’s progress" });
  private readonly phase = h("p", { class: "says" });
  private readonly figures = h("ul");
  private readonly shown = h(
    "div",
    { hidden: true },
    this.bar,
    this.phase,
    h(
      "div",
      { class: "scroll short", tabindex: 0, role: "region", "aria-label": "Figures so far" },
      this.figures,
    ),
  );
  private readonly outcome = h("div", { role: "status" });
  private calling: AbortController | undefined;

  // `measured` is called with each device that has new rates.
  constructor(private readonly measured: () => void) {
    this.stop.hidden = true;
    this.element = card(
      "probe",
      "Measure",
      h(
        "p",
        { class: "says" },
        "Takes the devices while it runs, and is refused where they are in use. Leaving the view " +
          "stops it.",
      ),
      h(
        "div",
        { class: "fields" },
        labelled("Device", this.devices),
        labelled("How thoroughly", this.mode),
      ),
      h("p", {}, this.start, " ", this.stop),
      this.shown,
      this.outcome,
    );
  }

  setDevices(all: ListDevicesResponse_EntryJson[]): void {
    const chosen = this.devices.value;
    const gpus = all.filter(({ device }) => device?.kind === "DEVICE_KIND_GPU").length;
    replace(
      this.devices,
      gpus > 1 && h("option", { value: "" }, `all ${gpus} GPUs`),
      all.map(({ device }) =>
        h("option", { value: device?.uuid }, `${device?.productName}, ${device?.uuid}`),
      ),
    );
    if (chosen) this.devices.value = chosen;
    this.element.hidden = all.length === 0;
  }

  // Shows the form for a device.
  ask(uuid: string): void {
    this.devices.value = uuid;
    this.element.scrollIntoView();
    this.start.focus({ preventScroll: true });
  }

  close(): void {
    this.calling?.abort();
  }

  private async run(): Promise<void> {
    const calling = new AbortController();
    this.calling = calling;
    this.begin();
    const request = {
      mode: this.mode.value as "PROBE_MODE_QUICK",
      devices: this.devices.value ? [this.devices.value] : [],
    };
    try {
      await watch(
        "HardwareService/RunProbe",
        request,
        ({ progress, result }) => {
          if (progress) this.progress(progress);
          if (!result) return;
          const name = result.calibration?.device?.productName ?? "";
          const use = result.inUse ? "plans use this measurement from now on." : result.unusedText;
          this.outcome.append(h("p", {}, h("b", {}, `${name}: `), use, " ", result.storageWarning));
          this.measured();
        },
        calling.signal,
      );
    } catch (error) {
      const stopped = calling.signal.aborted;
      const code = error instanceof Failure ? error.code : "";
      const why = stopped ? "Stopped." : (error as Error).message;
      this.outcome.append(
        h(
          "p",
          { class: stopped ? "" : "mistake" },
          !stopped && h("b", {}, REFUSALS[code] ?? "The probe failed. "),
          why,
        ),
      );
    }
    this.shown.hidden = this.figures.childElementCount === 0;
    keepCursor(
      () => {
        this.start.hidden = false;
        this.stop.hidden = true;
      },
      () => this.start,
    );
  }

  private begin(): void {
    replace(this.outcome);
    replace(this.figures);
    this.bar.value = 0;
    this.phase.textContent = "Starting…";
    this.shown.hidden = false;
    this.start.hidden = true;
    this.stop.hidden = false;
    this.stop.focus();
  }

  private progress(of: { phase?: string; fraction?: unknown; figure?: string }): void {
    this.bar.value = Number(of.fraction ?? 0);
    this.phase.textContent = `${percent(this.bar.value, 0)}: ${of.phase ?? ""}`;
    if (!of.figure || this.figures.lastChild?.textContent === of.figure) return;
    this.figures.append(h("li", {}, of.figure));
    this.figures.parentElement!.scrollTop = 1e6;
  }
}
