// A config.json: chosen, or pasted where a name is asked for. One that is dropped goes with the
// files of a launcher.

import { h } from "../dom";

const MAX_CONFIG = 65536; // as the API has it

// A config.json, without what only people need; undefined where it is none.
function configOf(content: string): string | undefined {
  try {
    const config: unknown = JSON.parse(content);
    if (typeof config !== "object" || config === null || Array.isArray(config)) return undefined;
    const short = JSON.stringify(config);
    return short.length <= MAX_CONFIG ? short : undefined;
  } catch {
    return undefined;
  }
}

export interface ConfigTaker {
  take(config: string): void;
  refuse(words: string): void;
}

// The words below the input `name` that open a file.
export function configInput(name: HTMLElement, taker: ConfigTaker): HTMLElement {
  const takeText = (content: string): void => {
    const config = configOf(content);
    if (config !== undefined) taker.take(config);
    else taker.refuse("This is no config.json: it is not a JSON object of at most 64 KiB.");
  };
  const takeFile = (file: File | undefined): void => {
    if (file && file.size > MAX_CONFIG) taker.refuse(`${file.name} has more than 64 KiB.`);
    else if (file) void file.text().then(takeText);
  };
  name.addEventListener("paste", (event) => {
    const pasted = (event as ClipboardEvent).clipboardData?.getData("text") ?? "";
    if (!pasted.trim().startsWith("{")) return;
    event.preventDefault();
    takeText(pasted);
  });
  const file = h("input", {
    type: "file",
    class: "offscreen",
    id: "config",
    accept: ".json,application/json",
    change: () => takeFile(file.files?.[0]),
  });
  return h(
    "p",
    { class: "says" },
    "A name, a number of parameters such as 70B, or a ",
    file,
    h("label", { for: "config", class: "link" }, "config.json"),
    " (paste it, or drop it on the page).",
  );
}
