/**
 * How much of a long test is done. A test says what is usual; `npm test` does a quarter of that, which keeps the suite short,
 * and `npm run soak` does `SOAK_SCALE` times as much. A variable of a test's own (`CRASH_STRIDE=1`) decides where it is given.
 */

const SCALE = Number(process.env.SOAK_SCALE ?? 0.25);

/** How often something is done at random. */
export const runsOf = (variable: string, usual: number): number =>
  Number(process.env[variable] ?? Math.ceil(usual * SCALE));

/** Every so manieth of all cases is done. */
export const strideOf = (variable: string, usual: number): number =>
  Number(process.env[variable] ?? Math.max(1, Math.round(usual / SCALE)));

/**
 * Some of many cases that are much alike: every so manieth, beginning with the first. `npm run soak` does all of them.
 * Where several lists of cases are crossed, choose a stride that has no divisor in common with the length of the inner.
 */
export const someOf = <Case>(cases: readonly Case[], stride = 2): Case[] =>
  SCALE < 1 ? cases.filter((_, index) => index % stride === 0) : [...cases];

/** Where generated cases begin; `CASE_SEED=1`, 2, … give others than usual. */
export const seedOf = (usual: number): number => usual + 1009 * Number(process.env.CASE_SEED ?? 0);
