/**
 * Stands for the kernels that decode pages in bundles for browsers. Callers use the plain form until a page
 * of many values makes the kernels load: a page that shows a few rows needs none.
 */

import { type Lazy, lazyModule } from "../../async/lazy.js";
import type * as bitpackKernel from "./bitpackKernel.js";
import type { UnitKernels, WordBits } from "./bitpackKernel.js";
import type { FsstDecoder } from "./fsstDecodeKernel.js";

// In these bundles, only this module gets the modules that it stands for.
const bitpacking = lazyModule(() => import("./bitpackKernel.js"));
const fsst = lazyModule(() => import("./fsstDecodeKernel.js"));

/** A kernel of a module that is loaded when the kernel is first asked for. */
class LazyUse<Module extends object, Made> {
  isOn = true;

  constructor(
    private readonly module: Lazy<Module>,
    private readonly useOf: (module: Module) => { get(): Made | null },
  ) {}

  /** Null until the module is loaded. */
  get(): Made | null {
    if (!this.isOn) return null;
    if (this.module.current !== undefined) return this.useOf(this.module.current).get();
    // A later page asks again.
    this.module.get().catch(() => undefined);
    return null;
  }
}

const WORD_BITS = [8, 16, 32, 64] as const satisfies readonly WordBits[];

/** Kernels of each word width, made of the module once it is loaded. */
function unitKernels<Use extends "pack" | "unpack">(
  make: (module: typeof bitpackKernel) => UnitKernels<Use>,
): UnitKernels<Use> {
  let kernels: UnitKernels<Use> | undefined;
  const ofWidth = (wordBits: WordBits) =>
    new LazyUse(bitpacking, (module) => (kernels ??= make(module))[wordBits]);
  return Object.fromEntries(WORD_BITS.map((wordBits) => [wordBits, ofWidth(wordBits)])) as never;
}

export const packKernels = (rowStarts: Int32Array): UnitKernels<"pack"> =>
  unitKernels((module) => module.packKernels(rowStarts));

export const unpackKernels = (rowStarts: Int32Array): UnitKernels<"unpack"> =>
  unitKernels((module) => module.unpackKernels(rowStarts));

export const fsstDecoder: { get(): FsstDecoder | null } = new LazyUse(fsst, (module) => module.fsstDecoder);
