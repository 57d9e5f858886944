// A plan with the progress of its search.

import type { SearchProgressJson } from "api/layout_search_pb";
import type { PlanRunResponseJson } from "api/planning_service_pb";
import { Failure, watch } from "./api";
import { grouped } from "./numbers";
import type { Run } from "./run";

export async function watchPlan(
  question: Run,
  take: (progress: SearchProgressJson) => void,
  signal: AbortSignal,
): Promise<PlanRunResponseJson> {
  let answer: PlanRunResponseJson | undefined;
  await watch(
    "PlanningService/WatchPlanRun",
    question,
    (event) => {
      answer = event.answer ?? answer;
      if (Number(event.progress?.layoutCount ?? 0) > 0) take(event.progress!);
    },
    signal,
  );
  if (!answer) throw new Failure("internal", "The planner sent no answer.");
  return answer;
}

export function progressWords({ searchedCount, layoutCount }: SearchProgressJson): string {
  return `${grouped(Number(searchedCount ?? 0))} of ${grouped(Number(layoutCount ?? 0))} layouts`;
}
