// The views, in the order of the navigation.

import type { View } from "./page";
import { plan } from "./views/plan/plan";

export const VIEWS: View[] = [plan];
