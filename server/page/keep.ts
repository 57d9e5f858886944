// Runs that are kept, to be compared with the one in the form.

import { h } from "./dom";
import type { Page } from "./page";
import { differences } from "./run";

const WORDS = "Keep to compare";
export const MAX_KEPT = 3; // and the one in the form

export function keepButton(page: Page): HTMLElement {
  const button = h(
    "button",
    {
      type: "button",
      class: "small keep",
      click: () => {
        const kept = page.kept();
        const isKept = kept.some((each) => differences([each, page.run()]).length === 0);
        if (isKept || kept.length === MAX_KEPT) return page.open("compare");
        page.keep([...kept, page.run()], "Kept. Change the run, and compare.");
        button.textContent = "Kept";
        setTimeout(() => {
          button.textContent = WORDS;
        }, 900);
      },
    },
    WORDS,
  );
  return button;
}
