// Models and devices that are given otherwise than by a name: a config.json, measured devices.

import { get, text, type Run } from "../run";

export interface Other {
  path: string; // of what is given
  text: string;
}

// Its family and size, as far as it says them.
function configWords(content: string): string {
  try {
    const config = JSON.parse(content) as Record<string, unknown>;
    const words = [
      config.model_type,
      ...(Array.isArray(config.architectures) ? config.architectures : []),
    ].filter((each) => typeof each === "string");
    return `config.json: ${words.slice(0, 2).join(", ") || "of an unknown family"}`;
  } catch {
    return "config.json that is no JSON";
  }
}

// How the run names its model or devices, where it is not by `path`.
export function otherWays(run: Run, path: string): Other | undefined {
  if (path.startsWith("model.")) {
    const config = get(run, "model.huggingFaceConfig");
    if (typeof config === "string")
      return { path: "model.huggingFaceConfig", text: configWords(config) };
    for (const name of ["transformer", "architecture"]) {
      if (get(run, `model.${name}`) !== undefined) {
        return { path: `model.${name}`, text: "described layer by layer" };
      }
    }
    return undefined;
  }
  const devices = get(run, "cluster.device.hostDevices.devices");
  if (Array.isArray(devices)) {
    return { path: "cluster.device.hostDevices", text: `Measured here: ${devices.join(", ")}` };
  }
  if (get(run, "cluster.device.calibrations") !== undefined) {
    return { path: "cluster.device.calibrations", text: "By calibrations in the link" };
  }
  if (get(run, "cluster.device.fleet") === undefined) return undefined;
  return {
    path: "cluster.device.fleet",
    text: `The fleet’s ${text(run, "cluster.device.fleet.accelerator")}`,
  };
}
