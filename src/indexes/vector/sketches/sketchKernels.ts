/**
 * Sketches of vectors in the memory of kernels: each value as a signed byte, and what tells how far the sketch is from the
 * vector. One kernel makes them of vectors, others select of many rows those that may be near to a query. The memory, which
 * all share:
 *
 *     constants  {@link CONSTANT_COUNT} floats of 64 bits, by which rows are selected (sketchBounds.ts)
 *     count      of the rows that were selected, 4 bytes
 *     query      words of 16 bits, {@link MAX_WIDTH} at most
 *     list       numbers of the rows to look at
 *     all        0, 1, 2, …: a list of all rows
 *     found      numbers of the rows that were selected
 *     estimates  of these, floats of 64 bits
 *     input      vectors of floats of 32 bits, filled up with zeros to whole steps
 *     statistics four floats of 32 bits for each of them
 *     slots      of {@link SLOT_BYTES} each
 *
 * A slot has the bytes of its rows, one row behind the other, and then 16 bytes of each:
 *
 *     step    f32    what a byte is multiplied by
 *     error   f32    at most so far is the vector from its sketch; infinite for rows that are always to be selected, NaN for
 *                    those that never are
 *     squares i32    of the bytes, added up
 *     inverse f32    1 divided by the length of the vector; by cosine, a vector of length 0 is not selected, as 0 times
 *                    infinity is no number
 */

import {
  absoluteFloats,
  add,
  addFloat64,
  and,
  atMostFloat64,
  type Code,
  constant,
  divideFloat32,
  divideFloat64,
  float32,
  float32OfLanes,
  float64OfFloat32,
  float64OfInteger,
  floatsOfWords,
  get,
  integerOfLanes,
  type Kernel,
  kernel,
  laneNumbers,
  largerFloats,
  largestLane,
  leaveWhen,
  load,
  loadFloat32,
  loadFloat64,
  loop,
  multiply,
  multiplyFloat64,
  narrowToBytes,
  narrowWords,
  productsOfWords,
  roundFloats,
  set,
  shiftLeft,
  shiftRight,
  store,
  storeFloat32,
  storeFloat64,
  subtract,
  subtractFloat64,
  vectorConstant,
  vectorLoad,
  vectorOfFloat32,
  vectorStore,
  when,
  widenSignedBytes,
} from "../../../bytes/wasm.js";

/** Metrics that rows are selected by. */
export type SketchMetric = "l2" | "cosine" | "dot";

/** Values of one step. */
export const STEP = 16;
/** Values of a vector that can be sketched. */
export const MAX_WIDTH = 8192;
/** Rows of a slot. */
export const MAX_SLOT_ROWS = 8192;
export const SLOT_BYTES = 256 * 1024;
/** Bytes of a row beside those of its values. */
export const ROW_BYTES = 16;
export const CONSTANT_COUNT = 4;
export const INPUT_BYTES = 64 * 1024;

export const CONSTANTS = 0;
export const COUNT = CONSTANTS + 8 * 8;
export const QUERY = COUNT + 16;
export const LIST = QUERY + MAX_WIDTH * 2;
export const ALL = LIST + MAX_SLOT_ROWS * 4;
export const FOUND = ALL + MAX_SLOT_ROWS * 4;
export const ESTIMATES = FOUND + MAX_SLOT_ROWS * 4;
export const INPUT = ESTIMATES + MAX_SLOT_ROWS * 8;
export const STATISTICS = INPUT + INPUT_BYTES;
export const SLOTS = STATISTICS + (INPUT_BYTES / (STEP * 4)) * 16;

const PAGE_BYTES = 64 * 1024;
/** Steps that are written out in a row. */
const STEPS = 4;
const NONE = vectorConstant(new Array(16).fill(0));

export interface SketchKernels {
  readonly memory: WebAssembly.Memory;
  /** Parameters: number of rows, address of their bytes, bytes of a row, steps of a row. */
  readonly make: Kernel["run"];
  /** Parameters: address of a list, its length, addresses of the bytes and of the rest of the slot, bytes of a row. */
  readonly select: Readonly<Record<SketchMetric, Kernel["run"]>>;
}

/**
 * @param maxBytes that the memory may grow to
 * @returns null where the runtime has no kernels
 */
export function sketchKernels(maxBytes: number): SketchKernels | null {
  if (typeof WebAssembly !== "object") return null;
  const initial = Math.ceil(SLOTS / PAGE_BYTES);
  const maximum = Math.min(65_536, Math.max(initial, Math.floor(maxBytes / PAGE_BYTES)));
  let memory: WebAssembly.Memory;
  try {
    memory = new WebAssembly.Memory({ initial, maximum });
  } catch {
    return null;
  }
  const make = kernel(makeKernel(memory));
  const [l2, cosine, dot] = (["l2", "cosine", "dot"] as const).map((metric) =>
    kernel(selectKernel(memory, metric)),
  );
  if (make === null || l2 === null || cosine === null || dot === null) return null;
  const all = new Uint32Array(memory.buffer, ALL, MAX_SLOT_ROWS);
  for (let row = 0; row < all.length; row++) all[row] = row;
  return { memory, make: make.run, select: { l2: l2.run, cosine: cosine.run, dot: dot.run } };
}

/**
 * Makes the bytes of vectors, and their statistics: the largest magnitude, the squares of the values added up, those of what
 * the sketch lacks, and the squares of the bytes (an integer).
 */
function makeKernel(memory: WebAssembly.Memory): Parameters<typeof kernel>[0] {
  return {
    parameters: ["rows", "codes", "width", "steps"],
    locals: ["row", "at", "left", "statistics"],
    vectors: [
      "largest",
      "squares",
      "lack",
      "codeSquares",
      "scale",
      "step",
      "value",
      "rest",
      ...WORDS,
      ...PAIRS,
    ],
    pages: memory,
    body: (local) => {
      const [rows, codes, row, index, left] = ["rows", "codes", "row", "at", "left"].map(local);
      const [largest, squares, lack, codeSquares] = ["largest", "squares", "lack", "codeSquares"].map(local);
      const [value, rest, scale, step, statistics] = ["value", "rest", "scale", "step", "statistics"].map(
        local,
      );
      const addTo = (sum: number, what: Code): Code => set(sum, laneNumbers("f32x4", "add", get(sum), what));
      const square = (of: number): Code => laneNumbers("f32x4", "multiply", get(of), get(of));
      const measured = (quarter: number): Code => [
        set(value, vectorLoad(get(index), INPUT + quarter * 16)),
        set(largest, largerFloats(get(largest), absoluteFloats(get(value)))),
        addTo(squares, square(value)),
      ];
      const coded = (quarter: number): Code => {
        const words = local(WORDS[quarter]);
        return [
          set(value, vectorLoad(get(index), INPUT + quarter * 16)),
          set(words, roundFloats(laneNumbers("f32x4", "multiply", get(value), get(scale)))),
          set(
            rest,
            laneNumbers(
              "f32x4",
              "subtract",
              get(value),
              laneNumbers("f32x4", "multiply", floatsOfWords(get(words)), get(step)),
            ),
          ),
          addTo(lack, square(rest)),
        ];
      };
      const joined = PAIRS.map((name, pair): Code => {
        const [own, low, high] = [name, WORDS[2 * pair], WORDS[2 * pair + 1]].map(local);
        return [
          set(own, narrowWords(get(low), get(high))),
          set(
            codeSquares,
            laneNumbers("i32x4", "add", get(codeSquares), productsOfWords(get(own), get(own))),
          ),
        ];
      });
      const steps = (body: Code): Code => [
        set(index, get(row)),
        set(left, get(local("steps"))),
        loop(
          body,
          set(index, add(get(index), constant(STEP * 4))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
      ];
      const quarters = [0, 1, 2, 3];
      return loop(
        [largest, squares, lack, codeSquares].map((each) => set(each, NONE)),
        steps(quarters.map(measured)),
        storeFloat32(get(statistics), largestLane(largest), STATISTICS),
        set(step, vectorOfFloat32(divideFloat32(loadFloat32(get(statistics), STATISTICS), float32(127)))),
        set(scale, vectorOfFloat32(divideFloat32(float32(127), loadFloat32(get(statistics), STATISTICS)))),
        steps([
          quarters.map(coded),
          joined,
          vectorStore(get(codes), narrowToBytes(get(local(PAIRS[0])), get(local(PAIRS[1])))),
          set(codes, add(get(codes), constant(STEP))),
        ]),
        storeFloat32(get(statistics), float32OfLanes(squares), STATISTICS + 4),
        storeFloat32(get(statistics), float32OfLanes(lack), STATISTICS + 8),
        store(get(statistics), integerOfLanes(codeSquares), STATISTICS + 12),
        set(statistics, add(get(statistics), constant(16))),
        set(row, add(get(row), shiftLeft(get(local("width")), constant(2)))),
        set(rows, subtract(get(rows), constant(1))),
        leaveWhen(0, get(rows)),
      );
    },
  };
}

const WORDS = ["words0", "words1", "words2", "words3"] as const;
const PAIRS = ["pair0", "pair1"] as const;

/**
 * Selects the rows of a list that may be as near as the constants say. With p for the product of the bytes and the query:
 *
 *     l2, cosine   estimate = c0 + step · (step · squares · c1 - c2 · p), selected if it is ≤ (c3 + error)²; by cosine, step
 *                  and error are divided by the length of the vector before
 *     dot          estimate = step · c0 · p, selected if c1 ≤ estimate + c2 · error + c3 / inverse
 */
function selectKernel(memory: WebAssembly.Memory, metric: SketchMetric): Parameters<typeof kernel>[0] {
  return {
    parameters: ["list", "count", "codes", "rest", "width"],
    locals: ["row", "at", "query", "left", "found", "own"],
    vectors: ["sum0", "sum1", "value"],
    doubles: ["step", "error", "product", "estimate"],
    pages: memory,
    body: (local) => {
      const [list, count, row, slot, query, left] = ["list", "count", "row", "at", "query", "left"].map(
        local,
      );
      const [sum0, sum1, value, found, own] = ["sum0", "sum1", "value", "found", "own"].map(local);
      const part = (sum: number, half: "low" | "high", offset: number): Code =>
        set(
          sum,
          laneNumbers(
            "i32x4",
            "add",
            get(sum),
            productsOfWords(widenSignedBytes(half, get(value)), vectorLoad(get(query), QUERY + offset)),
          ),
        );
      const oneStep = (index: number): Code => [
        set(value, vectorLoad(get(slot), index * STEP)),
        part(sum0, "low", index * STEP * 2),
        part(sum1, "high", index * STEP * 2 + 16),
      ];
      const steps = (perRound: number): Code =>
        loop(
          Array.from({ length: perRound }, (_, index) => oneStep(index)),
          set(slot, add(get(slot), constant(perRound * STEP))),
          set(query, add(get(query), constant(perRound * STEP * 2))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        );
      const rounds = (count: Code, perRound: number): Code => [
        set(left, count),
        when(get(left), steps(perRound)),
      ];
      const width = get(local("width"));
      return [
        loop(
          set(row, load(get(list))),
          set(slot, add(get(local("codes")), multiply(get(row), width))),
          set(query, constant(0)),
          [set(sum0, NONE), set(sum1, NONE)],
          rounds(shiftRight(width, constant(6)), STEPS),
          rounds(and(shiftRight(width, constant(4)), constant(STEPS - 1)), 1),
          set(sum0, laneNumbers("i32x4", "add", get(sum0), get(sum1))),
          set(own, add(get(local("rest")), shiftLeft(get(row), constant(4)))),
          set(local("product"), float64OfInteger(integerOfLanes(sum0))),
          when(metric === "dot" ? byProduct(local) : byDistance(local, metric === "cosine"), [
            store(shiftLeft(get(found), constant(2)), get(row), FOUND),
            storeFloat64(shiftLeft(get(found), constant(3)), get(local("estimate")), ESTIMATES),
            set(found, add(get(found), constant(1))),
          ]),
          set(list, add(get(list), constant(4))),
          set(count, subtract(get(count), constant(1))),
          leaveWhen(0, get(count)),
        ),
        store(constant(COUNT), get(found)),
      ];
    },
  };
}

const numbered = (index: number): Code => loadFloat64(constant(CONSTANTS + index * 8));

/** Whether the row is selected, and its estimate, by l2 or cosine. */
function byDistance(local: (name: string) => number, isScaled: boolean): Code {
  const [own, step, error, estimate] = ["own", "step", "error", "estimate"].map(local);
  const inverse = float64OfFloat32(loadFloat32(get(own), 12));
  const scaled = (value: Code): Code => (isScaled ? multiplyFloat64(value, inverse) : value);
  const limit = addFloat64(numbered(3), get(error));
  return [
    set(step, scaled(float64OfFloat32(loadFloat32(get(own))))),
    set(error, scaled(float64OfFloat32(loadFloat32(get(own), 4)))),
    set(
      estimate,
      addFloat64(
        numbered(0),
        multiplyFloat64(
          get(step),
          subtractFloat64(
            multiplyFloat64(multiplyFloat64(get(step), float64OfInteger(load(get(own), 8))), numbered(1)),
            multiplyFloat64(numbered(2), get(local("product"))),
          ),
        ),
      ),
    ),
    set(error, limit),
    atMostFloat64(get(estimate), multiplyFloat64(get(error), get(error))),
  ];
}

/** The same by dot product. */
function byProduct(local: (name: string) => number): Code {
  const [own, step, error, estimate] = ["own", "step", "error", "estimate"].map(local);
  return [
    set(step, float64OfFloat32(loadFloat32(get(own)))),
    set(error, float64OfFloat32(loadFloat32(get(own), 4))),
    set(estimate, multiplyFloat64(multiplyFloat64(get(step), numbered(0)), get(local("product")))),
    atMostFloat64(
      numbered(1),
      addFloat64(
        get(estimate),
        addFloat64(
          multiplyFloat64(numbered(2), get(error)),
          divideFloat64(numbered(3), float64OfFloat32(loadFloat32(get(own), 12))),
        ),
      ),
    ),
  ];
}
