// Light, dark, or as the system says.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";
const KEY = "feynkac-theme";

function system(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function chosen(): Theme | null {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null; // pages from files may have no storage
  }
}

/** The theme, and what switches it. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(chosen() ?? system());
  document.documentElement.dataset.theme = theme;
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => chosen() ?? setTheme(system());
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Then it lasts as long as the page.
    }
    setTheme(next);
  };
  return [theme, toggle];
}
