// The form of a run. It edits the fields that it has, and keeps all others of the request, which it
// lists.

import { Failure } from "../api";
import { h, replace } from "../dom";
import { countText, readCount } from "../numbers";
import { camel, get, paths, set, text, type Run } from "../run";
import { configInput } from "./config_file";
import { GROUPS, isDouble, type Field } from "./fields";
import { Input } from "./input";
import { loadLists, type Lists } from "./lists";
import { type Other, otherWays } from "./other_ways";

const MODEL = "model.preset";
const MOST_OTHERS = 40;
const DEVICE = "cluster.device.accelerator";

// `typing`: a person may be about to type on. A run that can't be read is undefined.
type Change = (run: Run | undefined, typing: boolean) => void;

export class Form {
  readonly element: HTMLElement;
  private readonly inputs = new Map<string, Input>();
  private readonly folds: HTMLDetailsElement[] = [];
  private readonly others = h("div", { class: "others" });
  private readonly ways = new Map<string, HTMLElement>(); // beside the inputs of MODEL and DEVICE
  private readonly lists = {
    models: h("datalist", { id: "models" }),
    accelerators: h("datalist", { id: "accelerators" }),
  };
  private readonly config: HTMLElement;
  private named: Lists | undefined;
  private run: Run = {};

  constructor(private readonly change: Change) {
    this.element = h(
      "form",
      {
        "aria-label": "The run",
        submit: (event: Event) => {
          event.preventDefault();
          if (this.isReadable()) this.change(this.run, false);
        },
      },
      GROUPS.map((group) => {
        const fields = h(
          "div",
          { class: "fields" },
          group.fields.map((field) => this.input(field)),
        );
        const says = group.says && h("p", { class: "says" }, group.says);
        if (!group.folded) return h("fieldset", {}, h("legend", {}, group.title), fields);
        const fold = h("details", {}, h("summary", {}, group.title), says, fields);
        this.folds.push(fold);
        return fold;
      }),
      this.others,
      this.lists.models,
      this.lists.accelerators,
      h("button", { class: "offscreen", tabindex: -1 }, "Plan"),
    );
    const model = this.inputs.get(MODEL)!;
    this.config = configInput(model.control, {
      take: (config) => this.takeConfig(config),
      refuse: (words) => model.setWrong(words),
    });
    this.element.addEventListener("focusin", () => this.load(), { once: true });
    this.load();
  }

  // Shows the run, whoever changed it.
  show(run: Run): void {
    const another = run !== this.run; // else what was found wrong with it still is
    this.run = run;
    for (const [path, input] of this.inputs) {
      if (path === MODEL) this.showModel(input);
      else input.show(text(run, path));
      if (another && !input.unread) input.setWrong("");
    }
    for (const [path, place] of this.ways) this.showWay(path, place, otherWays(run, path));
    for (const fold of this.folds) {
      const given = [...fold.querySelectorAll<HTMLInputElement>("[data-path]")].some(
        (control) => control.value !== "",
      );
      if (given) fold.open = true;
    }
    this.showNodes();
    this.showOthers();
  }

  // Returns what belongs to no field.
  showWrong(failure: Failure | undefined): string[] {
    for (const input of this.inputs.values()) {
      if (!input.unread) input.setWrong("");
    }
    if (!failure) return [];
    const rest: string[] = [];
    for (const each of failure.fields) {
      const input = this.inputOf(each.field);
      if (!input) {
        rest.push(each.field ? `${each.field}: ${each.text}` : each.text);
        continue;
      }
      input.setWrong(sentence(each.text), each.near, (name) => this.write(input, name));
      const fold = input.element.closest("details");
      if (fold) fold.open = true;
    }
    return failure.fields.length > 0 ? rest : [failure.message];
  }

  // Sizes of a layout that a search found.
  showFound(found: Run | undefined): void {
    for (const [path, input] of this.inputs) {
      const value = found ? text(found, path) : "";
      if (input.control instanceof HTMLInputElement) {
        input.control.placeholder = value && `${value} found`;
      }
    }
  }

  focus(path: string): boolean {
    const input = this.inputOf(path);
    if (!input) return false;
    const fold = input.element.closest("details");
    if (fold) fold.open = true;
    input.control.focus();
    return true;
  }

  // A name, or a number of parameters, which may be written in several ways.
  private showModel(input: Input): void {
    const count = text(this.run, "model.parameterCount");
    if (!count) input.show(text(this.run, MODEL));
    else if (readCount(input.control.value).value !== count) input.show(countText(count));
  }

  // The field of a path as errors and notes name it.
  private inputOf(path: string): Input | undefined {
    const ways: Record<string, string> = {
      model: MODEL,
      "model.parameter_count": MODEL,
      "model.hugging_face_config": MODEL,
      "cluster.device": DEVICE,
    };
    return this.inputs.get(ways[path] ?? camel(path));
  }

  private input(field: Field): HTMLElement {
    const input = new Input(
      field,
      () => this.take(input, true),
      () => this.take(input, false),
    );
    this.inputs.set(field.path, input);
    if (field.path !== MODEL && field.path !== DEVICE) return input.element;
    const way = h("div", { class: "way" });
    this.ways.set(field.path, way);
    return h("div", { class: "field" }, input.element, way);
  }

  // Takes what a person wrote or chose.
  private take(input: Input, typing: boolean): void {
    const read = input.read();
    input.unread = read.value === undefined;
    input.setWrong(read.wrong ?? "", read.instead, (value) => this.write(input, value));
    if (!this.isReadable()) return this.change(undefined, typing);
    const value = read.value === "" ? undefined : read.value;
    this.change(this.withValue(input.field, value), typing);
  }

  private isReadable(): boolean {
    return ![...this.inputs.values()].some((input) => input.unread);
  }

  // Fields that could not be read, and now can, are part of it.
  private withValue(field: Field, value: string | undefined): Run {
    if (field.path === MODEL) {
      const count = value && /^[\d.+]/.test(value) ? readCount(value).value : undefined;
      const named = count ? { parameterCount: count } : { preset: value };
      const changes = get(this.run, "model.changes");
      return set(
        this.run,
        "model",
        value ? { ...named, ...(changes ? { changes } : {}) } : undefined,
      );
    }
    if (field.path === DEVICE) {
      return set(this.run, "cluster.device", value && { accelerator: value });
    }
    const next = set(
      this.run,
      field.path,
      isDouble(field) && value !== undefined ? Number(value) : value,
    );
    if (!field.date) return next;
    // No answer depends on a clock: a run that has to be done starts now, as for the command line.
    const now = `${new Date().toISOString().slice(0, 19)}Z`;
    const start = value && (text(this.run, "economics.startTime") || now);
    return set(next, "economics.startTime", start);
  }

  // As if a person had written it.
  private write(input: Input, value: string): void {
    input.control.value = value;
    input.control.focus();
    this.take(input, false);
  }

  private showWay(path: string, place: HTMLElement, other: Other | undefined): void {
    const input = this.inputs.get(path)!;
    input.element.hidden = other !== undefined;
    if (other) {
      replace(
        place,
        h(
          "p",
          { class: "chip" },
          h(
            "span",
            {},
            this.named?.measured.find((each) => other.text.endsWith(each.value))?.text ??
              other.text,
          ),
          h(
            "button",
            {
              type: "button",
              class: "small",
              click: () => {
                this.change(set(this.run, other.path, undefined), false);
                input.control.focus();
              },
            },
            path === MODEL ? "Use a name" : "Use a product",
          ),
        ),
      );
    } else if (path === MODEL) {
      replace(place, this.config);
    } else {
      replace(
        place,
        (this.named?.measured ?? []).map((each) =>
          h(
            "button",
            {
              type: "button",
              class: "small",
              click: () =>
                this.change(
                  set(this.run, "cluster.device", { hostDevices: { devices: [each.value] } }),
                  false,
                ),
            },
            each.text,
          ),
        ),
      );
    }
  }

  private takeConfig(config: string): void {
    const changes = get(this.run, "model.changes");
    this.change(
      set(this.run, "model", { huggingFaceConfig: config, ...(changes ? { changes } : {}) }),
      false,
    );
  }

  private showOthers(): void {
    const ways = ["model.", "cluster.device."];
    const other = paths(this.run).filter(
      (path) =>
        !this.inputs.has(path) &&
        (path.startsWith("model.changes") || !ways.some((way) => path.startsWith(way))),
    );
    replace(
      this.others,
      other.length > 0 &&
        h(
          "fieldset",
          {},
          h("legend", {}, "Also set"),
          other.length > MOST_OTHERS && h("p", {}, `${other.length} fields; the first are`),
          other.slice(0, MOST_OTHERS).map((path) => {
            const value = get(this.run, path);
            const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
            return h(
              "p",
              { class: "chip" },
              h("span", {}, h("code", {}, path), ` = ${shown.slice(0, 60)}`),
              h(
                "button",
                {
                  type: "button",
                  class: "small",
                  "aria-label": `Remove ${path}`,
                  click: () => this.change(set(this.run, path, undefined), false),
                },
                "Remove",
              ),
            );
          }),
        ),
    );
  }

  // Servers that have the device.
  private showNodes(): void {
    if (!this.named) return;
    const device = text(this.run, DEVICE);
    const nodes = this.named.nodeTypes.filter((each) => each.fits?.includes(device));
    const choice = (each: { value: string; text: string }) => ({
      value: each.value,
      text: each.text,
    });
    this.inputs
      .get("cluster.nodeType")!
      .setChoices((nodes.length > 0 ? nodes : this.named.nodeTypes).map(choice));
    this.inputs.get("cluster.network.name")!.setChoices(this.named.networks.map(choice));
  }

  private load(): void {
    if (this.named) return;
    loadLists().then(
      (lists) => {
        this.named = lists;
        for (const name of ["models", "accelerators"] as const) {
          replace(
            this.lists[name],
            lists[name].map((each) => h("option", { value: each.value }, each.text)),
          );
        }
        this.show(this.run);
      },
      () => {},
    ); // the plan's own call says what is wrong
  }
}

// "is required" -> "Is required".
function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
