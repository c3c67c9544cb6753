// Whether the page is as narrow as a phone: there the plot stays in sight above the sliders.
import { useEffect, useState } from "preact/hooks";

export function useNarrow(): boolean {
  const [query] = useState(() => matchMedia("(max-width: 560px)"));
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const follow = () => setNarrow(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return narrow;
}
