/**
 * The kinds of scalar indexes: their names, and the columns that they take. The first index of a kind loads
 * the module that builds, merges and opens it.
 */

import { type LogicalType, timeBits } from "../../arrow/types/type.js";
import { type Lazy, lazyModule } from "../../async/lazy.js";
import type { TableField } from "../../schema/schema.js";
import type { IndexKind, KindFiles } from "../kind.js";

/** The first index of a kind loads its module. */
const btree = lazyModule(() => import("../scalar/btree.js"));
const bitmap = lazyModule(() => import("../scalar/bitmap.js"));
const labelList = lazyModule(() => import("../scalar/labelList.js"));
const zonemap = lazyModule(() => import("../scalar/zonemap.js"));
const bloomFilter = lazyModule(() => import("../scalar/bloomFilter.js"));
const ngram = lazyModule(() => import("../scalar/ngram.js"));
const fm = lazyModule(() => import("../substring/fm.js"));

function scalarKind<Module>(
  facts: Omit<IndexKind, keyof KindFiles>,
  module: Lazy<Module>,
  filesOf: (module: Module) => KindFiles,
): IndexKind {
  const files = async (): Promise<KindFiles> => filesOf(await module.get());
  return {
    ...facts,
    build: async (rows, target) => (await files()).build(rows, target),
    merge: async (old, rows, target) => (await files()).merge(old, rows, target),
    open: async (indexFiles, field) => (await files()).open(indexFiles, field),
  };
}

/** Returns why values of a column cannot be sorted; null if they can. */
function sortRefusal({ type }: TableField): string | null {
  switch (type.kind) {
    case "bool":
    case "int":
    case "float":
    case "date":
    case "timestamp":
    case "fixedSizeBinary":
      return null;
    case "time":
      if (timeBits(type.unit) === 64) return null;
      break;
    case "string":
      if (!type.large) return null;
  }
  return "is of a type other than booleans, numbers without a scale, text with 32-bit offsets, fixed-size binary, dates and times";
}

export const BTREE = scalarKind(
  {
    name: "BTREE",
    typeUrl: "/lance.table.BTreeIndexDetails",
    indexVersion: 0,
    maxIndexVersion: 0,
    storesAddresses: false,
    keepsNoRows: true,
    refusal: sortRefusal,
  },
  btree,
  ({ BTREE_FILES }) => BTREE_FILES,
);

/** True if values of this type can have bitmaps. */
const hasBitmaps = ({ kind }: LogicalType): boolean =>
  kind === "bool" || kind === "int" || kind === "string" || kind === "binary";

export const BITMAP = scalarKind(
  {
    name: "BITMAP",
    typeUrl: "/lance.table.BitmapIndexDetails",
    indexVersion: 0,
    maxIndexVersion: 0,
    storesAddresses: false,
    takesDictionaries: true,
    refusal: ({ type }) =>
      hasBitmaps(type) ? null : "is of a type other than booleans, integers, text and binary",
  },
  bitmap,
  ({ BITMAP_FILES }) => BITMAP_FILES,
);

export const LABEL_LIST = scalarKind(
  {
    name: "LABEL_LIST",
    typeUrl: "/lance.table.LabelListIndexDetails",
    indexVersion: 1,
    maxIndexVersion: 1,
    storesAddresses: false,
    takesDictionaries: true,
    refusal: ({ type, children }) =>
      type.kind === "list" && children.length === 1 && hasBitmaps(children[0].type)
        ? null
        : "is no list of booleans, integers, text or binary",
  },
  labelList,
  ({ LABEL_LIST_FILES }) => LABEL_LIST_FILES,
);

export const ZONEMAP = scalarKind(
  {
    name: "ZONEMAP",
    typeUrl: "/lance.table.ZoneMapIndexDetails",
    indexVersion: 0,
    maxIndexVersion: 0,
    storesAddresses: true,
    refusal: sortRefusal,
  },
  zonemap,
  ({ ZONEMAP_FILES }) => ZONEMAP_FILES,
);

export const BLOOMFILTER = scalarKind(
  {
    name: "BLOOMFILTER",
    typeUrl: "/lance.index.pb.BloomFilterIndexDetails",
    indexVersion: 0,
    maxIndexVersion: 0,
    storesAddresses: true,
    // LanceDB fails to search or merge a Bloom filter of booleans, float16 or fixed-size binary.
    refusal({ type }) {
      switch (type.kind) {
        case "int":
        case "date":
        case "time":
        case "timestamp":
        case "string":
        case "binary":
          return null;
        case "float":
          if (type.bits > 16) return null;
          break;
      }
      return "is of a type other than integers, float32, float64, text, binary, dates and times";
    },
  },
  bloomFilter,
  ({ BLOOMFILTER_FILES }) => BLOOMFILTER_FILES,
);

export const NGRAM = scalarKind(
  {
    name: "NGRAM",
    typeUrl: "/lance.table.NGramIndexDetails",
    indexVersion: 0,
    maxIndexVersion: 0,
    storesAddresses: false,
    refusal: ({ type }) => (type.kind === "string" ? null : "is of a type other than text"),
  },
  ngram,
  ({ NGRAM_FILES }) => NGRAM_FILES,
);

export const FM = scalarKind(
  {
    name: "FM",
    typeUrl: "/lance.index.pb.FMIndexDetails",
    indexVersion: 10,
    maxIndexVersion: 10,
    storesAddresses: true,
    refusal: ({ type }) =>
      type.kind === "string" || type.kind === "binary" ? null : "is neither text nor bytes",
  },
  fm,
  ({ FM_FILES }) => FM_FILES,
);
