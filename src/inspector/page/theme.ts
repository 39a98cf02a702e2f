/** Colours of the page: light, dark, or those of the system. */

import { useLayoutEffect } from "preact/hooks";
import { useKept } from "./state.ts";

export type Theme = "auto" | "light" | "dark";

/** Keeps the chosen theme, and applies it. The style sheet knows only light and dark. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useKept<Theme>("theme", "auto");
  // Before the first frame, so that no other colours flash.
  useLayoutEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      document.documentElement.dataset.theme = theme !== "auto" ? theme : system.matches ? "dark" : "light";
    };
    apply();
    system.addEventListener("change", apply);
    return () => system.removeEventListener("change", apply);
  }, [theme]);
  return [theme, setTheme];
}
