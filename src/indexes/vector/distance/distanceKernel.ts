/**
 * Sums for distances, as WebAssembly kernels, 16 bytes at a time. The memory of each kernel:
 *
 *     query      {@link QUERY_BYTES}, with zeros after the last value
 *     mask       16 bytes: ones for the values of the last, incomplete step
 *     sums       two floats of 64 bits for each row
 *     values     {@link PIECE_BYTES}, and 16 bytes after them, which the last step may read
 *
 * Floats of 32 and 16 bits are added up as floats of 32 bits, those of 64 bits as such, bits that differ as
 * integers. Each step adds to one of four vectors of sums, so that an addition does not wait for the one
 * before.
 */

import { type Kernel, KernelUse, kernel } from "../../../bytes/wasm/kernel.js";
import {
  Integer,
  type IntegerLocal,
  type NumberShape,
  Vector,
  type VectorLocal,
} from "../../../bytes/wasm/values.js";
import { ITEM_BYTES, type Metric, type VectorItem } from "./metric.js";

const QUERY_BYTES = 64 * 1024;
const PIECE_BYTES = 128 * 1024;
const PIECE_ROWS = 2048;
const SUM_BYTES = 16;
/** Number of steps with sums of their own. */
const STEPS = 4;

const QUERY = 0;
const MASK = QUERY + QUERY_BYTES;
const SUMS = MASK + 16;
const VALUES = SUMS + PIECE_ROWS * SUM_BYTES;
const PAGES = Math.ceil((VALUES + PIECE_BYTES + 16) / 65536);

/** Arithmetic of one kind of vector. */
interface Loading {
  /** Lanes of the sums. */
  readonly shape: NumberShape;
  /** Values of one step. */
  readonly items: number;
  /** Bytes of a value of the query. */
  readonly queryItemBytes: number;
  /** @param scratch a local for the load to use */
  load(address: Integer, offset: number, scratch: VectorLocal): Vector;
}

const loadVector: Loading["load"] = (address, offset) => address.loadVector(offset);

const LOADINGS: Readonly<Record<VectorItem, Loading>> = {
  float32: { shape: "f32x4", items: 4, queryItemBytes: 4, load: loadVector },
  float64: { shape: "f64x2", items: 2, queryItemBytes: 8, load: loadVector },
  float16: { shape: "f32x4", items: 4, queryItemBytes: 4, load: loadHalfFloats },
  uint8: { shape: "i32x4", items: 16, queryItemBytes: 1, load: loadVector },
};

/**
 * Loads floats of 16 bits as floats of 32 bits. It shifts exponent and fraction, and a multiplication
 * corrects the exponent, also that of subnormals. Numbers that are too large afterwards were infinite or NaN.
 */
function loadHalfFloats(address: Integer, offset: number, bits: VectorLocal): Vector {
  bits.set(address.loadHalfVector(offset).widenShorts());
  const magnitude = bits.and(Vector.ofWord(0x7fff)).shiftLeft("i32x4", 13);
  const scaled = magnitude.times("f32x4", Vector.ofWord((112 + 127) << 23));
  const tooLarge = scaled.floatsAtLeast(Vector.ofWord((16 + 127) << 23));
  const sign = bits.and(Vector.ofWord(0x8000)).shiftLeft("i32x4", 16);
  return scaled.or(tooLarge.and(Vector.ofWord(0x7f80_0000))).or(sign);
}

/** The addend of one step. It may overwrite `value`. */
function term(metric: Metric, shape: NumberShape, value: VectorLocal, query: Vector): Vector {
  if (metric === "hamming") return value.xor(query).countBits();
  if (metric !== "l2") return value.times(shape, query);
  value.set(value.minus(shape, query));
  return value.times(shape, value);
}

const distanceKernel = (item: VectorItem, metric: Metric): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const { shape, items, queryItemBytes, load } = LOADINGS[item];
    const stepBytes = items * ITEM_BYTES[item];
    const queryStepBytes = items * queryItemBytes;
    const [rows, rowBytes, blocks, singles, hasRest] = wasm.parameters();
    const [row, address, query, left, target] = wasm.integers();
    const sums = Array.from({ length: STEPS }, () => wasm.vector());
    const squares = metric === "cosine" ? sums.map(() => wasm.vector()) : [];
    const [value, scratch] = wasm.vectors();
    const addStep = (index: number, isRest = false): void => {
      const loaded = load(address, index * stepBytes, scratch);
      value.set(isRest ? loaded.and(Integer.of(MASK).loadVector()) : loaded);
      squares[index]?.increase(shape, value.times(shape, value));
      const queryStep = query.loadVector(QUERY + index * queryStepBytes);
      sums[index].increase(shape, term(metric, shape, value, queryStep));
    };
    const addSteps = (count: IntegerLocal, perRound: number): void => {
      left.set(count);
      wasm.when(left, () =>
        wasm.repeat(left, () => {
          for (let index = 0; index < perRound; index++) addStep(index);
          address.increase(perRound * stepBytes);
          query.increase(perRound * queryStepBytes);
        }),
      );
    };
    const storeTotal = ([first, ...rest]: readonly VectorLocal[], index: number): void => {
      for (const sum of rest) first.increase(shape, sum);
      wasm.store(target, first.sum(shape), SUMS + index * 8);
    };
    row.set(VALUES);
    wasm.repeat(rows, () => {
      for (const sum of [...sums, ...squares]) sum.set(Vector.ofByte(0));
      address.set(row);
      query.set(0);
      addSteps(blocks, STEPS);
      addSteps(singles, 1);
      wasm.when(hasRest, () => addStep(0, true));
      storeTotal(sums, 0);
      if (squares.length > 0) storeTotal(squares, 1);
      target.increase(SUM_BYTES);
      row.increase(rowBytes);
    });
  });

/** Takes sums of rows: those of the metric and, by cosine, the squares of their values. */
type TakeSums = (query: number, firstRow: number, rowCount: number, sums: Float64Array) => void;

type AddUp = (queries: readonly Uint8Array[], values: Uint8Array, take: TakeSums) => boolean;

/** Opens views of a kernel's memory. The result returns false, with nothing done, for too long vectors. */
function openSums(item: VectorItem, { run, memory }: Kernel): AddUp {
  const { items, queryItemBytes } = LOADINGS[item];
  const queryView = new Uint8Array(memory, QUERY, QUERY_BYTES);
  const mask = new Uint8Array(memory, MASK, 16);
  const sums = new Float64Array(memory, SUMS, (PIECE_ROWS * SUM_BYTES) / 8);
  const valuesView = new Uint8Array(memory, VALUES, PIECE_BYTES);
  return (queries, values, take) => {
    const dimension = queries[0].length / queryItemBytes;
    const rowBytes = dimension * ITEM_BYTES[item];
    const rowCount = values.length / rowBytes;
    if (rowBytes > PIECE_BYTES || (dimension + items) * queryItemBytes > QUERY_BYTES) return false;
    const steps = Math.floor(dimension / items);
    const rest = dimension % items;
    mask.fill(0).fill(0xff, 0, (rest * 16) / items);
    const pieceRows = Math.min(PIECE_ROWS, Math.floor(PIECE_BYTES / rowBytes));
    for (let start = 0; start < rowCount; start += pieceRows) {
      const count = Math.min(pieceRows, rowCount - start);
      valuesView.set(values.subarray(start * rowBytes, (start + count) * rowBytes));
      for (const [index, query] of queries.entries()) {
        queryView.set(query);
        // A longer query may have left values after this one.
        queryView.fill(0, query.length, query.length + items * queryItemBytes);
        run(count, rowBytes, Math.floor(steps / STEPS), steps % STEPS, rest === 0 ? 0 : 1);
        take(index, start, count, sums);
      }
    }
    return true;
  };
}

type Kernels = Readonly<Record<VectorItem, Partial<Record<Metric, KernelUse<AddUp>>>>>;

const use = (item: VectorItem, metric: Metric) =>
  KernelUse.of(
    () => distanceKernel(item, metric),
    (compiled) => openSums(item, compiled),
  );

const ofFloats = (item: VectorItem): Kernels[VectorItem] => ({
  l2: use(item, "l2"),
  cosine: use(item, "cosine"),
  dot: use(item, "dot"),
});

/** Kernels by the type of the values and by the metric. */
export const distanceKernels: Kernels = {
  float16: ofFloats("float16"),
  float32: ofFloats("float32"),
  float64: ofFloats("float64"),
  uint8: { hamming: use("uint8", "hamming") },
};

/**
 * Adds up rows and queries in a kernel.
 * @param queries values of at least one query, all of one dimension; float32 also for float16 vectors
 * @param values of the rows, one after another
 * @param take receives the sums of some rows and one query: pairs, which are valid during the call only
 * @returns false, with nothing done, without a kernel for such vectors
 */
export const sumsInKernel = (item: VectorItem, metric: Metric, ...vectors: Parameters<AddUp>): boolean =>
  distanceKernels[item][metric]?.get()?.(...vectors) ?? false;
