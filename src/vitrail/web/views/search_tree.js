// A search as a tree: every candidate of every step, and the path from the start to each.

/**
 * @typedef {import("../trace.js").Search} Search
 * @typedef {import("../trace.js").Candidate} Candidate
 * @typedef {{
 *   step: number, row: number, index: number, candidate: Candidate, parent: TreeNode | null,
 *   result: number | null}} TreeNode
 *   step: from 0; row: its place in the column of its step; index: among the candidates of its step; result: the number
 *   of the translation that it completes
 */

const ALTERNATIVES = 3; // shown for each draw, besides the drawn word

/**
 * The nodes of every step, in the order of their rows.
 * @param {Search} search
 * @returns {TreeNode[][]}
 */
export function searchTree(search) {
  /** @type {TreeNode[][]} */
  const columns = [];
  /** @type {(TreeNode | null)[]} the nodes of this step's hypotheses */
  let live = search.steps[0]?.live.map(() => null) ?? [];
  search.steps.forEach(({candidates, live: now}, step) => {
    if (step > 0) live = now.map((_, place) => kept(columns[step - 1], place));
    const shown = search.kind === "sample" ? drawsFirst(candidates) : candidates.map((_, index) => index);
    columns.push(
      shown.map((index, row) => {
        const candidate = candidates[index];
        const isComplete =
          (candidate.fate === "finished" || candidate.fate === "stopped") && candidate.becomes !== null;
        return {
          step,
          row,
          index,
          candidate,
          parent: live[candidate.parent] ?? null,
          result: isComplete ? candidate.becomes : null,
        };
      }),
    );
  });
  return columns;
}

/**
 * @param {TreeNode[]} column
 * @param {number} place
 */
function kept(column, place) {
  return column.find(({candidate}) => candidate.fate === "kept" && candidate.becomes === place) ?? null;
}

/**
 * Sampling: for each draw the drawn word, then the most probable of the others.
 * @param {Candidate[]} candidates
 */
function drawsFirst(candidates) {
  /** @type {number[]} */
  const order = [];
  const parents = [...new Set(candidates.map(({parent}) => parent))].sort((a, b) => a - b);
  for (const parent of parents) {
    const own = candidates.map((_, index) => index).filter((index) => candidates[index].parent === parent);
    const drawn = own.filter((index) => candidates[index].fate !== "dropped");
    const others = own.filter((index) => candidates[index].fate === "dropped").slice(0, ALTERNATIVES);
    order.push(...drawn, ...others);
  }
  return order;
}

/**
 * The path to a node, from the first step on.
 * @param {TreeNode | null} node
 */
export function wayTo(node) {
  /** @type {TreeNode[]} */
  const way = [];
  for (let here = node; here; here = here.parent) way.unshift(here);
  return way;
}

/**
 * The last node of a translation, or null if the record does not say.
 * @param {TreeNode[][]} columns
 * @param {number} result
 */
export function endOf(columns, result) {
  for (const column of columns) for (const node of column) if (node.result === result) return node;
  return null;
}

/**
 * Whether greedy search would have taken this path: at every step the best continuation.
 * @param {TreeNode[]} way
 * @param {Search} search
 */
export function isGreedy(way, search) {
  return way.every(({step, candidate}) =>
    search.steps[step].candidates.every(
      (other) => other.parent !== candidate.parent || other.log_prob <= candidate.log_prob,
    ),
  );
}
