// Fetches the matrices of a layer and the numbers inside it from the studio, each once.

/**
 * @typedef {Exclude<import("./source.js").Source, import("./source.js").FileSource>} Asked
 *   the studio, or the page's model
 * @typedef {import("./trace.js").Trace} Trace
 */

/** Fetches what a view lacks, and says when the view can be drawn again. */
export class LayerFetcher {
  /**
   * @param {Asked} studio
   * @param {{arrived: () => void, failed: (thrown: unknown) => void}} tell
   */
  constructor(studio, tell) {
    this.studio = studio;
    this.tell = tell;
    /** @type {Trace | null} */
    this.trace = null;
    this.model = "";
    /** @type {Map<string, "on the way" | "failed">} */
    this.asked = new Map();
  }

  /**
   * Another trace is shown: forget the requests for the last one.
   * @param {Trace} trace
   * @param {string} model
   */
  begin(trace, model) {
    this.trace = trace;
    this.model = model;
    this.asked = new Map();
  }

  /** @param {string} layer "encoder.0" */
  weights(layer) {
    this.once(`weights ${layer}`, async (trace) => {
      const weights = await this.studio.weights(this.model, layer);
      return () => trace.addWeights(weights);
    });
  }

  /** @param {string} layer "encoder.0" */
  inside(layer) {
    this.once(`inside ${layer}`, async (trace) => {
      const arrays = await this.studio.inside(trace.id ?? "", layer);
      return () => trace.addInside(layer, arrays);
    });
  }

  /** Ask the page's model what happens without each word. Gives whether it is computing that now. */
  leftOut() {
    const {studio} = this;
    if (!("leftOut" in studio)) return false;
    this.once("left out", async (trace) => {
      const found = await studio.leftOut(this.model, trace);
      return () => {
        trace.facts.left_out = found;
      };
    });
    return this.asked.get("left out") === "on the way";
  }

  /**
   * Whether the studio was asked for the inside of a layer and did not send it.
   * @param {string} layer
   */
  refused(layer) {
    return this.asked.get(`inside ${layer}`) === "failed";
  }

  /**
   * Ask for the inside of a layer once more.
   * @param {string} layer
   */
  again(layer) {
    this.asked.delete(`inside ${layer}`);
    this.inside(layer);
  }

  /**
   * @param {string} what
   * @param {(trace: Trace) => Promise<() => void>} ask returns what to do with the answer
   */
  async once(what, ask) {
    const {trace, asked} = this;
    if (!trace || asked.has(what)) return;
    asked.set(what, "on the way");
    try {
      const take = await ask(trace);
      if (this.trace !== trace) return; // by now another sentence is shown
      take();
      this.tell.arrived();
    } catch (thrown) {
      asked.set(what, "failed");
      if (this.trace === trace) this.tell.failed(thrown);
    }
  }
}
