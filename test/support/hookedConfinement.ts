/**
 * A confinement that lets another program act before the engine's look at a directory, or before its step.
 */

import type { Confinement } from "../../src/io/disk/confinement.js";

export interface ConfinementHooks {
  /** Called for the first directory of a step only. */
  before?(directory: string): void;
  between?(directory: string): void;
}

export function hookedConfinement(inner: Confinement, hooks: ConfinementHooks): Confinement {
  /** Number of nested steps: a step on two directories contains another. */
  let depth = 0;
  const enter = (directory: string) => {
    if (depth === 0) hooks.before?.(directory);
  };
  const hooked: Confinement = {
    admitted: inner.admitted,
    get mayFollow() {
      return inner.mayFollow;
    },
    withinNow(directory, step, expected) {
      enter(directory);
      const hooked: typeof step = (alias, real) => {
        hooks.between?.(directory);
        depth++;
        try {
          return step(alias, real);
        } finally {
          depth--;
        }
      };
      return inner.withinNow(directory, hooked, expected);
    },
    async within(directory, step, expected) {
      enter(directory);
      const hooked: typeof step = async (alias, real) => {
        hooks.between?.(directory);
        depth++;
        try {
          return await step(alias, real);
        } finally {
          depth--;
        }
      };
      return inner.within(directory, hooked, expected);
    },
    confirm: async (directory) => hooked.withinNow(directory, () => undefined),
  };
  return hooked;
}
