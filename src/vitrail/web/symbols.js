// What the special symbols of a vocabulary mean.

/** @type {Record<string, string>} */
const MEANINGS = {
  "<bos>": "begins every translation: the decoder starts from it",
  "<eos>": "ends a sentence; when the decoder writes it, it stops",
  "<pad>": "fills up shorter sentences of a batch",
  "<unk>": "stands for a word that is not in the vocabulary",
};

/**
 * The meaning of a special symbol, or null for a word.
 * @param {string} token
 */
export function symbolMeaning(token) {
  const language = /^<2(\w+)>$/.exec(token)?.[1];
  if (language) return `asks for a translation into ${language}`;
  return MEANINGS[token] ?? null;
}
