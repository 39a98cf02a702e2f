/**
 * ZONEMAP: least and greatest value of each zone of rows. One file:
 *
 *     zonemap.lance  min, max     the indexed type, nullable: bounds of the values; null if all are null
 *                    null_count   u32
 *                    nan_count    u32
 *                    fragment_id, zone_start, zone_length  u64
 *                    metadata: rows_per_zone (8192)
 *
 * This reader finds NaN by the counts. LanceDB finds it by the bounds, so this writer sets them for LanceDB:
 *
 * - `max` is NaN if the zone has a positive NaN: LanceDB compares it with `max` only.
 * - `min` is never NaN, since LanceDB skips such zones. It is ∞ if the zone has only positive NaN.
 * - `min` is -∞ if the zone has a negative NaN, which LanceDB orders below -∞. LanceDB therefore misses these
 *   only in a search for values below -∞.
 *
 * Other writers leave NaN out of both bounds, or include it in both.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InternalError } from "../../errors.js";
import type { TableField } from "../../schema/schema.js";
import { storedLayoutOf } from "../../schema/storedLayout.js";
import {
  type FileColumnType,
  fixedWidthColumn,
  integerWords,
  UINT32,
  uint32Column,
} from "../indexColumns.js";
import { OpenIndexFile, writeIndexFile } from "../indexFile.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexParameters,
  IndexQuery,
  IndexSearchOptions,
  IndexTarget,
  KindFiles,
  OldSegment,
  OpenIndex,
  RowStream,
  SearchEstimate,
  WrittenFiles,
  WrittenIndexFile,
} from "../kind.js";
import type { RowMoves } from "../moves.js";
import { isAbove, isBelow, isOrderQuery, type QueryValues, queryValues } from "../queryValues.js";
import { counted } from "../sortedRows.js";
import { compareValues, firstFrom, type OrderedValues, orderedValues } from "../valueOrder.js";
import {
  MAX_ZONE_ROWS,
  readZones,
  rowCountOf,
  rowsOfZones,
  type Summary,
  summarise,
  withParameters,
  ZONE_COLUMNS,
  ZONE_ROWS,
  type Zone,
  zoneColumns,
  zoneRowsOf,
} from "./zones.js";

const FILE_NAME = "zonemap.lance";
const ROWS_KEY = "rows_per_zone";

const columnsOf = (type: LogicalType): FileColumnType[] => [
  { name: "min", type, nullable: true },
  { name: "max", type, nullable: true },
  { name: "null_count", type: UINT32 },
  { name: "nan_count", type: UINT32 },
  ...ZONE_COLUMNS,
];

/** Summaries of zones, one value each. */
interface ZoneValues {
  readonly zones: readonly Zone[];
  readonly min: Column;
  readonly max: Column;
  readonly nullCounts: Uint32Array;
  readonly nanCounts: Uint32Array;
}

const build = async (rows: RowStream, target: IndexTarget): Promise<WrittenFiles> => [
  await write(rows, [], target),
];

async function merge(
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const before = old.map(({ index, moves }) => (index as ZonemapSearch).kept(moves));
  return [await write(rows, before, withParameters(old, target))];
}

async function open(files: IndexFiles, { type }: TableField): Promise<OpenIndex> {
  const file = await OpenIndexFile.open(files, FILE_NAME, columnsOf(type));
  const parameters = { rowsPerZone: file.count(ROWS_KEY, ZONE_ROWS, MAX_ZONE_ROWS) };
  const zones = await readZones(file);
  const [min, max, nulls, nans] = await Promise.all(
    ["min", "max", "null_count", "nan_count"].map((name) => file.column(name)),
  );
  const nullCounts = integerWords(nulls, file.path);
  const nanCounts = integerWords(nans, file.path);
  return new ZonemapSearch(type, file, parameters, { zones, min, max, nullCounts, nanCounts });
}

async function write(
  rows: RowStream,
  before: readonly ZoneValues[],
  target: IndexTarget,
): Promise<WrittenIndexFile> {
  const zoneRows = zoneRowsOf(target.parameters);
  const extremes = new Extremes(target.field);
  for await (const _ of summarise(counted(rows, target), zoneRows, extremes));
  const kept = [...before, ...extremes.values()].filter(({ zones }) => zones.length > 0);
  const batches = async function* (): AsyncGenerator<InputBatch> {
    for (const { zones, min, max, nullCounts, nanCounts } of kept) {
      const columns = [min, max, uint32Column(nullCounts), uint32Column(nanCounts), ...zoneColumns(zones)];
      yield { columns, rowCount: zones.length };
    }
  };
  return writeIndexFile(target, FILE_NAME, columnsOf(target.field.type), batches(), (file) =>
    file.addMetadata(ROWS_KEY, String(zoneRows)),
  );
}

/** Computes the bounds. */
class Extremes implements Summary {
  readonly #zones: Zone[] = [];
  readonly #mins: Column[] = [];
  readonly #maxs: Column[] = [];
  readonly #nullCounts: number[] = [];
  readonly #nanCounts: number[] = [];
  /** Least and greatest value that is not NaN. */
  #min: Column | null = null;
  #max: Column | null = null;
  /** Numbers of values in the current zone. */
  #nullCount = 0;
  #negativeNaNs = 0;
  #positiveNaNs = 0;

  constructor(private readonly field: TableField) {}

  add(values: Column): void {
    const { type } = this.field;
    const ordered = orderedValues(type, values);
    let least = -1;
    let greatest = -1;
    for (let row = 0; row < values.length; row++) {
      if (!isValid(values.validity, row)) {
        this.#nullCount++;
        continue;
      }
      const sign = signOfNaN(type, ordered, row);
      if (sign < 0) this.#negativeNaNs++;
      else if (sign > 0) this.#positiveNaNs++;
      else {
        if (least < 0 || compareValues(ordered, row, ordered, least) < 0) least = row;
        if (greatest < 0 || compareValues(ordered, row, ordered, greatest) > 0) greatest = row;
      }
    }
    if (least < 0) return;
    const isLess = this.#min === null || compareValues(ordered, least, orderedValues(type, this.#min), 0) < 0;
    if (isLess) this.#min = takeColumn(values, Uint32Array.of(least));
    const isMore =
      this.#max === null || compareValues(ordered, greatest, orderedValues(type, this.#max), 0) > 0;
    if (isMore) this.#max = takeColumn(values, Uint32Array.of(greatest));
  }

  finish(zone: Zone): void {
    const [min, max] = this.#bounds();
    const none = nullColumn(storedLayoutOf(this.field, this.field.name), 1);
    this.#zones.push(zone);
    this.#mins.push(min ?? none);
    this.#maxs.push(max ?? none);
    this.#nullCounts.push(this.#nullCount);
    this.#nanCounts.push(this.#negativeNaNs + this.#positiveNaNs);
    this.#min = this.#max = null;
    this.#nullCount = this.#negativeNaNs = this.#positiveNaNs = 0;
  }

  #bounds(): [Column | null, Column | null] {
    const { type } = this.field;
    let [min, max] = [this.#min, this.#max];
    if (type.kind !== "float") return [min, max];
    if (this.#positiveNaNs > 0) {
      min ??= extremeFloat("infinity", type.bits);
      max = extremeFloat("NaN", type.bits);
    }
    if (this.#negativeNaNs > 0) {
      min = extremeFloat("negativeInfinity", type.bits);
      max ??= min;
    }
    return [min, max];
  }

  /** Returns the values of all zones, if there are any. */
  values(): ZoneValues[] {
    if (this.#zones.length === 0) return [];
    const [min, max] = [concatColumns(this.#mins), concatColumns(this.#maxs)];
    const [nullCounts, nanCounts] = [Uint32Array.from(this.#nullCounts), Uint32Array.from(this.#nanCounts)];
    return [{ zones: this.#zones, min, max, nullCounts, nanCounts }];
  }
}

class ZonemapSearch implements OpenIndex {
  readonly kind = "ZONEMAP";
  readonly memoryWeight: number;
  /** Bounds in comparable form. */
  readonly #min: OrderedValues;
  readonly #max: OrderedValues;
  readonly #zoneBytes: number;

  constructor(
    private readonly type: LogicalType,
    file: OpenIndexFile,
    readonly parameters: IndexParameters,
    private readonly values: ZoneValues,
  ) {
    // Other writers may record either zero as a bound, so a zone with one zero counts as having both.
    this.#min = widenedZeros(type, orderedValues(type, values.min), "least");
    this.#max = widenedZeros(type, orderedValues(type, values.max), "greatest");
    const bytes = columnBytes(values.min) + columnBytes(values.max) + 64 * values.zones.length;
    this.#zoneBytes = values.zones.length === 0 ? 0 : bytes / values.zones.length;
    this.memoryWeight = 1024 + 2 * bytes + file.metadata.memoryWeight;
  }

  answers(query: IndexQuery): boolean {
    return isOrderQuery(this.type, query);
  }

  estimate(query: IndexQuery): SearchEstimate {
    const zones = this.#zonesOf(query);
    return { rows: rowCountOf(zones), bytes: Math.ceil(zones.length * this.#zoneBytes) };
  }

  async search(query: IndexQuery, { signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    signal?.throwIfAborted();
    await yieldToEventLoop();
    return { rows: rowsOfZones(this.#zonesOf(query)), nulls: null, isExact: false };
  }

  /** Returns the zones of unchanged fragments. */
  kept(moves: RowMoves | null): ZoneValues {
    const { zones, min, max, nullCounts, nanCounts } = this.values;
    if (moves === null) return this.values;
    const rows = Uint32Array.from(
      [...zones.keys()].filter((zone) => moves.keepsFragment(zones[zone].fragmentId)),
    );
    return {
      zones: Array.from(rows, (zone) => zones[zone]),
      min: takeColumn(min, rows),
      max: takeColumn(max, rows),
      nullCounts: rows.map((zone) => nullCounts[zone]),
      nanCounts: rows.map((zone) => nanCounts[zone]),
    };
  }

  #zonesOf(query: IndexQuery): Zone[] {
    const { zones, nullCounts } = this.values;
    if (query.kind === "isNull") return zones.filter((_, zone) => nullCounts[zone] > 0);
    const wanted = queryValues(this.type, query);
    const isNaNAt = (_: unknown, point: number): boolean =>
      wanted.kind === "points" && signOfNaN(this.type, wanted.values, point) !== 0;
    const asksForNaN = wanted.kind === "range" || Array.from({ length: wanted.values.length }).some(isNaNAt);
    return zones.filter((_, zone) => this.#meets(wanted, asksForNaN, zone));
  }

  #meets(wanted: QueryValues, asksForNaN: boolean, zone: number): boolean {
    if (asksForNaN && this.values.nanCounts[zone] > 0) return true;
    // LanceDB computes no bounds for some types, such as fixed-size binary, and writes null.
    if (!isValid(this.#min.validity, zone) || !isValid(this.#max.validity, zone)) {
      const { zones, nullCounts, nanCounts } = this.values;
      return nullCounts[zone] + nanCounts[zone] < zones[zone].length;
    }
    if (wanted.kind === "points") {
      const { values } = wanted;
      const first = firstFrom(values, 0, values.length, this.#min, zone);
      return first < values.length && compareValues(values, first, this.#max, zone) <= 0;
    }
    const { lower, upper } = wanted;
    if (lower !== null && isBelow(this.#max, zone, lower)) return false;
    return upper === null || !isAbove(this.#min, zone, upper);
  }
}

/** Returns the sign of a NaN, 0 for any other value. Negative NaN comes before all values, positive after. */
function signOfNaN(type: LogicalType, values: OrderedValues, row: number): -1 | 0 | 1 {
  if (type.kind !== "float") return 0;
  if (values.kind === "floats") {
    const infinity = type.bits === 16 ? 0x7c00 : 0x7f80_0000;
    if ((values.numbers[row] & values.magnitude) <= infinity) return 0;
    return values.numbers[row] < 0 ? -1 : 1;
  }
  if (values.kind !== "words") throw new InternalError(`a column of kind ${values.kind} cannot hold floats`);
  const high = values.words[2 * row + 1];
  const magnitude = high & 0x7fff_ffff;
  if (magnitude < 0x7ff0_0000 || (magnitude === 0x7ff0_0000 && values.words[2 * row] === 0)) return 0;
  return high >= 0x8000_0000 ? -1 : 1;
}

/** Upper two bytes of each float; its other bytes are zero. */
const ENDS = {
  infinity: { 16: 0x7c00, 32: 0x7f80, 64: 0x7ff0 },
  negativeInfinity: { 16: 0xfc00, 32: 0xff80, 64: 0xfff0 },
  NaN: { 16: 0x7e00, 32: 0x7fc0, 64: 0x7ff8 },
} as const;

/** Makes a column of one float. */
function extremeFloat(value: keyof typeof ENDS, bits: 16 | 32 | 64): Column {
  const view = new DataView(new ArrayBuffer(bits / 8));
  view.setUint16(bits / 8 - 2, ENDS[value][bits], true);
  return fixedWidthColumn(view, bits / 8);
}

/** Replaces both zeros by -0 among least values, and by 0 among greatest values. */
function widenedZeros(type: LogicalType, values: OrderedValues, are: "least" | "greatest"): OrderedValues {
  if (type.kind !== "float") return values;
  if (values.kind === "floats") {
    const zero = are === "least" ? ~values.magnitude : 0;
    const numbers = values.numbers.map((number) => ((number & values.magnitude) === 0 ? zero : number));
    return { ...values, numbers: numbers as Int16Array | Int32Array };
  }
  if (values.kind !== "words") throw new InternalError(`a column of kind ${values.kind} cannot hold floats`);
  const words = values.words.slice();
  for (let index = 0; index < words.length; index += 2) {
    if (words[index] !== 0 || (words[index + 1] & 0x7fff_ffff) !== 0) continue;
    words[index + 1] = are === "least" ? 0x8000_0000 : 0;
  }
  return { ...values, words };
}

export const ZONEMAP_FILES: KindFiles = { build, merge, open };
