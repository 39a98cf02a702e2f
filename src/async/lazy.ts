/** Loads parts of the engine when they are first needed: a program loads only the parts that it uses. */

import { importModule } from "../platform/native.js";
import type { Steps } from "./eventLoop.js";

/** A value that is made when it is first asked for, once, and then kept. */
export interface Lazy<Value> {
  /** The value if it is made already, else undefined. */
  readonly current: Value | undefined;
  /** Promise of the value after the first call of `get`. Undefined before it, and after a failure. */
  readonly started: Promise<Value> | undefined;
  /** The value, for code that runs after it was made. @throws TypeError if it is not made */
  readonly made: Value;
  /** Makes the value, or waits until it is made. After a failure, the next call tries again. */
  get(): Promise<Value>;
}

export const lazy = <Value extends object>(make: () => Promise<Value>): Lazy<Value> => new LazyValue(make);

/** A class: a getter in a literal gives each object its own shape, and calls ask for `current` often. */
class LazyValue<Value extends object> implements Lazy<Value> {
  current: Value | undefined = undefined;
  started: Promise<Value> | undefined = undefined;
  readonly #make: () => Promise<Value>;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  get made(): Value {
    if (this.current === undefined) throw new TypeError("a part of the engine is used before it is loaded");
    return this.current;
  }

  get(): Promise<Value> {
    this.started ??= this.#start();
    return this.started;
  }

  async #start(): Promise<Value> {
    try {
      this.current = await this.#make();
      return this.current;
    } catch (error) {
      this.started = undefined;
      throw error;
    }
  }
}

/**
 * Module that is loaded when it is first needed.
 * @param load nothing but `import("…")`, which bundlers see
 */
export const lazyModule = <Module extends object>(load: () => Promise<Module>): Lazy<Module> =>
  lazy(() => importModule(load));

/** Returns the value in steps. Only the first steps that need it wait until it is made. */
export function* lazySteps<Value>(value: Lazy<Value>): Steps<Value> {
  if (value.current === undefined) yield value.get().then(() => undefined);
  return value.made;
}
