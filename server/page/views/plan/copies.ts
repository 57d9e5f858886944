// The run in other places' words: a link, and what to run where there is no browser. All of them
// hold the same request.

import { copy, h, replace } from "../../dom";
import type { Page } from "../../page";
import { fullQuestion, type Run } from "../../run";

const json = (run: Run): string => JSON.stringify(fullQuestion(run), null, 1);

// In a here-document, which a shell takes as it is.
function command(flags: string, run: Run): string {
  return `sextant plan --request=-${flags} <<'END'\n${json(run)}\nEND\n`;
}

function curl(run: Run): string {
  const url = new URL("sextant.v1.PlanningService/PlanRun", location.href).href;
  return `curl -s -H 'Content-Type: application/json' -d @- ${url} <<'END'\n${json(run)}\nEND\n`;
}

function python(run: Run): string {
  const port = location.port || (location.protocol === "https:" ? "443" : "80");
  return `import json

import sextant

request = json.loads(r'''
${json(run)}
''')
client = sextant.Client("${location.protocol}//${location.hostname}:${port}")
print(client.raw.plan_run(request)["plan"]["verdict"])
`;
}

const FORMS: [string, (run: Run) => string][] = [
  ["Link", () => location.href],
  ["Command line", (run) => command("", run)],
  ["curl", curl],
  ["Python", python],
  ["Megatron-LM’s arguments", (run) => command(" --emit=megatron", run)],
  ["torchtitan’s configuration", (run) => command(" --emit=torchtitan", run)],
  ["DeepSpeed’s configuration", (run) => command(" --emit=deepspeed", run)],
  ["Slurm’s job script", (run) => command(" --emit=slurm", run)],
];

export function copies(page: Page): HTMLElement {
  const list = h("ul", { class: "menu" });
  const menu = h(
    "details",
    {
      class: "copies",
      keydown: (event: KeyboardEvent) => {
        if (event.key === "Escape") menu.open = false;
      },
    },
    h("summary", {}, "Copy as"),
    list,
  );
  replace(
    list,
    FORMS.map(([name, write]) => {
      const button = h(
        "button",
        {
          type: "button",
          class: "item",
          "data-copy": name,
          click: () => {
            void copy(write(page.run())).then(() => {
              page.say(`Copied: ${name}.`);
              button.textContent = "Copied";
              setTimeout(() => {
                button.textContent = name;
                menu.open = false;
              }, 900);
            });
          },
        },
        name,
      );
      return h("li", {}, button);
    }),
  );
  return menu;
}
