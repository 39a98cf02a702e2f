/** Cuts rows of lists into pages that hold their events. */

import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import type { StructuralVersion } from "../container/page.js";
import type { PageLevels } from "../events/levels.js";
import type { ShreddedColumn } from "../events/shredColumn.js";
import { mayZip } from "../structural/fullZipEncoder.js";
import { maximumChunkEvents } from "../structural/miniBlockEncoder.js";

/**
 * Cuts rows into pages. One page is enough unless a run of events without values may be too long for a chunk;
 * the pages are then small enough for chunks.
 */
export function cutPages(shredded: ShreddedColumn, version: StructuralVersion): ShreddedColumn[] {
  const { levels, values } = shredded;
  const { repetition, definition, eventCount, listDepth, maximumVisible } = levels;
  const limit = maximumChunkEvents(version, levels);
  if (repetition === null || definition === null || values.length === 0) return [shredded];
  // A chunk has at least two values, so three runs of events without values may come together.
  const mostRun = Math.floor(limit / 4);
  if (eventCount - values.length <= mostRun || longestInvisible(definition, maximumVisible) <= mostRun) {
    return [shredded];
  }
  const pages: ShreddedColumn[] = [];
  let firstEvent = 0;
  let firstValue = 0;
  let rowStart = 0;
  let rowStartValue = 0;
  let rows = 0;
  let value = 0;
  const cut = (endEvent: number, endValue: number, rowCount: number) => {
    pages.push({
      values: sliceColumn(values, firstValue, endValue - firstValue),
      levels: {
        ...levels,
        rowCount,
        eventCount: endEvent - firstEvent,
        visibleCount: endValue - firstValue,
        repetition: repetition.slice(firstEvent, endEvent),
        definition: definition.slice(firstEvent, endEvent),
      },
    });
    firstEvent = endEvent;
    firstValue = endValue;
  };
  for (let event = 0; event < eventCount; event++) {
    if (repetition[event] === listDepth) {
      rowStart = event;
      rowStartValue = value;
      rows++;
    }
    if (event - firstEvent >= limit && rowStart > firstEvent) {
      cut(rowStart, rowStartValue, rows - 1);
      rows = 1;
    }
    if (definition[event] <= maximumVisible) value++;
  }
  cut(eventCount, value, rows);
  return pages;
}

/**
 * True if a page of one row has more events between its values than any chunk can hold. If the reference
 * fails on full-zip pages, chunks are used as long as they can hold the events.
 */
export function exceedsChunks(levels: PageLevels, version: StructuralVersion): boolean {
  const { definition, eventCount, maximumVisible } = levels;
  const limit = maximumChunkEvents(version, levels);
  if (definition === null || eventCount <= limit) return false;
  return longestInvisible(definition, maximumVisible) > (mayZip(levels) ? limit / 4 : limit);
}

/** Returns the length of the longest run of events without values. */
function longestInvisible(definition: Uint16Array, maximumVisible: number): number {
  let most = 0;
  let run = 0;
  for (let event = 0; event < definition.length; event++) {
    run = definition[event] > maximumVisible ? run + 1 : 0;
    if (run > most) most = run;
  }
  return most;
}
