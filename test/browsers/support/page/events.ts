/** Stands for `node:events` in a page. */

export class EventEmitter extends EventTarget {
  emit(name: string): void {
    this.dispatchEvent(new Event(name));
  }
}

export const once = (emitter: EventTarget, name: string): Promise<unknown> =>
  new Promise((resolve) => emitter.addEventListener(name, resolve, { once: true }));
