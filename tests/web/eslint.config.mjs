// What the linter holds the page's modules and their tests to. Layout is the formatter's business, types are tsc's.

import js from "@eslint/js";
import globals from "globals";

import {noModuleState} from "./no_module_state.mjs";

export default [
  {ignores: ["**/node_modules/**"]},
  js.configs.recommended,
  {
    languageOptions: {ecmaVersion: 2022, sourceType: "module"},
    linterOptions: {reportUnusedDisableDirectives: "error"},
    rules: {
      complexity: ["error", 16],
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "max-depth": ["error", 4],
      "no-shadow": ["error", {builtinGlobals: false}],
      "no-unused-vars": ["error", {argsIgnorePattern: "^_"}],
      "no-use-before-define": ["error", {functions: false, classes: false, variables: false}],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  {
    files: ["src/vitrail/web/**/*.js"],
    languageOptions: {globals: globals.browser},
    plugins: {vitrail: {rules: {"no-module-state": noModuleState}}},
    rules: {
      "no-console": ["error", {allow: ["error"]}],
      "vitrail/no-module-state": "error",
    },
  },
  {
    files: ["tests/web/**/*.mjs"],
    languageOptions: {globals: globals.node},
  },
];
