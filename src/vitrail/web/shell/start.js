// The form that asks the studio: a model, a sentence, a language; and the page before there is a trace.

import {element} from "../dom.js";

/**
 * @typedef {import("../request.js").TraceRequest} TraceRequest
 * @typedef {import("../source.js").ModelEntry} ModelEntry
 * @typedef {{
 *   models: ModelEntry[], request: TraceRequest, translate: (changes: Partial<TraceRequest>) => Promise<void>}} Asking
 */

/** @param {Asking} asking */
export function startPage(asking) {
  return element(
    "div",
    {class: "start"},
    element("h1", {class: "view-title"}, "Type a sentence"),
    element("p", {class: "prose"}, "It is translated on this computer, and you can look at every step."),
    sentenceForm(asking),
    exampleButtons(asking),
  );
}

/**
 * Sentences to begin with, if the model brings some.
 * @param {Asking} asking
 */
function exampleButtons({models, request, translate}) {
  const {name, examples = []} = models.find((entry) => entry.name === request.model) ?? models[0] ?? {};
  if (!examples.length) return null;
  const buttons = examples.map(({text, to}) =>
    element(
      "button",
      {type: "button", onclick: () => translate({model: name, text, to, heads_off: {}, prefix: "", reference: ""})},
      text,
    ),
  );
  return element("div", {class: "examples"}, ...buttons);
}

/** @param {Asking} asking */
export function sentenceForm({models, request, translate}) {
  const current = models.find((entry) => entry.name === request.model) ?? models[0];
  const text = element("input", {
    type: "text",
    name: "text",
    class: "sentence-input",
    value: request.text,
    maxlength: 2000,
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Sentence to translate",
    placeholder: "je suis étudiant",
    "data-key": "sentence-input",
  });
  const languages = current?.languages ?? [];
  const to = element(
    "select",
    {name: "to", "aria-label": "Translate into"},
    ...languages.map((name) => element("option", {value: name, selected: name === request.to}, name)),
  );
  const model = element(
    "select",
    {
      name: "model",
      "aria-label": "Model",
      // Another model may know other languages and other words: start over.
      onchange: () => {
        const known = models.find((entry) => entry.name === model.value)?.languages ?? [];
        const language = request.to && known.includes(request.to) ? request.to : (known[0] ?? null);
        translate({model: model.value, to: language, heads_off: {}, prefix: "", reference: ""});
      },
    },
    ...models.map((entry) => element("option", {value: entry.name, selected: entry === current}, entry.name)),
  );
  return element(
    "form",
    {
      class: "sentence-form",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        if (!text.value.trim()) return;
        // The model chosen last, even if it refused the sentence and the page still shows another.
        const known = models.find((entry) => entry.name === model.value)?.languages ?? [];
        const language = known.includes(to.value) ? to.value : (known[0] ?? null);
        const isOther = model.value !== current?.name;
        // A reference and a prefix belong to one sentence, switched-off heads to one model.
        const isNew = isOther || text.value !== request.text || language !== request.to;
        translate({
          model: model.value,
          text: text.value,
          to: language,
          ...(isNew && {prefix: "", reference: ""}),
          ...(isOther && {heads_off: {}}),
        });
      },
    },
    text,
    languages.length > 1 && element("label", {}, "into ", to),
    models.length > 1 && element("label", {}, "with ", model),
    element("button", {type: "submit", class: "primary"}, "Translate"),
  );
}
