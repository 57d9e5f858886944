// One operation: how long it takes on a device, under the device's roofline.

import type {
  AnalyzeOperationRequestJson,
  AnalyzeOperationResponseJson,
} from "api/accounting_service_pb";
import type { KernelCurveJson } from "api/kernel_pb";

import { call, type Failure } from "../../api";
import { Asker } from "../../asker";
import { h, replace } from "../../dom";
import type { Choice, Field } from "../../form/fields";
import { Input } from "../../form/input";
import { loadLists } from "../../form/lists";
import { readLength } from "../../numbers";
import type { Opened, Page, View } from "../../page";
import { camel, get, set, text, type Run } from "../../run";
import { capital, wordsOf } from "../plan/words";
import { answerOf } from "./answer";
import { OPERATIONS, type Operation } from "./operations";

type Question = AnalyzeOperationRequestJson;

const DEVICE = "device.device";
const HOST = "host:"; // before a device of this host
const TYPES = ["BF16", "FP16", "FP32", "TF32", "FP64", "FP8_E4M3", "MXFP8", "NVFP4", "INT8"];

function startOf(of: Operation): object {
  return Object.fromEntries(Object.entries(of.sizes).filter(([, size]) => size));
}

class OperationView implements Opened {
  private readonly fields = h("div", { class: "fields" });
  private readonly wrong = h("div", { class: "mistake", role: "alert", hidden: true });
  private readonly answer = h("div", { class: "answer" });
  private readonly inputs = new Map<string, Input>();
  private devices: Choice[] = [];
  private question: Question = {};
  private answered: Question | undefined;
  private readonly asker = new Asker<Question>({
    ask: (question, whole, signal) => this.ask(question, whole, signal),
    wait: (failure) => this.wait(failure),
  });

  constructor(
    place: HTMLElement,
    private readonly page: Page,
  ) {
    place.append(
      h(
        "form",
        { "aria-label": "The operation", submit: (event: Event) => event.preventDefault() },
        h("fieldset", {}, h("legend", {}, "Operation"), this.fields),
      ),
      this.wrong,
      this.answer,
    );
    void loadLists().then(({ accelerators, measured }) => {
      this.devices = [
        ...measured.map(({ value, text: name }) => ({ value: HOST + value, text: name })),
        ...accelerators,
      ];
      this.inputs.get(DEVICE)?.setChoices(this.devices);
    });
  }

  show(run: Run): void {
    this.question = this.page.asked() ?? {
      operation: { matmul: startOf(OPERATIONS[0]!) },
      dataTypes: { input: "DATA_TYPE_BF16" },
      device: { device: run.cluster?.device ?? { accelerator: "h100-sxm" } },
    };
    this.form();
    this.asker.ask(this.question);
  }

  close(): void {
    this.asker.stop();
  }

  // The fields of the question's operation.
  private form(): void {
    const name = Object.keys(this.question.operation ?? {})[0] ?? "";
    const of = OPERATIONS.find((each) => each.name === name);
    const focused = document.activeElement?.id;
    this.inputs.clear();
    const all: Field[] = [
      {
        path: "operation",
        label: "Operation",
        none: "",
        choices: OPERATIONS.map((each) => ({ value: each.name, text: each.label })),
      },
      ...Object.entries(of?.sizes ?? {}).map(([size, start]) => ({
        path: `operation.${name}.${size}`,
        label: capital(size.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`)),
        short: true,
        ...(typeof start === "boolean"
          ? { choices: [{ value: "true", text: "yes" }], none: "no" }
          : { read: readLength }),
      })),
      {
        path: "dataTypes.input",
        label: "Number format",
        short: true,
        choices: TYPES.map((type) => ({
          value: `DATA_TYPE_${type}`,
          text: wordsOf(type, "DATA_TYPE_"),
        })),
      },
      { path: DEVICE, label: "Device", short: true, choices: this.devices },
      {
        path: "device.regime",
        label: "Clocks of",
        short: true,
        none: "the first milliseconds",
        choices: [{ value: "KERNEL_REGIME_SUSTAINED", text: "a long run" }],
      },
    ];
    replace(
      this.fields,
      all.map((field) => {
        const input = new Input(
          field,
          () => this.take(input, true),
          () => this.take(input, false),
        );
        this.inputs.set(field.path, input);
        input.show(this.shown(field.path));
        return input.element;
      }),
    );
    if (focused && !document.getElementById(focused)) {
      this.inputs.get("operation")?.control.focus();
    }
  }

  private shown(path: string): string {
    if (path === "operation") return Object.keys(this.question.operation ?? {})[0] ?? "";
    if (path !== DEVICE) return text(this.question, path);
    const host = get(this.question, `${DEVICE}.hostDevices.devices`);
    return Array.isArray(host)
      ? HOST + String(host[0])
      : text(this.question, `${DEVICE}.accelerator`);
  }

  private take(input: Input, typing: boolean): void {
    const { field } = input;
    const { value, wrong = "", instead } = input.read();
    input.unread = value === undefined;
    input.setWrong(wrong, instead, (meant) => {
      input.control.value = meant;
      input.control.focus();
      this.take(input, false);
    });
    if ([...this.inputs.values()].some((each) => each.unread)) return this.pause();
    this.question = this.withValue(field, value || undefined);
    if (field.path === "operation") this.form();
    this.page.ask(this.question);
    if (typing) this.asker.typed(this.question);
    else this.asker.ask(this.question);
  }

  private withValue(field: Field, value: string | undefined): Question {
    if (field.path === "operation") {
      const of = OPERATIONS.find((each) => each.name === value);
      return of ? { ...this.question, operation: { [of.name]: startOf(of) } } : this.question;
    }
    if (field.path === DEVICE && value) {
      const named = value.startsWith(HOST)
        ? { hostDevices: { devices: [value.slice(HOST.length)] } }
        : { accelerator: value };
      return set(this.question, DEVICE, named);
    }
    return set(this.question, field.path, value === "true" ? true : value);
  }

  // A size can't be read: what is shown is of an earlier question.
  private pause(): void {
    this.asker.stop();
    this.answer.classList.add("stale");
  }

  private async ask(question: Question, whole: boolean, signal: AbortSignal): Promise<void> {
    if (!whole || question !== this.answered) {
      const answer = await call("AccountingService/AnalyzeOperation", question, signal);
      if (signal.aborted) return;
      const squares = await this.squares(question, answer, signal);
      if (signal.aborted) return;
      this.answered = question;
      replace(this.answer, answerOf(answer, this.page, squares));
    }
    this.answer.classList.remove("stale", "waiting");
    this.answer.dataset.whole = String(whole);
    this.wrong.hidden = true;
    this.inputs.forEach((input) => input.setWrong(""));
  }

  // Where it is a product of matrices, what the device's tables have of squares.
  private async squares(
    { device, dataTypes }: Question,
    { name, time }: AnalyzeOperationResponseJson,
    signal: AbortSignal,
  ): Promise<KernelCurveJson | undefined> {
    if (!device?.device || !time?.predictedForward) return undefined;
    if (name !== "matmul" && name !== "linear") return undefined;
    const asked = { device: device.device, dataTypes: [dataTypes!.input!] };
    const { curves } = await call("HardwareService/GetKernelRates", asked, signal);
    return curves?.find((each) => each.kind === "KERNEL_KIND_SQUARE_MATMUL");
  }

  private wait(failure: Failure | undefined): void {
    this.answer.classList.add("waiting");
    if (!failure) return;
    this.answer.classList.add("stale");
    const rest: string[] = [];
    for (const { field, text: words } of failure.fields) {
      const input = this.inputs.get(camel(field.replace(/^device\.device\..*/, DEVICE)));
      if (input) input.setWrong(capital(words));
      else rest.push(words);
    }
    if (failure.fields.length === 0) rest.push(failure.message);
    this.wrong.hidden = rest.length === 0;
    replace(
      this.wrong,
      rest.map((words) => h("p", {}, words)),
    );
  }
}

export const operation: View = {
  name: "operation",
  title: "Operation",
  hasRun: false,
  open: (place, page) => new OperationView(place, page),
};
