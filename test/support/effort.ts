/**
 * Scales long tests. `npm test` does a quarter of a test's usual effort, `npm run soak` `SOAK_SCALE` times
 * it. A test's own variable (`CRASH_STRIDE=1`) overrides both.
 */

const SCALE = Number(process.env.SOAK_SCALE ?? 0.25);

/** Number of random runs. */
export const runsOf = (variable: string, usual: number): number =>
  Number(process.env[variable] ?? Math.ceil(usual * SCALE));

/** Distance between the cases that run. */
export const strideOf = (variable: string, usual: number): number =>
  Number(process.env[variable] ?? Math.max(1, Math.round(usual / SCALE)));

/** Every `stride`th of many cases. Crossed lists need a stride coprime to the length of the inner list. */
export const someOf = <Case>(cases: readonly Case[], stride = 2): Case[] =>
  SCALE < 1 ? cases.filter((_, index) => index % stride === 0) : [...cases];

/**
 * Seed of cases that are drawn at random. `npm test` has one seed, so that the same code always gets the same cases.
 * Each soak draws another.
 */
export const RUN_SEED = Number(process.env.FC_SEED ?? 20_261_128);

/** First seed of generated cases; `CASE_SEED=1`, 2, … gives others. */
export const seedOf = (usual: number): number => usual + 1009 * Number(process.env.CASE_SEED ?? 0);
