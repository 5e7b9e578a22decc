// Where the worker begins: the model computes here, so that typing never waits for it.

import {Desk} from "./desk.js";

openDesk(self);

/** @param {{postMessage: (message: any) => void, onmessage: ((event: MessageEvent) => any) | null}} port */
function openDesk(port) {
  const desk = new Desk((answer) => port.postMessage(answer));
  port.onmessage = ({data}) => desk.ask(data);
}
