/** A confinement that lets another program act right before the engine looks at a directory, or between look and step. */

import type { Confinement } from "../../src/io/disk/confinement.js";

export interface ConfinementHooks {
  before?(directory: string): void;
  between?(directory: string): void;
}

export const hookedConfinement = (inner: Confinement, hooks: ConfinementHooks): Confinement => ({
  places: inner.places,
  get mayFollow() {
    return inner.mayFollow;
  },
  withinNow(directory, step, expected) {
    hooks.before?.(directory);
    const hooked: typeof step = (alias, real) => {
      hooks.between?.(directory);
      return step(alias, real);
    };
    return inner.withinNow(directory, hooked, expected);
  },
  within(directory, step, expected) {
    hooks.before?.(directory);
    const hooked: typeof step = (alias, real) => {
      hooks.between?.(directory);
      return step(alias, real);
    };
    return inner.within(directory, hooked, expected);
  },
});
