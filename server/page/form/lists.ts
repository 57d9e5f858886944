// Names to choose from, as the server has them.

import type {
  ListAcceleratorsResponseJson,
  ListDevicesResponseJson,
  ListNodeTypesResponseJson,
} from "api/hardware_service_pb";
import type { ListModelsResponseJson } from "api/model_pb";

import { call } from "../api";
import { ageText, countText } from "../numbers";

export interface Named {
  value: string;
  text: string;
  fits?: string[];
}

export interface Lists {
  models: Named[];
  accelerators: Named[];
  nodeTypes: Named[]; // `fits` are accelerators
  networks: Named[];
  measured: Named[]; // devices of the planner's host that have rates
}

// What a caller may not list, or a planner has none of, is empty.
export async function loadLists(): Promise<Lists> {
  const listed = await Promise.allSettled([
    call("AccountingService/ListModels", {}),
    call("HardwareService/ListAccelerators", {}),
    call("HardwareService/ListNodeTypes", {}),
    call("HardwareService/ListDevices", {}),
  ]);
  const [models, accelerators, nodes, devices] = [0, 1, 2, 3].map((i) => {
    const each = listed[i]!;
    return each.status === "fulfilled" ? each.value : {};
  }) as [
    ListModelsResponseJson,
    ListAcceleratorsResponseJson,
    ListNodeTypesResponseJson,
    ListDevicesResponseJson,
  ];
  const named = (each: {
    name?: string;
    productName?: string;
    accelerators?: string[];
  }): Named => ({ value: each.name ?? "", text: each.productName ?? "", fits: each.accelerators });
  return {
    models: (models.models ?? []).map((each) => {
      const about = Number(Number(each.parameterCount).toPrecision(3));
      return { value: each.name ?? "", text: `${countText(String(about))} parameters` };
    }),
    accelerators: (accelerators.accelerators ?? []).map(named),
    nodeTypes: (nodes.nodeTypes ?? []).map(named),
    networks: (nodes.networks ?? []).map(named),
    measured: (devices.devices ?? []).flatMap(({ device, measuredTime }) =>
      device?.uuid && measuredTime
        ? [{ value: device.uuid, text: `${device.productName}, measured ${ageText(measuredTime)}` }]
        : [],
    ),
  };
}
