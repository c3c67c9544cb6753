// The page that `feynkac serve` shows.
import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { App } from "./app";
import { Connection, remoteSource, type Health } from "./remote";
import "./style.css";
import { useTheme } from "./theme";

function Explorer() {
  const [theme, toggle] = useTheme();
  const [health, setHealth] = useState<Health>({ state: "well" });
  const source = useMemo(() => remoteSource(new Connection(setHealth)), []);
  return <App source={source} theme={theme} onToggleTheme={toggle} health={health} />;
}

render(<Explorer />, document.getElementById("app")!);
