/**
 * Sums that distances are made of, as WebAssembly kernels, 16 bytes at a time. The memory of each kernel:
 *
 *     query      {@link QUERY_BYTES}, with zeros after the last value
 *     mask       16 bytes: ones for the values of the last, incomplete step
 *     sums       two floats of 64 bits for each row
 *     values     {@link PIECE_BYTES}, and 16 bytes that may be read behind them
 *
 * Floats of 32 and 16 bits are added up as floats of 32 bits, those of 64 bits as such, bits that differ as integers. Each
 * step adds to one of four vectors of sums, so that an addition need not wait for the one before.
 */

import {
  add,
  type Code,
  constant,
  countBits,
  floatsAtLeast,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  leaveWhen,
  loop,
  type NumberShape,
  set,
  storeFloat64,
  subtract,
  sumOfLanes,
  vectorAnd,
  vectorConstant,
  vectorLoad,
  vectorLoadHalf,
  vectorOfWords,
  vectorOr,
  vectorShiftLeft,
  vectorXor,
  when,
  widenWords,
} from "../../../bytes/wasm.js";
import { ITEM_BYTES, type Metric, type VectorItem } from "./metric.js";

const QUERY_BYTES = 64 * 1024;
const PIECE_BYTES = 128 * 1024;
const PIECE_ROWS = 2048;
const SUM_BYTES = 16;
/** Steps whose sums are kept apart. */
const STEPS = 4;

const QUERY = 0;
const MASK = QUERY + QUERY_BYTES;
const SUMS = MASK + 16;
const VALUES = SUMS + PIECE_ROWS * SUM_BYTES;
const PAGES = Math.ceil((VALUES + PIECE_BYTES + 16) / 65536);

/** How the values of vectors are loaded and added up. */
interface Loading {
  /** Of sums. */
  readonly shape: NumberShape;
  /** Values of one step. */
  readonly items: number;
  /** Bytes of a value of the query. */
  readonly queryItemBytes: number;
  /** @param bits a local of 16 bytes for it to use */
  load(address: Code, offset: number, bits: number): Code;
}

const LOADINGS: Readonly<Record<VectorItem, Loading>> = {
  float32: { shape: "f32x4", items: 4, queryItemBytes: 4, load: vectorLoad },
  float64: { shape: "f64x2", items: 2, queryItemBytes: 8, load: vectorLoad },
  float16: { shape: "f32x4", items: 4, queryItemBytes: 4, load: loadHalfFloats },
  uint8: { shape: "i32x4", items: 16, queryItemBytes: 1, load: vectorLoad },
};

/**
 * Floats of 16 bits as such of 32: exponent and fraction move to their place, and the exponent's bias is brought up by a
 * multiplication, which makes numbers of subnormals too. What is too large then was infinite, or no number.
 */
function loadHalfFloats(address: Code, offset: number, bits: number): Code {
  const magnitude = vectorShiftLeft("i32x4", vectorAnd(get(bits), vectorOfWords(0x7fff)), constant(13));
  const scaled = laneNumbers("f32x4", "multiply", magnitude, vectorOfWords((112 + 127) << 23));
  const tooLarge = floatsAtLeast(scaled, vectorOfWords((16 + 127) << 23));
  const sign = vectorShiftLeft("i32x4", vectorAnd(get(bits), vectorOfWords(0x8000)), constant(16));
  return [
    set(bits, widenWords(vectorLoadHalf(address, offset))),
    vectorOr(vectorOr(scaled, vectorAnd(tooLarge, vectorOfWords(0x7f80_0000))), sign),
  ];
}

/** What one step adds to the sum of a metric. @param value a local with values */
function term(metric: Metric, shape: NumberShape, value: number, query: Code): Code {
  if (metric === "hamming") return countBits(vectorXor(get(value), query));
  if (metric !== "l2") return laneNumbers(shape, "multiply", get(value), query);
  const difference = laneNumbers(shape, "subtract", get(value), query);
  return [set(value, difference), laneNumbers(shape, "multiply", get(value), get(value))];
}

function distanceKernel(item: VectorItem, metric: Metric): Kernel | null {
  const { shape, items, queryItemBytes, load } = LOADINGS[item];
  const hasSquares = metric === "cosine";
  const sums = Array.from({ length: STEPS }, (_, step) => `sum${step}`);
  const squares = hasSquares ? sums.map((name) => `${name}OfSquares`) : [];
  return kernel({
    parameters: ["rows", "rowBytes", "blocks", "singles", "hasRest"],
    locals: ["row", "at", "query", "left", "target"],
    vectors: [...sums, ...squares, "value", "bits"],
    pages: PAGES,
    body: (local) => {
      const [rows, row, slot, query, left] = ["rows", "row", "at", "query", "left"].map(local);
      const [target, value, bits] = ["target", "value", "bits"].map(local);
      const stepBytes = items * ITEM_BYTES[item];
      const queryStepBytes = items * queryItemBytes;
      const addTo = (sum: number, what: Code): Code => set(sum, laneNumbers(shape, "add", get(sum), what));
      const step = (index: number, isRest = false): Code => {
        const loaded = load(get(slot), index * stepBytes, bits);
        return [
          set(value, isRest ? vectorAnd(loaded, vectorLoad(constant(MASK))) : loaded),
          hasSquares ? addTo(local(squares[index]), term(metric, shape, value, get(value))) : [],
          addTo(
            local(sums[index]),
            term(metric, shape, value, vectorLoad(get(query), QUERY + index * queryStepBytes)),
          ),
        ];
      };
      const steps = (count: string, perRound: number): Code => [
        set(left, get(local(count))),
        when(
          get(left),
          loop(
            Array.from({ length: perRound }, (_, index) => step(index)),
            set(slot, add(get(slot), constant(perRound * stepBytes))),
            set(query, add(get(query), constant(perRound * queryStepBytes))),
            set(left, subtract(get(left), constant(1))),
            leaveWhen(0, get(left)),
          ),
        ),
      ];
      const total = (names: readonly string[], position: number): Code => {
        const [first, ...others] = names.map(local);
        return [
          others.map((other) => addTo(first, get(other))),
          storeFloat64(get(target), sumOfLanes(shape, first), SUMS + position * 8),
        ];
      };
      return [
        set(row, constant(VALUES)),
        loop(
          [...sums, ...squares].map((name) => set(local(name), vectorConstant(new Array(16).fill(0)))),
          set(slot, get(row)),
          set(query, constant(0)),
          steps("blocks", STEPS),
          steps("singles", 1),
          when(get(local("hasRest")), step(0, true)),
          total(sums, 0),
          hasSquares ? total(squares, 1) : [],
          set(target, add(get(target), constant(SUM_BYTES))),
          set(row, add(get(row), get(local("rowBytes")))),
          set(rows, subtract(get(rows), constant(1))),
          leaveWhen(0, get(rows)),
        ),
      ];
    },
  });
}

/** Sums of rows: of the metric, and of the squares of their values where it needs them. */
export type TakeSums = (query: number, firstRow: number, rowCount: number, sums: Float64Array) => void;

/** A kernel with the views of its memory. */
class DistanceKernel {
  readonly #item: VectorItem;
  readonly #run: Kernel["run"];
  readonly #query: Uint8Array;
  readonly #mask: Uint8Array;
  readonly #sums: Float64Array;
  readonly #values: Uint8Array;

  constructor(item: VectorItem, { run, memory }: Kernel) {
    this.#item = item;
    this.#run = run;
    this.#query = new Uint8Array(memory, QUERY, QUERY_BYTES);
    this.#mask = new Uint8Array(memory, MASK, 16);
    this.#sums = new Float64Array(memory, SUMS, (PIECE_ROWS * SUM_BYTES) / 8);
    this.#values = new Uint8Array(memory, VALUES, PIECE_BYTES);
  }

  /** False, and nothing done, for vectors that are too long. */
  sums(
    queries: readonly Uint8Array[],
    dimension: number,
    values: Uint8Array,
    rowCount: number,
    take: TakeSums,
  ): boolean {
    const { items, queryItemBytes } = LOADINGS[this.#item];
    const rowBytes = dimension * ITEM_BYTES[this.#item];
    if (rowBytes > PIECE_BYTES || (dimension + items) * queryItemBytes > QUERY_BYTES) return false;
    const steps = Math.floor(dimension / items);
    const rest = dimension % items;
    this.#mask.fill(0).fill(0xff, 0, (rest * 16) / items);
    const pieceRows = Math.min(PIECE_ROWS, Math.floor(PIECE_BYTES / rowBytes));
    for (let start = 0; start < rowCount; start += pieceRows) {
      const count = Math.min(pieceRows, rowCount - start);
      this.#values.set(values.subarray(start * rowBytes, (start + count) * rowBytes));
      for (const [index, query] of queries.entries()) {
        this.#query.set(query);
        // What a longer query left behind it.
        this.#query.fill(0, query.length, query.length + items * queryItemBytes);
        this.#run(count, rowBytes, Math.floor(steps / STEPS), steps % STEPS, rest === 0 ? 0 : 1);
        take(index, start, count, this.#sums);
      }
    }
    return true;
  }
}

type Kernels = Readonly<Record<VectorItem, Partial<Record<Metric, KernelUse<DistanceKernel>>>>>;

const use = (item: VectorItem, metric: Metric) =>
  new KernelUse(() => {
    const compiled = distanceKernel(item, metric);
    return compiled === null ? null : new DistanceKernel(item, compiled);
  });

const ofFloats = (item: VectorItem): Kernels[VectorItem] => ({
  l2: use(item, "l2"),
  cosine: use(item, "cosine"),
  dot: use(item, "dot"),
});

/** Kernels by what vectors are made of, and by the metric. */
export const distanceKernels: Kernels = {
  float16: ofFloats("float16"),
  float32: ofFloats("float32"),
  float64: ofFloats("float64"),
  uint8: { hamming: use("uint8", "hamming") },
};

/**
 * Sums of rows and queries in a kernel.
 * @param queries their values as the kernel adds them up: floats of 32 bits also for vectors of such of 16
 * @param values of the rows, one behind the other
 * @param take is called with the sums of some rows and one of the queries: pairs, which are good during the call only
 * @returns false, and nothing done, where there is no kernel for such vectors
 */
export const sumsInKernel = (
  item: VectorItem,
  metric: Metric,
  queries: readonly Uint8Array[],
  dimension: number,
  values: Uint8Array,
  rowCount: number,
  take: TakeSums,
): boolean => distanceKernels[item][metric]?.get()?.sums(queries, dimension, values, rowCount, take) ?? false;
