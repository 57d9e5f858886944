// Asks for the token of a planner that is not open to all.

import { h } from "./dom";

export function askForToken(): Promise<string> {
  return new Promise((resolve) => {
    const input = h("input", {
      id: "token",
      type: "password",
      autocomplete: "off",
      required: true,
    });
    const dialog = h(
      "dialog",
      { class: "token", "aria-labelledby": "token-title" },
      h(
        "form",
        {
          submit: (event: Event) => {
            event.preventDefault();
            dialog.close();
            dialog.remove();
            resolve(input.value.trim());
          },
        },
        h("h2", { id: "token-title" }, "This planner asks who you are"),
        h(
          "p",
          {},
          "Its operator has a token for you (sextantd --token_file). The page keeps it in " +
            "memory, until you close or reload it.",
        ),
        h("label", { for: "token" }, "Token"),
        input,
        h("p", {}, h("button", { class: "main" }, "Continue")),
      ),
    );
    // Without a token there is nothing to see.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}
