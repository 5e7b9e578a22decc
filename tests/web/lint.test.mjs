// The linter's own rule refuses what it says it refuses, and nothing else.

import {RuleTester} from "eslint";
import {describe, it} from "node:test";

import {noModuleState} from "./no_module_state.mjs";

RuleTester.describe = describe;
RuleTester.it = it;

new RuleTester().run("no-module-state", noModuleState, {
  valid: [
    "const LIMIT = 3; const NAMES = ['a']; export const TABLE = {a: 1};",
    "const NAMES = ['b', 'a']; export function sorted() { return [...NAMES].sort(); }",
    "export function count(items) { const found = new Set(); let n = 0; for (const one of items) found.add(one); }",
    "export class Keeper { constructor() { this.seen = new Map(); } }",
    "const WORD = new RegExp('a+');",
    "const TABLE = {a: [1]}; const table = () => { const copy = {...TABLE}; copy.a = [2]; return copy; };",
  ],
  invalid: [
    {code: "let count = 0;", errors: [{messageId: "variable"}]},
    {code: "export let count = 0;", errors: [{messageId: "variable"}]},
    {code: "var count = 0;", errors: [{messageId: "variable"}]},
    {code: "const seen = new Map();", errors: [{messageId: "made"}]},
    {code: "const player = {inner: new Player()};", errors: [{messageId: "made"}]},
    {code: "const seen = []; export function add(x) { seen.push(x); }", errors: [{messageId: "changed"}]},
    {code: "const T = {a: {b: 1}}; const f = () => { T.a['b'] = 2; };", errors: [{messageId: "changed"}]},
    {code: "const T = {a: 1}; const f = () => { T.a++; delete T.a; };", errors: 2},
    {code: "import {NAMES} from './x.js'; const f = () => NAMES.sort();", errors: [{messageId: "changed"}]},
  ],
});
