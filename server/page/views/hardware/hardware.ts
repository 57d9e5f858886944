// The hardware: this host's devices, the fleet's slowest, and the catalogue.

import type { AcceleratorJson } from "api/accelerator_pb";

import { call, Failure } from "../../api";
import { h, replace } from "../../dom";
import type { Opened, Page, View } from "../../page";
import { set } from "../../run";
import { catalogue } from "./catalogue";
import { devices } from "./devices";
import { fleet } from "./fleet";
import { Probe } from "./probe";

const RETRY = 3000; // in milliseconds: a planner that is away may be back

class HardwareView implements Opened {
  private readonly host = h("div", { class: "answer devices" });
  private readonly sheets = h("div", { class: "answer" });
  private readonly probe = new Probe(() => void this.showHost());
  private all: AcceleratorJson[] = [];
  private retry = 0;

  constructor(
    place: HTMLElement,
    private readonly page: Page,
  ) {
    this.probe.element.hidden = true;
    place.append(
      h("div", { class: "answer" }, this.host, this.probe.element, fleet(page), this.sheets),
    );
    void this.showAll();
  }

  close(): void {
    clearTimeout(this.retry);
    this.probe.close();
  }

  private async showAll(): Promise<void> {
    try {
      this.all = (await call("HardwareService/ListAccelerators", {})).accelerators ?? [];
      replace(
        this.sheets,
        catalogue(this.all, (name) => this.plan({ accelerator: name })),
      );
    } catch (error) {
      replace(this.sheets, h("p", { class: "mistake", role: "alert" }, (error as Error).message));
      if (error instanceof Failure && error.passes && this.sheets.isConnected) {
        this.retry = window.setTimeout(() => void this.showAll(), RETRY);
        return;
      }
    }
    await this.showHost();
  }

  private async showHost(): Promise<void> {
    const listed = await call("HardwareService/ListDevices", {}).then(
      (answer) => answer.devices ?? [],
      (error: unknown) => (error instanceof Failure ? error : new Failure("", String(error))),
    );
    const cards = await devices(listed, {
      sheets: this.all,
      plan: (uuid) => this.plan({ hostDevices: { devices: [uuid] } }),
      measure: (uuid) => this.probe.ask(uuid),
    });
    replace(this.host, cards);
    this.probe.setDevices(listed instanceof Failure ? [] : listed);
  }

  // Plans the run on other devices, whose servers and network are others, too.
  private plan(device: object): void {
    const on = set(this.page.run(), "cluster.device", device);
    this.page.open(
      "plan",
      set(set(on, "cluster.nodeType", undefined), "cluster.network", undefined),
    );
  }
}

export const hardware: View = {
  name: "hardware",
  title: "Hardware",
  hasRun: false,
  open: (place, page) => new HardwareView(place, page),
};
