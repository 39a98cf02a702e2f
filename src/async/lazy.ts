/** Loads parts of the engine when they are first needed: a program loads only the parts that it uses. */

import { importModule } from "../platform/native.js";

/** A value that is made when it is first asked for, once, and then kept. */
export interface Lazy<Value> {
  /** The value if it is made already, else undefined. */
  readonly current: Value | undefined;
  /** Promise of the value after the first call of `get`. Undefined before it, and after a failure. */
  readonly started: Promise<Value> | undefined;
  /** Makes the value, or waits until it is made. After a failure, the next call tries again. */
  get(): Promise<Value>;
}

export function lazy<Value extends object>(make: () => Promise<Value>): Lazy<Value> {
  let current: Value | undefined;
  let started: Promise<Value> | undefined;
  const start = async (): Promise<Value> => {
    try {
      current = await make();
      return current;
    } catch (error) {
      started = undefined;
      throw error;
    }
  };
  return {
    get current() {
      return current;
    },
    get started() {
      return started;
    },
    get() {
      started ??= start();
      return started;
    },
  };
}

/**
 * Module that is loaded when it is first needed.
 * @param load nothing but `import("…")`, which bundlers see
 */
export const lazyModule = <Module extends object>(load: () => Promise<Module>): Lazy<Module> =>
  lazy(() => importModule(load));
