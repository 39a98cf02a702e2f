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
import type { TableField } from "../../schema/schema.js";
import { storedLayoutOf } from "../../schema/storedLayout.js";
import {
  type FileColumnType,
  integerWords,
  OpenIndexFile,
  UINT32,
  uint32Column,
  writeIndexFile,
} from "../indexFile.js";
import type { IndexAnswer, IndexKind, IndexParameters, IndexQuery, IndexSearchOptions, IndexTarget, OpenIndex, RowStream, SearchEstimate, WrittenIndexFile } from "../kind.js";
import type { RowMoves } from "../moves.js";
import { isOrderQuery, type QueryValues, queryValues } from "../queryValues.js";
import { counted } from "../sortedRows.js";
import { compareValues, firstFrom, type OrderedValues, orderedValues } from "../valueOrder.js";
import { BTREE } from "./btree.js";
import { extremeFloat, isNaNAt, signOfNaN, widenedZeros } from "./floats.js";
import {
  MAX_ZONE_ROWS,
  readZones,
  rowsOfZones,
  type Summary,
  summarise,
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

export const ZONEMAP: IndexKind = {
  name: "ZONEMAP",
  typeUrl: "/lance.table.ZoneMapIndexDetails",
  indexVersion: 0,
  maxIndexVersion: 0,
  storesAddresses: true,
  refusal: (field) => BTREE.refusal(field),
  build: async (rows, target) => [await write(rows, [], target)],
  merge: async (old, moves, rows, target) => [
    await write(
      rows,
      old.map((index) => (index as ZonemapSearch).kept(moves)),
      { ...target, parameters: { ...old[0]?.parameters, ...target.parameters } },
    ),
  ],

  async open(files, { type }) {
    const file = await OpenIndexFile.open(files, FILE_NAME, columnsOf(type));
    const parameters = { rowsPerZone: file.count(ROWS_KEY, ZONE_ROWS, MAX_ZONE_ROWS) };
    const zones = await readZones(file);
    const [min, max, nulls, nans] = await Promise.all(
      ["min", "max", "null_count", "nan_count"].map((name) => file.column(name)),
    );
    const nullCounts = integerWords(nulls, file.path);
    const nanCounts = integerWords(nans, file.path);
    return new ZonemapSearch(type, file, parameters, { zones, min, max, nullCounts, nanCounts });
  },
};

async function write(
  rows: RowStream,
  before: readonly ZoneValues[],
  target: IndexTarget,
): Promise<WrittenIndexFile> {
  const zoneRows = zoneRowsOf(target.parameters);
  const extremes = new Extremes(target.field);
  const parts = summarise(counted(rows, target), zoneRows, extremes);
  while ((await parts.next()).done !== true);
  const kept = [...before, extremes.values()].filter(({ zones }) => zones.length > 0);
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
    const none = nullColumn(this.#layout, 1);
    this.#zones.push(zone);
    this.#mins.push(min ?? none);
    this.#maxs.push(max ?? none);
    this.#nullCounts.push(this.#nullCount);
    this.#nanCounts.push(this.#negativeNaNs + this.#positiveNaNs);
    this.#min = null;
    this.#max = null;
    this.#nullCount = 0;
    this.#negativeNaNs = 0;
    this.#positiveNaNs = 0;
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

  get #layout() {
    return storedLayoutOf(this.field, this.field.name);
  }

  values(): ZoneValues {
    const joined = (columns: readonly Column[]) =>
      columns.length === 0 ? nullColumn(this.#layout, 0) : concatColumns(columns);
    return {
      zones: this.#zones,
      min: joined(this.#mins),
      max: joined(this.#maxs),
      nullCounts: Uint32Array.from(this.#nullCounts),
      nanCounts: Uint32Array.from(this.#nanCounts),
    };
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
    const rows = zones.reduce((sum, { length }) => sum + length, 0);
    return { rows, bytes: Math.ceil(zones.length * this.#zoneBytes) };
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
    const asksForNaN =
      wanted.kind === "range" ||
      Array.from({ length: wanted.distinct }).some((_, point) => isNaNAt(this.type, wanted.values, point));
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
      const first = firstFrom(wanted.values, 0, wanted.distinct, this.#min, zone);
      return first < wanted.distinct && compareValues(wanted.values, first, this.#max, zone) <= 0;
    }
    const { lower, upper } = wanted;
    if (lower !== null) {
      const order = compareValues(this.#max, zone, lower.value, 0);
      if (lower.isInclusive ? order < 0 : order <= 0) return false;
    }
    if (upper === null) return true;
    const order = compareValues(this.#min, zone, upper.value, 0);
    return upper.isInclusive ? order <= 0 : order < 0;
  }
}
