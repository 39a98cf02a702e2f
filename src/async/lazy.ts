/**
 * Parts of the engine that are loaded when they are first needed, so that a program which imports the engine waits for
 * no more than it uses.
 */

import { importModule } from "../platform/native.js";

/** Something that is made when it is first asked for, once, and then kept. */
export interface Lazy<Value> {
  /** Where it is made already, without waiting; undefined before. */
  readonly current: Value | undefined;
  /** It, once somebody has asked for it; undefined before, and after it could not be made. */
  readonly started: Promise<Value> | undefined;
  /** Makes it, or waits until it is made. One that could not be made is tried anew at the next call. */
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
 * A module that is loaded when it is first needed.
 * @param load nothing but `import("…")`, which bundlers see
 */
export const lazyModule = <Module extends object>(load: () => Promise<Module>): Lazy<Module> =>
  lazy(() => importModule(load));
