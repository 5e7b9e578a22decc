// What holds for every module of the page: the part of JavaScript it keeps to, and what it must never do.

import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import {fileURLToPath} from "node:url";
import {join} from "node:path";
import test from "node:test";

const WEB = fileURLToPath(new URL("../../src/vitrail/web/", import.meta.url));
const modules = readdirSync(WEB, {recursive: true}).filter((name) => name.endsWith(".js"));
const sources = new Map(modules.map((name) => [name, readFileSync(join(WEB, name), "utf8")]));
const code = (source) => source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

test("a name is exported by one module only", () => {
  const home = new Map();
  for (const [name, source] of sources) {
    for (const [, exported] of code(source).matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm)) {
      assert.equal(home.get(exported), undefined, `${exported} is exported by ${name} and ${home.get(exported)}`);
      home.set(exported, name);
    }
  }
});

test("no markup is made of text, nothing is evaluated, and only one module asks the network", () => {
  for (const [name, source] of sources) {
    const found = code(source);
    assert.doesNotMatch(
      found,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function/,
      name,
    );
    assert.doesNotMatch(found, /XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts/, name);
    if (name !== "source.js") assert.doesNotMatch(found, /\bfetch\(/, name);
    // The page's policy blocks style attributes; styles are set through the style object.
    assert.doesNotMatch(found, /setAttribute\("style"|\bstyle: /, name);
    assert.doesNotMatch(source, /https?:\/\/(?!www\.w3\.org\/2000\/svg)/, name);
  }
});

test("every module begins by saying what it is", () => {
  for (const [name, source] of sources) assert.match(source, /^\/\/ [A-Z]/, name);
});

test("no line is longer than 120 characters", () => {
  const tests = fileURLToPath(new URL(".", import.meta.url));
  const page = readdirSync(WEB, {recursive: true}).filter((name) => /\.(js|css|html)$/.test(name));
  const own = readdirSync(tests).filter((name) => /\.(mjs|json)$/.test(name));
  const files = [...page.map((name) => join(WEB, name)), ...own.map((name) => join(tests, name))];
  assert.ok(files.length > 80);
  for (const file of files) {
    readFileSync(file, "utf8")
      .split("\n")
      .forEach((line, index) => assert.ok([...line].length <= 120, `${file}, line ${index + 1}`));
  }
});
