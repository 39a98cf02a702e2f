/** Small parts that all views use. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { CallError } from "./calls.ts";
import type { Loaded } from "./state.ts";

/** An error as the engine worded it. Lines with a caret keep their columns. */
export function Failure({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  const [first = "", ...rest] = error.message.split("\n");
  return (
    <div class="failure" role="alert">
      <strong>{first}</strong>
      {rest.length > 0 && <pre>{rest.join("\n")}</pre>}
      {error instanceof CallError && <span class="quiet">{error.type}</span>}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export const Empty = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Shows a result once it is there, and says why if it is not. */
export function Result<Value>({
  of,
  children,
}: {
  readonly of: Loaded<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) {
  if (of.error !== null) return <Failure error={of.error} retry={of.reload} />;
  if (of.value === null) return of.isLoading ? <Busy /> : null;
  return <>{children(of.value)}</>;
}

export const Busy = ({ label = "Loading" }: { readonly label?: string }) => (
  <div class="busy" role="status">
    <span class="spinner" aria-hidden="true" />
    {label}…
  </div>
);

/** A bar that shows a part of a whole. */
export function Bar({ part, label }: { readonly part: number; readonly label: string }) {
  const percent = Math.max(0, Math.min(100, part * 100));
  return (
    <div
      class="bar"
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(percent)}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}

/** A panel beside the view. Escape closes it, and focus returns to where it came from. */
export function Drawer({
  title,
  close,
  children,
}: {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}) {
  const panel = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    panel.current?.focus();
    return () => before?.focus?.();
  }, []);
  return (
    <aside
      class="drawer"
      aria-label={title}
      tabIndex={-1}
      ref={panel}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <header>
        <h2 dir="auto" title={title}>
          {title}
        </h2>
        <button type="button" class="icon" onClick={close} aria-label="Close">
          ✕
        </button>
      </header>
      <div class="drawer-body">{children}</div>
    </aside>
  );
}
