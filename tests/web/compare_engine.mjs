// Holds the page's model to Python's: reads what tests/reference/page_engine.py wrote, and prints what differs.
//
// node compare_engine.mjs FOLDER: every file case-*.json names a model's file, and what Python found with it.

import {readdirSync, readFileSync} from "node:fs";
import {join} from "node:path";

import {decodeArray} from "../../src/vitrail/web/tensor.js";
import {leftOutOf} from "../../src/vitrail/web/engine/lens.js";
import {Oracle} from "../../src/vitrail/web/engine/oracle.js";
import {openProducts, PlainProducts} from "../../src/vitrail/web/engine/products.js";
import {readModelFile} from "../../src/vitrail/web/engine/model_file.js";
import {Recorder} from "../../src/vitrail/web/engine/record.js";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {rowDifference} from "../../src/vitrail/web/verify/tally.js";
import {verification} from "../../src/vitrail/web/verify.js";

const TIE = 1e-4;

/** Everything that was compared, and what differed. */
class Report {
  constructor() {
    this.counts = {lines: 0, texts: 0, searches: 0, ties: 0, traces: 0, arrays: 0, numbers: 0};
    this.largest = 0;
    this.where = "";
    this.differences = [];
  }

  differ(where, expected, found) {
    if (this.differences.length < 20) this.differences.push({where, expected, found});
    else this.differences.length = 20;
  }

  same(where, expected, found) {
    if (JSON.stringify(expected) !== JSON.stringify(found)) this.differ(where, expected, found);
  }

  near(where, expected, found, scale) {
    const difference = rowDifference(expected, found, scale);
    this.counts.numbers += expected.length;
    if (difference > this.largest) [this.largest, this.where] = [difference, where];
    if (!(difference <= TIE)) this.differ(where, `within ${TIE}`, difference);
  }
}

export function openRecorder(path, isPlain) {
  const bytes = readFileSync(path);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  let products;
  const model = readModelFile(file, (floats, shapes) => {
    products = isPlain ? new PlainProducts() : openProducts(floats, shapes);
    return (count) => products.take(count);
  });
  return new Recorder(model, products);
}

function compareTokens(recorder, {lines, source, target, to, rows, texts}, report) {
  const {tokenizers} = recorder;
  for (const [index, line] of lines.entries()) {
    report.counts.lines++;
    report.same(`source row of ${JSON.stringify(line)}`, source[index], tokenizers.encodeSource(line, to));
    report.same(`target row of ${JSON.stringify(line)}`, target[index], tokenizers.encodeTarget(line));
  }
  for (const [index, row] of rows.entries()) {
    report.counts.texts++;
    report.same(`text of ${row}`, texts[index], tokenizers.target.decode(row));
  }
}

function compareSearches(recorder, {settings, found}, report) {
  const model = recorder.model();
  const all = {...recorder.sheet.decode, ...settings};
  for (const {row, hypotheses} of found) {
    report.counts.searches++;
    const {search} = recorder.search(model, row, all, "");
    const own = search.results.filter(({returned}) => returned);
    if (JSON.stringify(own.map(({ids}) => ids)) !== JSON.stringify(hypotheses.map(({ids}) => ids))) {
      // Two engines may part where two candidates are equally good: then the scores are equal, too.
      const isTie = own.every(({score}, place) => Math.abs(score - (hypotheses[place]?.score ?? Infinity)) <= TIE);
      if (isTie && own.length === hypotheses.length) report.counts.ties++;
      else report.differ(`translation of ${row}`, hypotheses, own);
      continue;
    }
    for (const [place, {score}] of own.entries()) report.near(`score of ${row}`, [hypotheses[place].score], [score]);
  }
}

function compareTraces(recorder, {request, trace}, report) {
  report.counts.traces++;
  const own = recorder.record(request);
  const where = `${trace.model.name} ${request.text}`;
  for (const key of ["format", "version", "source", "target", "to", "settings", "what_if", "vocabulary"]) {
    report.same(`${where}, ${key}`, trace[key], own[key]);
  }
  report.same(`${where}, model`, trace.model, own.model);
  compareArrays(report, where, trace.arrays, own.arrays);
  compareArrays(report, `${where}, weights`, trace.weights, own.weights);
  for (const side of ["source", "target"]) {
    report.same(`${where}, embeddings`, trace.embeddings[side].ids, own.embeddings[side].ids);
    const [expected, found] = [trace, own].map(({embeddings}) => ({rows: embeddings[side].rows}));
    compareArrays(report, `${where}, embeddings`, expected, found);
  }
  for (const [name, lens] of Object.entries(trace.lens)) {
    compareLens(report, `${where}, lens ${name}`, lens, own.lens[name]);
  }
  const without = leftOutOf(recorder.model(request.heads_off), own.source.ids, own.source.words, own.target.ids);
  compareLens(report, `${where}, left out`, trace.left_out, without);
  compareRecords(report, where, trace.search, own.search);
  report.same(`${where}, reference`, plain(trace.reference), plain(own.reference));
  if (trace.reference) {
    const [expected, found] = [trace, own].map(({reference: {logits, log_probs}}) => ({logits, log_probs}));
    compareArrays(report, `${where}, reference`, expected, found);
  }
}

/** The badge of a page with the model: every number of Python's trace is recomputed, and none is off. */
function checkWhole(recorder, {trace}, report) {
  const read = readTrace(structuredClone(trace));
  read.addWeights(recorder.parameters(() => true));
  const work = verification(read, new Oracle(recorder, read));
  let step = work.next();
  while (!step.done) step = work.next();
  const {checked, total, failures, unchecked, isFromWeights} = step.value;
  const where = `badge of ${trace.model.name} ${trace.source.text}`;
  report.same(
    where,
    {checked: total, failures: [], unchecked: [], isFromWeights: true},
    {checked, failures, unchecked, isFromWeights},
  );
}

/** What is not an array is the same, and arrays are near. */
function compareLens(report, where, expected, own) {
  for (const [name, value] of Object.entries(expected)) {
    if (value.data === undefined) report.same(`${where}.${name}`, value, own[name]);
    else compareArrays(report, where, {[name]: value}, {[name]: own[name]});
  }
}

function plain(reference) {
  return reference && {...reference, logits: null, log_probs: null};
}

function compareArrays(report, where, expected, own) {
  report.same(`${where}, names`, Object.keys(expected).sort(), Object.keys(own).sort());
  for (const [name, held] of Object.entries(expected)) {
    let encoded = held;
    while (encoded.same) encoded = expected[encoded.same];
    const tensor = decodeArray(encoded, name);
    const found = decodeArray(own[name], name);
    report.counts.arrays++;
    report.same(`${where}, shape of ${name}`, tensor.shape, found.shape);
    const width = tensor.shape.at(-1);
    for (let place = 0; place < tensor.size; place += width) {
      const [a, b] = [tensor, found].map(({data}) => data.subarray(place, place + width));
      report.near(`${where}, ${name}`, a, b);
    }
  }
}

/** Two records of the same search: the same ids and fates, and numbers that are near. */
function compareRecords(report, where, expected, own) {
  const bare = (search) =>
    JSON.stringify(search, (key, value) =>
      ["total", "score", "log_prob", "log_probs", "margin", "chance"].includes(key) ? null : value,
    );
  if (bare(expected) !== bare(own)) {
    report.differ(`${where}, search`, bare(expected), bare(own));
    return;
  }
  const [ours, theirs] = [own, expected].map(({steps}) => steps.flatMap(({candidates}) => candidates));
  for (const [place, candidate] of theirs.entries()) {
    for (const name of ["log_prob", "total", "score", "chance", "margin"]) {
      const [a, b] = [candidate[name] ?? null, ours[place][name] ?? null];
      if (a === null || b === null) report.same(`${where}, ${name}`, a, b);
      else report.near(`${where}, ${name}`, [a], [b], Math.abs(candidate.total) || 1);
    }
  }
}

const [folder] = process.argv.slice(2);
const report = new Report();
const recorders = new Map();
for (const name of readdirSync(folder).filter((file) => file.startsWith("case-"))) {
  const found = JSON.parse(readFileSync(join(folder, name), "utf8"));
  const key = `${found.model} ${found.plain}`;
  if (!recorders.has(key)) recorders.set(key, openRecorder(join(folder, found.model), found.plain));
  const recorder = recorders.get(key);
  if (found.kind === "tokens") compareTokens(recorder, found, report);
  else if (found.kind === "searches") compareSearches(recorder, found, report);
  else {
    compareTraces(recorder, found, report);
    checkWhole(recorder, found, report);
  }
}
console.log(JSON.stringify(report));
