// The models of a published site: fetched when they are needed, with a bar, and kept by the browser.

import {decompressed} from "./engine/unpack.js";
import {Problem} from "./problem.js";

/**
 * @typedef {import("./source.js").ModelEntry & {file: string, size: number}} SiteModel
 * @typedef {{show: (name: string, done: number, total: number) => void, hide: () => void}} Bar
 */

const SHELF = "vitrail-models"; // the name of the browser's cache

/** Where a site's models come from. */
export class SiteFiles {
  /**
   * @param {SiteModel[]} models
   * @param {(address: string) => Promise<Response>} ask the network
   * @param {Bar} bar
   */
  constructor(models, ask, bar) {
    this.models = models;
    this.ask = ask;
    this.bar = bar;
  }

  /**
   * A model's file.
   * @param {string} name
   */
  async file(name) {
    const model = this.models.find((entry) => entry.name === name);
    if (!model) throw new Problem(`this site has no model '${name}'`);
    // A file's name changes with its content, so what was kept under this name is the same.
    const shelf = await openShelf();
    const kept = await shelf?.match(model.file).catch(() => undefined);
    if (kept) {
      try {
        return await decompressed(new Uint8Array(await kept.arrayBuffer()));
      } catch {
        await shelf?.delete(model.file); // damaged: fetched again
      }
    }
    const bytes = await this.fetched(model);
    const file = await decompressed(bytes);
    if (shelf) await this.keep(shelf, model, bytes);
    return file;
  }

  /** @param {SiteModel} model */
  async fetched({name, file, size}) {
    try {
      this.bar.show(name, 0, size);
      const answer = await this.ask(file);
      if (!answer.ok || !answer.body) throw new Problem(`the site answered with status ${answer.status}`);
      const bytes = new Uint8Array(size);
      let done = 0;
      const reader = answer.body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        if (done + part.value.length > size) throw new Problem("the file is longer than the site says");
        bytes.set(part.value, done);
        done += part.value.length;
        this.bar.show(name, done, size);
      }
      if (done < size) throw new Problem("the file ended too early");
      return bytes;
    } catch (thrown) {
      throw new Problem(`cannot load the model '${name}'`, {
        where: `${file}${thrown instanceof Problem ? `: ${thrown.what}` : ""}`,
        fix: "check the network and try again; a site needs a web server: python -m http.server in its folder",
      });
    } finally {
      this.bar.hide();
    }
  }

  /**
   * Keep a model for the next visit, and let go of what this site no longer has. A browser may have no room.
   * @param {Cache} shelf
   * @param {SiteModel} model
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  async keep(shelf, model, bytes) {
    try {
      await shelf.put(model.file, new Response(bytes));
      const current = new Set(this.models.map(({file}) => new URL(file, document.baseURI).href));
      const folder = new URL("models/", document.baseURI).href;
      for (const {url} of await shelf.keys()) {
        if (url.startsWith(folder) && !current.has(url)) await shelf.delete(url);
      }
    } catch {
      // It is fetched again next time.
    }
  }
}

/** The browser's cache; null where there is none. @returns {Promise<Cache | null>} */
async function openShelf() {
  try {
    return await caches.open(SHELF);
  } catch {
    return null;
  }
}
