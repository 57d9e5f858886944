// The views, in the order of the navigation.

import type { View } from "./page";
import { compare } from "./views/compare/compare";
import { hardware } from "./views/hardware/hardware";
import { plan } from "./views/plan/plan";
import { search } from "./views/search/search";

export const VIEWS: View[] = [plan, search, compare, hardware];
