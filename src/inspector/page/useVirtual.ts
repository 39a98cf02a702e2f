/** The virtualiser of TanStack as a hook: which items of a long list are in sight. */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

type Options = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  "count" | "estimateSize" | "overscan" | "horizontal"
>;

export interface Virtual {
  readonly items: readonly VirtualItem[];
  readonly totalSize: number;
  readonly virtualizer: Virtualizer<HTMLElement, HTMLElement>;
}

export function useVirtual(element: RefObject<HTMLElement | null>, options: Options): Virtual {
  const [, setTurn] = useState(0);
  const all: VirtualizerOptions<HTMLElement, HTMLElement> = {
    ...options,
    getScrollElement: () => element.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => setTurn((turn) => turn + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(all));
  virtualizer.setOptions(all);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { items: virtualizer.getVirtualItems(), totalSize: virtualizer.getTotalSize(), virtualizer };
}
