/** Random faults of a network, from a seed that a failure can be repeated with. */

import type { Fault, ProxiedRequest } from "../../support/faultyProxy.js";

const FAULTS: readonly Fault[] = [
  "lose the request",
  "lose the answer",
  "lose the answer",
  "refuse with 503",
  "carry out and refuse with 503",
  "cut the answer",
  "slow the answer",
];

/** Returns a function that gives some part of all requests a fault. */
export function chooseFault(part: number, seed = 1): (request: ProxiedRequest) => Fault | undefined {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
  return () => (random() < part ? FAULTS[Math.floor(random() * FAULTS.length)] : undefined);
}
