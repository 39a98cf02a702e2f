/**
 * Makes columns of apache-arrow `Data` that no table of the engine returns: list views, values that are
 * absent because all of them are null, and dictionaries in several chunks. Readers load it when they need it.
 */

import type { Steps } from "../../async/eventLoop.js";
import type { Column, ListColumn, ListLayout } from "../columns/column.js";
import { concatColumns } from "../columns/concatColumns.js";
import { LIST_VIEW_BYTES, type ListViews, listsOfViews } from "./listViews.js";
import { ViewBounds } from "./viewBounds.js";

/** Maximum bytes that a row of list views takes, besides the items. */
export const LIST_VIEW_ROW_BYTES = LIST_VIEW_BYTES;

/** @throws InvalidInputError as {@link listsOfViews} does */
export const columnOfViews = (
  views: ListViews,
  layout: ListLayout,
  items: Column,
  bounds = new ViewBounds(Number.POSITIVE_INFINITY),
): Steps<ListColumn> => listsOfViews(views, layout, items, bounds);

/** Joins columns of one layout. */
export const joinColumns = (columns: readonly Column[]): Column => concatColumns(columns);
