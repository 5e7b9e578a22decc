// The words that are the columns of rows 18 to 20, like the six of the post.

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 */

const THE_POSTS = ["a", "am", "i", "thanks", "student", "<eos>"];
const OPTION = "words";
export const MOST_WORDS = 14;

/**
 * The ids of the post's six words, if the model has them; as subwords, at the start of a word.
 * @param {readonly string[]} vocabulary
 */
export function postsWords(vocabulary) {
  /** @type {number[]} */
  const ids = [];
  for (const text of THE_POSTS) {
    const id = [text, `▁${text}`, `▁${text[0].toUpperCase()}${text.slice(1)}`].map((form) => vocabulary.indexOf(form));
    const found = id.find((place) => place >= 0);
    if (found !== undefined) ids.push(found);
  }
  return ids;
}

/**
 * The ids that the reader chose, or the post's; if the model has too few of those, the translation's own.
 * @param {ViewContext} context
 * @returns {number[]}
 */
export function chosenWords(context) {
  const {trace} = context;
  const given = context
    .option(OPTION, "")
    .split(",")
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
    .filter((id) => id < trace.vocabulary.length);
  if (given.length) return [...new Set(given)].slice(0, MOST_WORDS);
  const ids = postsWords(trace.vocabulary);
  return ids.length >= 4 ? ids : [...new Set([...trace.target.ids, ...ids])].slice(0, 6);
}

/**
 * Remember what the reader chose.
 * @param {ViewContext} context
 * @param {number[]} ids
 */
export function chooseWords(context, ids) {
  context.setOption(OPTION, ids.length ? ids.slice(0, MOST_WORDS).join(",") : null);
}

/**
 * The ids of words that contain the typed text: exact matches, then words that start with it, then the others.
 * @param {readonly string[]} vocabulary
 * @param {string} typed
 */
export function findWords(vocabulary, typed) {
  const wanted = typed.trim().toLowerCase();
  /** @type {[number[], number[], number[]]} */
  const found = [[], [], []];
  vocabulary.forEach((token, id) => {
    const text = token.replace(/^▁/, "").toLowerCase();
    if (text === wanted || String(id) === wanted) found[0].push(id);
    else if (text.startsWith(wanted)) found[1].push(id);
    else if (text.includes(wanted)) found[2].push(id);
  });
  return found.flat();
}
