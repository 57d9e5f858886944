// One field of the form: its label, its input, and what is wrong with it.

import { h, replace } from "../dom";
import { countText, readCount, type Read } from "../numbers";
import type { Choice, Field } from "./fields";

let count = 0;

export class Input {
  readonly element: HTMLElement;
  readonly control: HTMLInputElement | HTMLSelectElement;
  private readonly wrong: HTMLElement;
  unread = false; // what stands there is no value of the field

  // `typed` is called with what a person wrote, `picked` with what was chosen.
  constructor(
    readonly field: Field,
    typed: () => void,
    picked: () => void,
  ) {
    const id = `field-${++count}`;
    this.wrong = h("p", { class: "wrong", id: `${id}-wrong` });
    const shared = { id, "aria-describedby": `${id}-wrong`, "data-path": field.path };
    if (field.choices) {
      this.control = h("select", { ...shared, change: picked });
      this.setChoices(field.choices);
    } else {
      this.control = h("input", {
        ...shared,
        type: field.date ? "date" : "text",
        autocomplete: "off",
        spellcheck: "false",
        autocapitalize: "off",
        list: field.list,
        input: typed,
      });
    }
    this.element = h(
      "div",
      { class: field.short ? "field short" : "field" },
      h("label", { for: id }, field.label, field.unit && ` (${field.unit})`),
      this.control,
      this.wrong,
    );
  }

  setChoices(choices: Choice[]): void {
    const chosen = this.control.value;
    replace(
      this.control,
      h("option", { value: "" }, this.field.none),
      choices.map(({ value, text }) => h("option", { value }, text)),
    );
    this.show(chosen);
  }

  // Shows a value of the request, unless it is what a person has just written in other words.
  show(value: string): void {
    if (this.control instanceof HTMLSelectElement) {
      const known = [...this.control.options].some((each) => each.value === value);
      if (!known) this.control.append(h("option", { value }, value));
      this.control.value = value;
      return;
    }
    if (!this.unread && this.read().value === value) return;
    if (document.activeElement === this.control && this.unread) return;
    this.control.value =
      this.field.read === readCount
        ? countText(value)
        : this.field.date
          ? value.slice(0, 10)
          : value;
    this.unread = false;
  }

  // What stands there; a value of "" means none.
  read(): Read {
    const written = this.control.value.trim();
    if (written !== "" && this.field.date) return { value: `${written}T00:00:00Z` };
    if (written === "" || !this.field.read) return { value: written };
    return this.field.read(written);
  }

  // Shows what is wrong, and what may be meant; "" ends that.
  setWrong(
    words: string,
    instead: string[] = [],
    choose: (value: string) => void = () => {},
  ): void {
    replace(
      this.wrong,
      words,
      instead.map((value) => [
        " ",
        h("button", { type: "button", class: "small", click: () => choose(value) }, value),
      ]),
    );
    if (words) this.control.setAttribute("aria-invalid", "true");
    else this.control.removeAttribute("aria-invalid");
  }
}
