/**
 * How much of a long test is done. A test says what is usual; `npm test` does half of that, which keeps the suite short, and
 * `npm run soak` does `SOAK_SCALE` times as much. A variable of a test's own (`CRASH_STRIDE=1`) decides where it is given.
 */

const SCALE = Number(process.env.SOAK_SCALE ?? 0.5);

/** How often something is done at random. */
export const runsOf = (variable: string, usual: number): number =>
  Number(process.env[variable] ?? Math.ceil(usual * SCALE));

/** Every so manieth of all cases is done. */
export const strideOf = (variable: string, usual: number): number =>
  Number(process.env[variable] ?? Math.max(1, Math.round(usual / SCALE)));
