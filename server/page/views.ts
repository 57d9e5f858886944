// The views, in the order of the navigation.

import type { View } from "./page";
import { compare } from "./views/compare/compare";
import { count } from "./views/count/count";
import { hardware } from "./views/hardware/hardware";
import { operation } from "./views/operation/operation";
import { plan } from "./views/plan/plan";
import { search } from "./views/search/search";

export const VIEWS: View[] = [plan, search, compare, hardware, operation, count];
